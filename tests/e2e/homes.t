#!/usr/bin/perl
# Rules with a home, and rules whose keys have homes: three real daemons in three regions, of which one has the whole
# of a limit. A limit of 1, a cost of the whole limit and a burst of all of it are admitted in any region a round trip
# later, and never more than the limit.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use List::Util qw(sum0);
use Test::More;

my $capacity = 100;
my $cluster = Headgate::cluster();
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my ($east, $west, $south) = $cluster->daemons;

sub check { my ($daemon, @words) = @_; return $daemon->client->command('CHECK', @words, 'SERVICE', 'shop')->[0] }

# The home of a key may need longer than the patience of a request.
sub takes { my ($daemon, @words) = @_; return Headgate::wait_until(10, sub { check($daemon, @words) }) ? 1 : 0 }

# What each of many clients is told that ask for the same words at the same time.
sub burst {
    my ($daemon, @words) = @_;
    my @clients = map { $daemon->client } 1 .. $capacity;
    $_->send_raw(Headgate::Client::encode('CHECK', @words, 'SERVICE', 'shop')) for @clients;
    return sum0 map { $_->reply->[0] } @clients;
}

my $rest = 'algorithm: quota, window: year, overshoot: 0, patience: 5s';
my $client = $west->client;
like($client->command(qw(RULE SET), "{id: lost, service: shop, by: user, limit: 1, $rest, home: mars}"),
     qr/home is 'mars', where no daemon is/, 'a home must be a region with daemons');
is($client->command(qw(RULE SET), "{id: one, service: shop, by: user, limit: 1, $rest, home: us-east}"), 'OK',
   'a rule with a home is set');
is($client->command(qw(RULE SET), "{id: many, service: shop, by: ip, limit: $capacity, $rest, home: us-east}"), 'OK',
   'and one with a larger limit');
