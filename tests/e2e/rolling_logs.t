#!/usr/bin/perl
# Spends of a sliding log end when they end, whichever daemons have started anew since: three real daemons, each of
# which is restarted after a key's window was used up.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;
use Time::HiRes qw(time);

my $window = 8;
# A start lists tokens in steps of a sixteenth of their time, and what is on its way comes on top.
my $late = 2.5;

my $cluster = Headgate::cluster();
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my @daemons = $cluster->daemons;
my $rule = "{id: log, service: shop, by: user, algorithm: sliding_log, limit: 30, window: ${window}s, overshoot: 0}";
is($daemons[0]->client->command(qw(RULE SET), $rule), 'OK', 'a sliding log of 30');
for my $daemon (@daemons) {
    my $client = $daemon->client;
    ok(Headgate::wait_until(10, sub { ($client->command(qw(RULE GET shop log)) // '') =~ m{^window:}m }),
       "$daemon->{name} has it");
}

# True: one more is admitted.
sub takes {
    my ($client, $cost) = @_;
    return $client->command('CHECK', qw(user=ann SERVICE shop COST), $cost // 1)->[0] == 1;
}

# What the daemons admit until each refuses. A daemon that has not heard another in time, on a busy machine, refuses
# earlier, so all are asked again until enough of the window is used.
my $admitted = 0;
my $first = time;
Headgate::for_a_while($window / 2, sub {
    for my $daemon (@daemons) {
        my $client = $daemon->client;
        while (takes($client)) { $admitted++ }
    }
    return $admitted >= 20;
});
ok($admitted >= 20 && $admitted <= 30, "$admitted of 30 are admitted");
my $spent = time;
for my $daemon (@daemons) {
    is($daemon->stop, 0, "$daemon->{name} ends");
    $daemon->start;
    ok($cluster->wait_met(10), '... and starts anew');
}
my $restarted = time;
my $client = $daemons[0]->client;
my $early = time < $first + $window && takes($client, 29);
my $until = time - $first;
ok(!$early || $until >= $window, 'nothing of that is there a second time')
    or diag sprintf '%.3f s after the first', $until;

my $last = 0;
ok(Headgate::wait_until(3 * $window, sub {
    my $asked = time;
    return 1 if takes($client, 25);
    $last = $asked;
    return 0;
}), 'all of it comes back');
ok($last < $spent + $window + $late, 'a window after it was spent, not a window after the restarts')
    or diag sprintf 'refused %.3f s after the spends, restarted %.3f s after them', $last - $spent, $restarted - $spent;
$cluster->stop;
done_testing();
