#!/usr/bin/perl
# Spends of a sliding log that is kept end when they end, though all daemons are started anew together: three real
# daemons, and spends at two times.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;
use Time::HiRes qw(time);

my $window = 16;
my $apart = $window / 2;

my $cluster = Headgate::cluster();
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my @daemons = $cluster->daemons;
my $rule = "{id: log, service: shop, by: user, algorithm: sliding_log, limit: 30, window: ${window}s, overshoot: 0, "
    . 'persist: true}';
is($daemons[0]->client->command(qw(RULE SET), $rule), 'OK', 'a sliding log of 30 that is kept');
for my $daemon (@daemons) {
    my $client = $daemon->client;
    ok(Headgate::wait_until(10, sub { ($client->command(qw(RULE GET shop log)) // '') =~ m{^window:}m }),
       "$daemon->{name} has it");
}

sub takes {
    my ($daemon, $cost) = @_;
    return $daemon->client->command('CHECK', qw(user=ann SERVICE shop COST), $cost)->[0] == 1;
}

# What all daemons see left, where they agree; else -1.
sub left {
    my @left = map { $_->client->command(qw(PEEK user=ann SERVICE shop))->[2] // -1 } @daemons;
    return $left[0] == $left[1] && $left[1] == $left[2] ? $left[0] : -1;
}

my $first = time;
ok(Headgate::wait_until(5, sub { takes($daemons[0], 6) }), 'six are spent');
ok(Headgate::wait_until($window, sub { time >= $first + $apart && takes($daemons[1], 4) }),
   'and four, half a window later');
ok(Headgate::wait_until(5, sub { left() == 20 }), 'all daemons count both') or diag left();
my $second = time;
ok($cluster->stop, 'all end');
$cluster->start;
ok($cluster->wait_met(10), 'and start anew');
my $met = time;
ok(Headgate::wait_until(5, sub { left() == 20 || time > $first + $window }), 'they know of both') or diag left();

my ($all, $some, $asked) = (0, 0, 0);
ok(Headgate::wait_until(2 * $window, sub {
    $asked = time;
    my $left = left();
    $some = $asked if $left == 26 && !$some;
    $all = $asked if $left == 30;
    return $all;
}), 'in the end all is there again');
# A machine that is so busy that the four have ended before all have met shows less.
ok($some >= $first + $window || $met > $second + $window - 1,
   'the six come back a window after they were spent, before the four')
    or diag sprintf 'six after %.1f s, all after %.1f s, met after %.1f s', map { $_ - $first } $some, $all, $met;
ok($all >= $second + $window - 5, 'and the four a window after they were');
$cluster->stop;
done_testing();
