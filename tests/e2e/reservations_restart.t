#!/usr/bin/perl
# Reservations and leases of a daemon with peers go on over an orderly restart, since all peers had acknowledged what
# they hold: the other regions count it all the time, and get it back once. So a rolling restart takes nobody's place
# away.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use Test::More;

my @limits = ({name => 'default', capacity => 100, rate => '1/h', default => 'true'});
my $cluster = Headgate::cluster(regions => [qw(east west south)], limits => \@limits, listen_http => 1);
$cluster->start;
$cluster->wait_met or die 'the daemons did not meet';
my ($east, $west) = map { $cluster->daemon($_) } qw(east west);
my ($client, $other) = map { $_->client } $east, $west;
my $rules = "rules:\n  - {id: places, service: jobs, by: tenant, algorithm: concurrency, limit: 12, window: 60s}\n"
          . "  - {id: tokens, service: jobs, by: user, algorithm: fixed_window, limit: 90, window: 1h}\n"
          . "  - {id: alone, service: jobs, by: host, algorithm: concurrency, limit: 1, window: 60s, home: west}\n";
is($other->command('RULE', 'APPLY', $rules), 3, 'three rules');
my @place = qw(tenant=acme SERVICE jobs);
my @user = qw(user=ann SERVICE jobs);
my @alone = qw(host=h SERVICE jobs);
sub reserve {
    my ($daemon_client, @words) = @_;
    my $answer = $daemon_client->command('RESERVE', @words, 'TTL', 50000);
    return ref $answer eq 'ARRAY' ? $answer->[-1] : undef;
}
sub left {
    my ($daemon_client, @words) = @_;
    my $answer = $daemon_client->command('PEEK', @words);
    return ref $answer eq 'ARRAY' ? $answer->[2] : $answer;
}
sub all_see {
    my ($what, $expected, @words) = @_;
    my @seen;
    my $agree = Headgate::wait_until(20, sub {
        @seen = map { left($_->client, @words) } $cluster->daemons;
        return !grep { $_ ne $expected } @seen;
    });
    return ok($agree, $what) || diag("seen: @seen");
}
ok(Headgate::wait_until(10, sub { left($client, @user) eq '90' }), 'known in the east');

my @held = map { reserve($client, @place) } 1 .. 2;
my $tokens = reserve($client, @user, 'COST', 20);
ok(!(grep { !defined } @held, $tokens), 'the east holds two places and 20 tokens');
my $only;
ok(Headgate::wait_until(20, sub { $only = reserve($client, @alone) }), 'and the only place, whose home is the west');
all_see('all count the places', 10, @place);
all_see('and the tokens', 70, @user);

# ---- the east is started again ----

is($east->stop(20), 0, 'the east ends in order');
ok(-e "$east->{state_dir}/headgate.reservations", 'and keeps them');
is(left($other, @place) . ' ' . left($other, @user), '10 70', 'the west counts them meanwhile');
is(reserve($other, @alone), undef, 'and nobody else gets the only place');
$east->start;
ok(!-e "$east->{state_dir}/headgate.reservations", 'the east uses the file once');
like($east->log, qr/ info reservations of before that go on: 4\n/, 'and says so');
$client = $east->client;
my @early;
ok(Headgate::wait_until(20, sub {
    my $answer = $client->command('RENEW', $held[0], 50000);
    push @early, $answer if $answer ne '1';
    return $answer eq '1';
}), 'a place goes on');
is(scalar(grep { !/^LOADING / } @early), 0, 'before the east has joined it says that it cannot tell yet');
all_see('all count the places', 10, @place);
all_see('and the tokens', 70, @user);
is($client->command('CANCEL', $held[1]), 1, 'a place is given back');
is($client->command('CANCEL', $held[1]), 0, 'once');
is($client->command('COMMIT', $tokens, 5), 5, '5 of 20 tokens were used');
is(Http::connect($east)->post('/v1/commit', "{\"reservation\":\"$tokens\",\"cost\":5}")->{status}, 404, 'once');
all_see('one place is free again', 11, @place);
all_see('and 15 tokens', 85, @user);
is(reserve($other, @alone), undef, 'the only place is held');
is($client->command('CANCEL', $only), 1, 'until it is given back');
ok(Headgate::wait_until(20, sub { reserve($other, @alone) }), 'then somebody else has it');
my ($stats) = grep { /^former_reservations:/ } split /\r?\n/, $client->command('INFO');
is($stats, 'former_reservations:0', 'none waits any more');

# ---- copies of the file: another daemon has it, and the east once more ----

my $south = $cluster->daemon('south');
my $file = "$east->{state_dir}/headgate.reservations";
my $more = reserve($client, @user, 'COST', 10);
ok($more, '10 tokens are held');
all_see('all count them', 75, @user);
is($east->stop(20), 0, 'the east ends');
my $copy = Headgate::read_file($file);
$client = $east->start->client;
ok(Headgate::wait_until(20, sub { $client->command('CANCEL', $more) eq '1' }), 'and gives them back when it is back');
all_see('they are back', 85, @user);
is($south->stop(20), 0, 'the south ends');
Headgate::write_file("$south->{state_dir}/headgate.reservations", $copy);
chmod 0600, "$south->{state_dir}/headgate.reservations";
$south->start;
like($south->log, qr/ headgate\.reservations is of no use \(it was copied from east\): /, 'it has none of them');
is($south->client->command('CANCEL', $more), 0, 'and gives nothing back');
all_see('all is as before', 85, @user);
is($east->stop(20), 0, 'the east ends');
Headgate::write_file($file, $copy);
chmod 0600, $file;
$client = $east->start->client;
ok(Headgate::wait_until(20, sub { $client->command('CANCEL', $more) eq '1' }), 'and has the file of before');
all_see('which gives nothing back', 85, @user);
is($client->command(qw(CHECK user=ann SERVICE jobs COST 5))->[0], 1, 'the east spends again');
all_see('as all see', 80, @user);

# ---- nobody has acknowledged the newest ----

$_->signal('STOP') for $west, $cluster->daemon('south');
my $unheard = reserve($client, @place);
ok($unheard, 'a place that nobody hears of');
is($east->stop(60), 0, 'the east ends');
ok(!-e "$east->{state_dir}/headgate.reservations", 'and keeps nothing');
like($east->log, qr/ warning reservations that end with this process: 1; what they hold counts as used/, 'it says so');
$_->signal('CONT') for $west, $cluster->daemon('south');
$cluster->stop;
done_testing();
