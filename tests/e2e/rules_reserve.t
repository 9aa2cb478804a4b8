# Reservations under rules: places that are given back, costs that are known afterwards, holders that fall silent.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $cluster = Headgate::cluster(regions => ['here']);
$cluster->start;
$cluster->wait_met or die 'the daemon did not become active';
my $client = $cluster->daemon('here')->client;
for my $example (qw(concurrency llm-tokens)) {
    my $changed = $client->command('RULE', 'APPLY', Headgate::read_file("$Headgate::root/config/rules/$example.yaml"));
    is($changed, $example eq 'concurrency' ? 1 : 2, "the rules of $example");
}

my @exports = qw(SERVICE reports ENDPOINT /export);
sub places { return $client->command('PEEK', 'tenant=acme', @exports)->[2] }
sub reserve { return $client->command('RESERVE', 'tenant=acme', @exports, 'TTL', $_[0])->[-1] }

# ---- places ----
my @held = map { reserve(60000) } 1 .. 3;
is(scalar(grep { /^[0-9a-f]{32}$/ } @held), 3, 'three places');
is(places(), 0, 'and no more');
is(reserve(60000), undef, 'a fourth gets none');
is($client->command('COMMIT', $held[0], 1), 1, 'a commit');
is(places(), 1, 'gives its place back');
is($client->command('COMMIT', $held[1], 0), 0, 'whatever it cost');
is(places(), 2, 'gives its place back');
is($client->command('CANCEL', $held[2]), 1, 'so does a cancellation');
is(places(), 3, 'all are free');
is($client->command('CANCEL', $held[2]), 0, 'once');
my ($silent, $kept, $left, $renewed);
Headgate::in_time(0.2, sub {
    $client->command('CANCEL', $_) for grep { defined } $silent, $kept;
    ($silent, $kept) = (reserve(300), reserve(300));
    $left = places();
    $renewed = $client->command('RENEW', $kept, 60000);
    return $left == 1 && $renewed == 1;
});
is($left, 1, 'two holders');
is($renewed, 1, 'one renews');
ok(Headgate::wait_until(5, sub { places() == 2 }), 'the other falls silent: its place is free');
is($client->command('RENEW', $silent, 60000), 0, 'and it cannot come back');
is($client->command('CANCEL', $kept), 1, 'the one who renewed still had it');
is(places(), 3, 'all are free again');

# ---- costs that are known afterwards ----
my @call = qw(org=acme model=large SERVICE llm);
sub month { return $client->command('PEEK', @call, 'RULE', 'tokens-per-month')->[2] }
my $id = $client->command('RESERVE', @call, 'COST', 4000, 'TTL', 60000)->[-1];
is(month(), 50_000_000 - 4000, 'an estimate');
is($client->command('COMMIT', $id, 1500), 1500, 'it was less');
is(month(), 50_000_000 - 1500, 'the rest is returned, under every rule');
$id = $client->command('RESERVE', @call, 'COST', 1000, 'TTL', 60000)->[-1];
is($client->command('COMMIT', $id, 2500), 2500, 'it was more');
is(month(), 50_000_000 - 4000, 'and taken');
Headgate::in_time(0.1, sub {
    $id = $client->command('RESERVE', @call, 'COST', 1000, 'TTL', 200)->[-1];
    $left = month();
    return $left == 50_000_000 - 5000;
});
is($left, 50_000_000 - 5000, 'one that nobody ends');
ok(Headgate::wait_until(5, sub { month() == 50_000_000 - 4000 }), 'returns what it held');
like($client->command('COMMIT', $id, 1), qr/^NORESERVATION /, 'and cannot be committed any more');
my $denied = $client->command('RESERVE', @call, 'COST', 100001, 'TTL', 60000);
ok($denied->[0] == 0 && !defined $denied->[-1] && $denied->[5] eq 'tokens-per-minute', 'a denial reserves nothing');
is(month(), 50_000_000 - 4000, 'under no rule');

ok($cluster->stop, 'it ends well');
done_testing();
