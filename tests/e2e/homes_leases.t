#!/usr/bin/perl
# A lease of which there is one, with a home, and leases that regions share: three real daemons in three regions.
# Any region has it a round trip after it asks, renews it, for several of its windows, and gives it back, and never do
# two have it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use Test::More;
use Time::HiRes qw(time);

my $cluster = Headgate::cluster(listen_http => 1);
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my ($east, $west, $south) = $cluster->daemons;
my %client = map { $_->{name} => $_->client } $east, $west, $south;

my $client = $client{ $west->{name} };
my $of_one = 'algorithm: concurrency, limit: 1, window: 1m, overshoot: 0';
is($client->command(qw(RULE SET), "{id: job, service: shop, by: user, $of_one, home: us-east, patience: 2s}"), 'OK',
   'a rule of one lease with a home is set');
is($client->command(qw(RULE SET), '{id: work, service: long, by: user, algorithm: concurrency, limit: 1, window: 3s, '
       . 'overshoot: 0, home: us-east, patience: 2s}'), 'OK', 'one of a short window');
is($client->command(qw(RULE SET), "{id: log, service: shop, by: ip, algorithm: sliding_log, limit: 3, window: 1m, "
       . 'overshoot: 0, home: us-east, patience: 5s}'),
   'OK', 'and one of a log');
sub knows {
    my ($daemon, @rule) = @_;
    return ($client{ $daemon->{name} }->command(qw(RULE GET), @rule) // '') =~ m{^window:}m;
}
ok(Headgate::wait_until(10, sub { knows($east, qw(shop log)) && knows($south, qw(shop log)) }), 'all have them');

sub reserve {
    my ($daemon, $user, $service, $ttl, @more) = @_;
    my @words = (SERVICE => $service // 'shop', TTL => $ttl // 60_000, @more);
    my $reply = $client{ $daemon->{name} }->command('RESERVE', $user, @words);
    return $reply->[0] == 1 ? $reply->[-1] : undef;
}

# Clients come again until they have it.
sub soon {
    my ($daemon, @what) = @_;
    my $id;
    Headgate::wait_until(10, sub { $id = reserve($daemon, @what) });
    return $id;
}

my $refusal = $client{ $south->{name} }->command(qw(RESERVE user=a SERVICE shop TTL 30000 PATIENCE 0));
is($refusal->[0], 0, 'elsewhere it is not there at once');
ok($refusal->[3] > 0 && $refusal->[3] < 1000, 'but soon, as its client is told') or diag $refusal->[3];
my $held = soon($south, 'user=a');
ok($held, 'then it is');
my ($waited, $tries) = (undef, 0); # another key where the home needs longer than the rule waits
Headgate::in_time(2, sub { $tries++; $waited = reserve($west, "user=w$tries") });
ok($waited, 'whose client waits as long as the rule says has it with one request');
ok(!reserve($_, "user=w$tries", 'shop', 60_000, PATIENCE => 100), "alone: $_->{name}") for $east, $west, $south;
my $web = Http::connect($south)->post('/v1/reserve', {identifiers => {user => 'web'}, service_id => 'shop',
    ttl_ms => 30_000, patience_ms => 2000});
like($web->{body}, qr{"reservation":"[0-9a-f]{32}"}, 'over HTTP as well');
ok(!reserve($_, 'user=a'), "and no other one in $_->{name}") for $east, $west, $south;
is($client{ $south->{name} }->command('RENEW', $held, 50_000), 1, 'it is renewed there');
is($client{ $south->{name} }->command('RENEW', $held, 90_000), 0, 'though not beyond its window');
for my $next ($west, $east, $south, $west) {
    my ($holder) = grep { $client{ $_->{name} }->command('CANCEL', $held) == 1 } $east, $west, $south;
    ok($holder, 'its holder gives it back');
    ok($held = soon($next, 'user=a'), "and $next->{name} has it");
    ok(!reserve($_, 'user=a'), "alone: $_->{name}") for $east, $west, $south;
}

# Clients renew it as often as their process needs it. A machine that stands still for longer than the lease lasts ends
# it; then it is reserved anew.
my $LASTS_S = 1;
my ($work, $renewed, $kept, $others);
for my $try (1 .. 5) {
    ($renewed, $kept, $others) = (0, 1, 0);
    $work = soon($south, 'user=c', 'long', 1000 * $LASTS_S);
    my $since = my $before = time;
    my $longest_s = 0;
    Headgate::wait_until(20, sub {
        my $done = $client{ $south->{name} }->command('RENEW', $work, 1000 * $LASTS_S);
        $kept &&= $done;
        $renewed += $done;
        $others += defined reserve($_, 'user=c', 'long', 100) for $east, $west;
        my $now = time;
        $longest_s = $now - $before if $now - $before > $longest_s;
        $before = $now;
        return !$kept || $others || $now - $since > 3 * 3;
    });
    last if $longest_s < $LASTS_S / 2;
}
ok($work, 'a lease of a short window is elsewhere');
ok($kept && $renewed > 3, "it is renewed for more than three windows: $renewed times");
is($others, 0, 'and nobody else has it meanwhile');
is($client{ $south->{name} }->command('CANCEL', $work), 1, 'until it is given back');
ok(soon($east, 'user=c', 'long', 100), 'and is there at home');

sub check {
    my ($daemon, @words) = @_;
    return $client{ $daemon->{name} }->command('CHECK', @words, 'SERVICE', 'shop')->[0];
}
ok(Headgate::wait_until(10, sub { check($south, 'ip=192.0.2.1', 'COST', 3) }),
   'a request that waits has all of a log elsewhere');
is(check($_, 'ip=192.0.2.1', 'PATIENCE', 200), 0, "and nothing beside it in $_->{name}") for $east, $west, $south;

# Of many leases no home is needed: each region has a share, and asks the others for theirs.
is($client->command(qw(RULE SET), '{id: seats, service: hall, by: user, algorithm: concurrency, limit: 30, window: 1m, '
       . 'overshoot: 0, patience: 2s}'), 'OK', 'a rule of thirty leases without a home is set');
ok(Headgate::wait_until(10, sub { knows($east, qw(hall seats)) && knows($south, qw(hall seats)) }), 'everywhere');
my %seats = map { $_->{name} => [] } $east, $west, $south;
sub seat_all {
    my ($daemon) = @_;
    my $id;
    push @{$seats{ $daemon->{name} }}, $id while $id = reserve($daemon, 'user=h', 'hall', 30_000, PATIENCE => 200);
    return scalar @{$seats{ $daemon->{name} }};
}
ok(Headgate::wait_until(10, sub { seat_all($south) >= 24 }), 'one region has nearly all of them')
    or diag scalar @{$seats{ $south->{name} }};
my $taken = 0;
$taken += seat_all($_) for $east, $west, $south;
ok($taken <= 30, 'and all together never have more') or diag $taken;
is($client{ $south->{name} }->command('CANCEL', $_), 1, 'one is given back')
    for splice @{$seats{ $south->{name} }}, 0, 20;
ok(Headgate::wait_until(10, sub { seat_all($west) >= 16 }), 'and they are there in another region')
    or diag scalar @{$seats{ $west->{name} }};
$taken = 0;
$taken += seat_all($_) for $east, $west, $south;
ok($taken <= 30, 'never more than thirty') or diag $taken;

$south->kill9;
ok(!reserve($_, 'user=a'), "a daemon that crashes changes nothing in $_->{name}") for $east, $west;
ok(soon($east, 'user=b'), 'at home another one is there');
done_testing;
