#!/usr/bin/perl
# A quota and a bucket with a home: three real daemons in three regions. Any region reserves of them a round trip after
# it asks, and gives back what it admitted: refunds, cancelled reservations, commits of less. Never is more than the
# limit out, and nothing that is given back is lost.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use Test::More;

my $capacity = 20;
my $cluster = Headgate::cluster(listen_http => 1);
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my ($east, $west, $south) = $cluster->daemons;
my %client = map { $_->{name} => $_->client } $east, $west, $south;
my %http = map { $_->{name} => Http::connect($_) } $west, $south;

my $rest = "algorithm: quota, window: year, limit: $capacity, overshoot: 0, home: us-east, patience: 5s";
is($client{ $west->{name} }->command(qw(RULE SET), "{id: exports, service: shop, by: user, $rest}"), 'OK',
   'a quota with a home is set');
sub knows { return ($client{ $_[0]{name} }->command(qw(RULE GET shop sends)) // '') =~ m{^home:}m }
my $bucket = "algorithm: token_bucket, rate: $capacity/h, overshoot: 0, home: us-east, patience: 5s";
is($client{ $west->{name} }->command(qw(RULE SET), "{id: sends, service: shop, by: org, $bucket}"), 'OK',
   'and a bucket');
ok(Headgate::wait_until(10, sub { knows($east) && knows($south) }), 'all daemons have them');

sub command { my ($daemon, @words) = @_; return $client{ $daemon->{name} }->command(@words, 'SERVICE', 'shop') }
sub check { my ($daemon, @words) = @_; return command($daemon, 'CHECK', @words)->[0] }

# The news of what was given back comes a way later.
sub takes { my ($daemon, @words) = @_; return Headgate::wait_until(10, sub { check($daemon, @words) }) }

# Its client comes again until it has so many.
sub reserve {
    my ($daemon, $user, $cost) = @_;
    my $reply;
    Headgate::wait_until(10, sub { ($reply = command($daemon, 'RESERVE', $user, 'TTL', 60_000, 'COST', $cost))->[0] });
    return $reply->[0] ? $reply->[-1] : undef;
}

sub nothing_is_left {
    my ($user) = @_;
    is(check($_, $user, 'PATIENCE', 300), 0, "and no other one in $_->{name}") for $east, $west, $south;
    return;
}

# ---- refunds ----

ok(takes($south, 'user=a', 'COST', $capacity), 'all of it is admitted elsewhere');
nothing_is_left('user=a');
is(command($_, 'REFUND', 'user=a', 'COST', $capacity), 0, "$_->{name} gives none of it back") for $east, $west;
is(command($south, 'REFUND', 'user=a', 'COST', 5), 5, 'who admitted it does');
ok(takes($west, 'user=a', 'COST', 5), 'a third region has that');
is(command($south, 'REFUND', 'user=a', 'COST', $capacity), $capacity - 5, 'no more comes back than was admitted');
is(command($west, 'RESET', 'user=a'), 1, 'a reset gives back what was admitted where it is asked for');
ok(takes($east, 'user=a', 'COST', $capacity), 'and all of it is there again');
nothing_is_left('user=a');

# ---- reservations ----

my $refusal = command($south, 'RESERVE', 'user=b', 'TTL', 60_000, 'COST', $capacity, 'PATIENCE', 0);
is($refusal->[0], 0, 'elsewhere a reservation is not there at once');
ok($refusal->[3] > 0 && $refusal->[3] < 1000, 'but soon, as its client is told') or diag $refusal->[3];
my $held = reserve($south, 'user=b', $capacity);
ok($held, 'then it is');
nothing_is_left('user=b');
is(command($south, 'REFUND', 'user=b', 'COST', $capacity), 0, 'what it holds is nobody else\'s to give back');
is($client{ $south->{name} }->command('COMMIT', $held, 12), 12, 'less was used');
ok($held = reserve($west, 'user=b', $capacity - 12), 'another region reserves the rest');
nothing_is_left('user=b');
is($client{ $west->{name} }->command('CANCEL', $held), 1, 'gives it back,');
ok(takes($east, 'user=b', 'COST', $capacity - 12), 'and the home has it');
nothing_is_left('user=b');
is(command($south, 'REFUND', 'user=b', 'COST', $capacity), 12, 'what was used of a reservation may be refunded');

# ---- HTTP ----

my $asked = {identifiers => {user => 'c'}, service_id => 'shop', cost => $capacity, ttl_ms => 60_000};
my $reply;
ok(Headgate::wait_until(10, sub { ($reply = $http{ $west->{name} }->post('/v1/reserve', $asked))->{json}{allowed} }),
   'a reservation is made over HTTP');
nothing_is_left('user=c');
$reply = $http{ $west->{name} }->post('/v1/cancel', {reservation => $reply->{json}{reservation}});
is($reply->{status}, 200, 'and cancelled');
ok(takes($south, 'user=c', 'COST', $capacity), 'another region has it then');
delete $asked->{ttl_ms};
is($http{ $south->{name} }->post('/v1/refund', $asked)->{json}{refunded}, $capacity, 'and gives it back over HTTP');
ok(takes($east, 'user=c', 'COST', $capacity), 'to the home');

# ---- a bucket, which refills by a token in three minutes ----

ok($held = reserve($south, 'org=a', 12), 'a bucket is reserved elsewhere');
is(check($_, 'org=a', 'COST', 12, 'PATIENCE', 300), 0, "which $_->{name} has not beside that") for $east, $west;
is(command($south, 'REFUND', 'org=a', 'COST', $capacity), 0, 'what it holds is nobody else\'s to give back');
is($client{ $south->{name} }->command('COMMIT', $held, 2), 2, 'less was used');
ok(takes($east, 'org=a', 'COST', 12), 'the home has the rest');
is(check($_, 'org=a', 'COST', 7, 'PATIENCE', 300), 0, "and $_->{name} no more than is left") for $west, $south;
ok($held = reserve($west, 'org=b', 12), 'a third region reserves another key,');
is($client{ $west->{name} }->command('CANCEL', $held), 1, 'and gives it back');
ok(takes($south, 'org=b', 'COST', 12), 'it is admitted elsewhere');
is(command($west, 'REFUND', 'org=b', 'COST', 5), 0, "which is not $west->{name}'s to give back");
is(command($south, 'REFUND', 'org=b', 'COST', 5), 5, 'but that daemon\'s');
ok(takes($east, 'org=b', 'COST', 9), 'and the home has that, and what was left');
is(check($_, 'org=b', 'COST', 5, 'PATIENCE', 300), 0, "and no more in $_->{name}") for $east, $west, $south;

# ---- a crash ----

ok(reserve($south, 'user=d', 12), 'who crashes holds a part');
ok(takes($east, 'user=d', 'COST', $capacity - 12), 'the home has the rest');
$south->kill9;
is(check($_, 'user=d', 'PATIENCE', 300), 0, "what it held counts as used in $_->{name}") for $east, $west;
done_testing;
