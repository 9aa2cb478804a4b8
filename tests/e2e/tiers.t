#!/usr/bin/perl
# Tiers of one rule share its keys. A key whose requests have now the one tier, now the other, never gets more than the
# larger one gives: at one daemon, at two daemons with an overshoot of 0, and through CL.THROTTLE with changing figures.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use List::Util qw(sum);
use Test::More;

my $alone = Headgate::cluster(regions => ['here']);
$alone->start;
my $client = $alone->daemon('here')->client;
for my $algorithm (qw(token_bucket leaky_bucket)) {
    my @request = ('user=ann', 'SERVICE', $algorithm);
    my $rule = "{id: calls, service: $algorithm, by: user, algorithm: $algorithm, rate: 1/h, burst: 4, overshoot: 0, ";
    is($client->command(qw(RULE SET), $rule . "tiers: {member: 1/h burst 100}}"), "OK", "$algorithm: a larger tier");
    is($client->command('CHECK', @request, qw(TIER member COST 90))->[2], 10, '90 of 100 are taken');
    for my $word (qw(CHECK PEEK)) {
        my ($allowed, $limit, $remaining, $retry_ms) = @{$client->command($word, @request)};
        is_deeply([$allowed, $limit, $remaining], [0, 4, 0], "$word under the smaller tier is refused");
        ok($retry_ms > 86 * 3600_000 && $retry_ms <= 87 * 3600_000, '... until they have refilled to less than 4')
            or diag "$retry_ms ms";
        is($client->command('PEEK', @request, qw(TIER member COST 11))->[0], 0, '... and does not give the 90 back');
    }
    is($client->command('CHECK', @request, qw(TIER member COST 10))->[0], 1, 'the larger tier has what was left');
}

is($client->command('CL.THROTTLE', 'ben', 99_999, 1, 3600, 99_990)->[2], 10, 'CL.THROTTLE: all but 10 are taken');
is($client->command('CL.THROTTLE', 'ben', 3, 1, 3600, 1)->[0], 1, '... no more by a smaller burst');
is($client->command('CL.THROTTLE', 'ben', 99_999, 1, 3600, 11)->[0], 1, '... nor by the larger one than were left');
$alone->stop;

# ---- two daemons ----

my $cluster = Headgate::cluster(regions => [qw(east west)]);
$cluster->start;
ok($cluster->wait_met(10), 'two daemons see each other') or diag map { $_->log } $cluster->daemons;
my %at = map { $_->{name} => $_->client } $cluster->daemons;
is($at{east}->command(qw(RULE SET), '{id: calls, service: shop, by: user, rate: 1/d, burst: 4, overshoot: 0, '
                          . 'tiers: {member: 1/d burst 100}}'), 'OK', 'a rule with a larger tier');
ok(Headgate::wait_until(10, sub { ($at{west}->command(qw(RULE GET shop calls)) // '') =~ /^id:/m }), '... is at both');
my @request = qw(user=eve SERVICE shop);
my %admitted = (east => 0, west => 0);

# Until it is refused for so long that no round trip changes it.
sub take_all {
    my ($name) = @_;
    my $reply;
    Headgate::wait_until(10, sub {
        $reply = $at{$name}->command('CHECK', @request, qw(TIER member COST 5));
        $admitted{$name} += 5 if $reply->[0];
        return !$reply->[0] && $reply->[3] > 60_000;
    });
    return;
}

is($at{west}->command('CHECK', @request)->[0], 1, 'west has the key under the smaller tier');
$admitted{west}++;
take_all('east');
ok($admitted{east} >= 45, 'east admits its part at least') or diag "$admitted{east} tokens";
take_all('west');
for my $name (qw(west east)) {
    is($at{$name}->command('CHECK', @request)->[0], 0, "$name refuses the smaller tier");
    take_all($name);
}
cmp_ok(sum(values %admitted), '<=', 100, 'all that both admitted is no more than the larger tier')
    or diag "$admitted{east} and $admitted{west}";
done_testing;