like($client->command(qw(RULE GET shop one)), qr/^home: us-east$/m, 'the text has the home');
sub knows { my ($daemon) = @_; return ($daemon->client->command(qw(RULE GET shop many)) // '') =~ m{^home:}m }
ok(Headgate::wait_until(10, sub { knows($east) && knows($south) }),
   'all daemons have it');

# ---- one token ----

is(takes($south, 'user=far'), 1, 'a limit of 1 admits one elsewhere');
is(check($_, 'user=far', 'PATIENCE', 300), 0, 'and no other one in ' . $_->{name}) for $east, $west, $south;
is(check($east, 'user=near', 'PATIENCE', 0), 1, 'at home it waits for nobody');
is(check($_, 'user=near', 'PATIENCE', 300), 0, 'and leaves nothing in ' . $_->{name}) for $east, $west, $south;

sub verdict { my ($daemon, @words) = @_; return $daemon->client->command('CHECK', @words, 'SERVICE', 'shop') }
my $year = verdict($east, 'user=near', 'PATIENCE', 0)->[4];
my ($away) = map { $_->[3] } verdict($west, 'user=near', 'PATIENCE', 0);
ok($away > $year - 60_000 && $away < $year + 60_000, 'elsewhere a client is told to come back when the window ends')
    or diag "$away, $year";
is(verdict($west, 'user=new', 'COST', 2)->[3], -1, 'what the limit never admits is refused for good');

# ---- all at once ----

is(takes($west, 'ip=192.0.2.1', 'COST', $capacity), 1, 'a cost of the whole limit is admitted elsewhere');
is(check($_, 'ip=192.0.2.1', 'PATIENCE', 300), 0, 'and nothing beside it in ' . $_->{name}) for $east, $west, $south;
my $burst = 0;
Headgate::wait_until(10, sub { ($burst += burst($south, 'ip=192.0.2.2')) >= $capacity });
is($burst, $capacity, 'a burst of the whole limit is admitted elsewhere');
is(sum0(map { burst($_, 'ip=192.0.2.2', 'PATIENCE', 100) } $east, $west, $south), 0, 'and nothing beside it anywhere');

# West is granted tokens that nobody takes at once, and gives them back a second later.
sub drained {
    my ($id) = @_;
    my @part = ('COST', $capacity - 2);
    verdict($west, $id, @part, 'PATIENCE', 0);
    Headgate::wait_until(1, sub { $west->client->command('PEEK', $id, 'SERVICE', 'shop', @part)->[0] });
    return verdict($west, $id, 'COST', $capacity, 'DRAIN')->[6];
}
my $drains = 0;
ok(Headgate::wait_until(10, sub { drained('ip=198.51.100.' . ++$drains) == $capacity - 2 }),
   'a request that takes what is left takes elsewhere what the home has granted');
like($south->client->command(qw(EXPLAIN user=new SERVICE shop)), qr/^home  +us-east has the whole limit: /m,
     'EXPLAIN names the home');

# ---- each key has its own ----

is($client->command(qw(RULE SET), "{id: each, service: shop, by: card, limit: 1, $rest, home: by_key}"), 'OK',
   'a rule whose keys have homes is set');
like($client->command(qw(RULE GET shop each)), qr/^home: by_key$/m, 'the text says so');
sub gets { my ($daemon) = @_; return ($daemon->client->command(qw(RULE GET shop each)) // '') =~ m{^home:}m }
ok(Headgate::wait_until(10, sub { gets($east) && gets($south) }),
   'all daemons have it');
sub home_of {
    my ($daemon, $card) = @_;
    my $text = $daemon->client->command('EXPLAIN', $card, qw(SERVICE shop));
    return $text =~ m{^home  +(\S+) has the whole limit of this key}m ? $1 : 'none';
}
my (%homes, $admitted, $twice, $differ);
for my $card (map { "card=$_" } 1 .. 30) {
    my @said = map { home_of($_, $card) } $east, $west, $south;
    $homes{$said[0]}++;
    $differ += grep { $_ ne $said[0] } @said;
    $admitted += takes($south, $card);
    $twice += grep { check($_, $card, 'PATIENCE', 50) } $east, $west, $south;
}
is(join(' ', sort keys %homes), 'ap-south eu-west us-east', 'each region is the home of some keys');
is($differ, 0, 'all daemons name the same');
is($admitted, 30, 'a limit of 1 of any key admits one');
is($twice, 0, 'and no other one anywhere');

# ---- another amount for a key that the home counts ----

my $plans = "{id: plans, service: shop, by: plan, limit: %d, $rest, home: us-east, tiers: {small: 10}}";
is($client->command(qw(RULE SET), sprintf $plans, 100), 'OK', 'a rule with a tier');
sub plans_are {
    my ($limit, $daemon) = @_;
    return ($daemon->client->command(qw(RULE GET shop plans)) // '') =~ m{^limit: $limit$}m;
}
ok(Headgate::wait_until(10, sub { plans_are(100, $east) && plans_are(100, $south) }), 'all daemons have it');
is(check($east, 'plan=a', 'COST', 2), 1, 'the home counts two under the amount of the rule');
is(takes($south, 'plan=a', 'COST', 3, 'TIER', 'small'), 1, 'elsewhere a request of the tier is admitted');
is(takes($south, 'plan=a', 'COST', 4), 1, 'and one of none');
is($client->command(qw(RULE SET), sprintf $plans, 90), 'OK', 'the amount changes');
ok(Headgate::wait_until(10, sub { plans_are(90, $east) && plans_are(90, $south) }), 'everywhere');
is(takes($south, 'plan=a', 'COST', 81), 1, 'a key that the home has counted before has the rest of it elsewhere');
is(check($_, 'plan=a', 'PATIENCE', 100), 0, 'and nothing beside it in ' . $_->{name}) for $east, $west, $south;

# ---- without the home ----

$east->kill9;
sub late { return $south->client->command(qw(EXPLAIN user=late SERVICE shop)) }
ok(Headgate::wait_until(30, sub { late() =~ m{^one more now +refused \(isolation\)}m }),
   'a daemon notices that the home is gone') or diag late();
is(check($south, 'user=late', 'PATIENCE', 300), 0, 'nothing is admitted without it');
cmp_ok(verdict($south, 'user=late', 'PATIENCE', 0)->[3], '>', 0, 'though not for good');
$east->start;
ok(Headgate::wait_until(30, sub { check($south, 'user=late') == 1 }), 'and again when it is back')
    or diag late(), $south->log, $east->log;
is(check($_, 'user=late', 'PATIENCE', 300), 0, 'once') for $east, $west, $south;
$east->stop;
sub stopped { return $south->client->command(qw(EXPLAIN user=stopped SERVICE shop)) }
ok(Headgate::wait_until(30, sub { stopped() =~ m{^one more now +refused \(isolation\)}m }),
   'a home that has left is gone as well') or diag stopped();
cmp_ok(verdict($south, 'user=stopped', 'PATIENCE', 0)->[3], '>', 0, 'and nothing is refused for good');
like($south->client->command(qw(RULE SET), "{id: two, service: shop, by: user, limit: 2, $rest, home: us-east}"),
     qr/^OK, but rule shop\/two: home is 'us-east', where no daemon runs now: requests are refused until one does$/,
     'whoever gives it another rule is told');

done_testing;
