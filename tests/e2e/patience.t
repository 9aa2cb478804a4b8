#!/usr/bin/perl
# Requests that wait for their share instead of being refused: three real daemons that grant each other rights, at a
# declared overshoot of 0. A burst of the whole limit in one region is admitted whole; nobody is charged who has gone.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use List::Util qw(sum0);
use Test::More;

my $capacity = 100;
my @limits = (
    {name => 'default', capacity => $capacity, rate => '1/h', overshoot => 0, patience => '5s', default => 'true'},
    {name => 'hasty', capacity => $capacity, rate => '1/h', overshoot => 0},
);
my $cluster = Headgate::cluster(limits => \@limits, listen_http => 1);
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my ($east, $west, $south) = $cluster->daemons;
my @burst = map { $east->client } 1 .. $capacity;

sub info { my ($daemon) = @_; return $daemon->client->fields('INFO', 'clients') }

# What each of many clients is told that ask for the same words at the same time.
sub burst {
    my ($clients, @words) = @_;
    $_->send_raw(Headgate::Client::encode(@words)) for @$clients;
    return sum0 map { my $reply = $_->reply; ref $reply eq 'ARRAY' ? $reply->[0] : $reply } @$clients;
}

# What all others can have of the key afterwards, at once.
sub rest {
    my (@words) = @_;
    return sum0 map {
        my $client = $_->client;
        sum0 map { $_->[0] } $client->pipeline(map { [@words, 'PATIENCE', 0] } 1 .. $capacity)
    } $east, $west, $south;
}

# ---- the whole limit in one region ----

my ($whole, $key); # another key where the machine is too slow for so little patience
for my $try (1 .. 5) {
    $key = "burst-$try";
    $whole = burst(\@burst, 'CHECK', $key, 'PATIENCE', 2000);
    last if $whole >= 0.95 * $capacity;
}
note "a burst of $capacity in one of three regions: $whole admitted with patience";
cmp_ok($whole, '>=', 0.95 * $capacity, 'with patience a burst of the whole limit is admitted in one region');
my $beyond = rest('CHECK', $key);
cmp_ok($whole + $beyond, '<=', $capacity, 'never more than the limit in all regions together');
my $hasty = burst(\@burst, 'CHECK', 'burst', 'RULE', 'hasty');
note "$hasty without";
cmp_ok($hasty, '<', 0.6 * $capacity, 'without patience it is not');

my @pipelined = $east->client->pipeline(map { ['CHECK', 'pipelined'], ['ECHO', $_] } 1 .. 90);
is(sum0(map { $_->[0] } grep { ref } @pipelined), 90, 'a pipeline of nine tenths of the limit is admitted');
is_deeply([grep { !ref } @pipelined], [1 .. 90], 'and answered in order');

# ---- a cost above the share, known only afterwards ----

my $reserving = $east->client;
my $tries = 0;

# A daemon that has just started gives nothing back to buckets, see docs/protocol.md.
sub gives_back {
    my $key = 'try-' . ++$tries;
    $reserving->command('CHECK', $key);
    return $reserving->command('REFUND', $key) == 1;
}
ok(Headgate::wait_until(10, \&gives_back), 'what is refunded comes back');
my $large;
Headgate::wait_until(10, sub { ($large = $reserving->command('RESERVE', 'large', 'TTL', 60_000, 'COST', 70))->[0] });
is($large->[0], 1, 'a reservation of more than a share waits for what others grant')
    or diag explain [$large, $reserving->command('EXPLAIN', 'large'), $reserving->command('INFO')];
is($reserving->command('COMMIT', $large->[6], 20), 20, 'it costs what was used of it');
my $back = 0;
Headgate::wait_until(10, sub { ($back += rest('CHECK', 'large')) >= 60 });
ok($back >= 60 && $back <= $capacity - 20, 'and the others have the rest');
note "$back of 80 are there again";

my $stats = info($east);
cmp_ok($stats->{patience_admitted}, '>', $capacity / 4, 'INFO counts those that waited');
is($stats->{patience_waiting}, 0, 'nobody waits any more');

# ---- who goes, and a daemon that stops ----

sub waits { my ($count) = @_; return Headgate::wait_until(5, sub { info($east)->{patience_waiting} == $count }) }

# Who is cut off has its share, and nobody grants it more.
$east->client->command('DEBUG', 'DROP', $_) for 'eu-west', 'ap-south';
my $used = sum0 $east->client->pipeline(map { ['CAN_ACCESS', 'gone', 'PATIENCE', 0] } 1 .. $capacity);
my @gone = map { $east->client } 1 .. 5;
$_->send_raw(Headgate::Client::encode('CAN_ACCESS', 'gone', 3)) for @gone;
my @gone_http = map { Http::connect($east) } 1 .. 5;
$_->send_raw("GET /check?user=gone HTTP/1.1\r\nHost: a\r\n\r\n") for @gone_http;
ok(waits(10), 'ten of two protocols wait, and nobody can grant them anything');
my $refused = Http::connect($east)->post('/v1/check', {identifiers => {user => 'gone'}, patience_ms => 30});
is($refused->{status}, 429, 'a request over HTTP waits, and is refused at its deadline');
$_->close for @gone, @gone_http;
ok(waits(0), 'who closes its connection waits no more');
my ($unsettled) = $east->client->command('EXPLAIN', 'gone') =~ /unsettled\s+([\d.]+)/;
cmp_ok($unsettled, '<', $used + 1, 'and is not charged');
my $last = $east->client;
$last->send_raw(Headgate::Client::encode('CAN_ACCESS', 'gone') . Headgate::Client::encode('PING'));
ok(waits(1), 'one waits');
$east->signal('TERM');
is($last->reply, 0, 'a daemon that stops answers it');
is($east->wait_end(10), 0, 'and ends');

# ---- over HTTP ----

my $of_west = $west->client;
is($of_west->command('CHECK', 'web', 'PATIENCE', 0)->[0], 1, 'a share is not used up');
my $http = Http::connect($west);
my @statuses = map { $http->get('/check?user=web&patience_ms=50')->{status} } 1 .. 5;
is_deeply(\@statuses, [(200) x 5], 'a gateway is answered');
ok($west->stop == 0 && $south->stop == 0, 'the others end');
done_testing;
