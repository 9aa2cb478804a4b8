#!/usr/bin/perl
# Rules with weights of their own: three real daemons in three even regions, of which one has nine tenths of a rule's
# limit, one a tenth, and one nothing. Each admits its part at once, and what the others grant a round trip later.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use List::Util qw(sum0);
use Test::More;

my $capacity = 100;
my $cluster = Headgate::cluster(listen_http => 1);
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my ($east, $west, $south) = $cluster->daemons;

# How many requests are admitted of a burst that one client sends in one piece: the daemon decides on them all before
# it tells its peers of any, so they get just what its own part allows.
sub burst_at_once {
    my ($daemon, @words) = @_;
    my $client = $daemon->client;
    $client->send_raw(Headgate::Client::encode('CHECK', @words, 'SERVICE', 'shop') x $capacity);
    return sum0 map { $client->reply->[0] } 1 .. $capacity;
}

# How many are admitted of a burst of many clients, each of which asks for the same words.
sub burst {
    my ($daemon, @words) = @_;
    my @clients = map { $daemon->client } 1 .. $capacity;
    $_->send_raw(Headgate::Client::encode('CHECK', @words, 'SERVICE', 'shop')) for @clients;
    return sum0 map { $_->reply->[0] } @clients;
}

my $rest = "service: shop, by: user, algorithm: quota, window: year, limit: $capacity, overshoot: 0, patience: 5s";
my $weights = 'weights: {us-east: 0.9, eu-west: 0.1}';
sub set { my ($daemon, $rule) = @_; return $daemon->client->command(qw(RULE SET), $rule) }

# ---- what is refused ----

like(set($west, "{id: r, $rest, weights: {us-east: 0.9, mars: 0.1}}"),
     qr/weights has region 'mars', which the config does not have: expected a region of the config/,
     'a region of no config');
like(set($west, "{id: r, $rest, weights: {us-east: 0.9, eu-west: 0.2}}"),
     qr/weights add up to 1\.1: expected exactly 1/, 'weights of more than the whole');
like(set($west, "{id: r, $rest, $weights, home: us-east}"), qr/weights makes no sense with home/, 'a home beside them');

# ---- each has its part ----

is(set($west, "{id: r, $rest, $weights}"), 'OK', 'a rule with weights is set');
like($west->client->command(qw(RULE GET shop r)), qr/^weights:\n  eu-west: 0\.1\n  us-east: 0\.9$/m,
     'the text has them');
sub explained { my ($daemon) = @_; return $daemon->client->command(qw(EXPLAIN user=new SERVICE shop)) // '' }
ok(Headgate::wait_until(10, sub { 3 == grep { explained($_) =~ /^weights /m } $east, $west, $south }),
   'all daemons have it');
like(explained($east), qr/^weights +eu-west 0\.1, us-east 0\.9, of this rule alone$/m, 'EXPLAIN has them');
like(explained($east), qr/which holds 90\.00% of the limit$/m, 'and the part of the region');
like(explained($west), qr/which holds 10\.00% of the limit$/m, 'of another one');
like(explained($south), qr/^weights .*: this daemon has no part, and asks the others for what its clients want$/m,
     'and that the third has none');

is(burst_at_once($east, 'user=ann', 'PATIENCE', 0), 84, 'a region admits its part of a burst at once, 15/16 of 90');
my $first = $south->client->command(qw(CHECK user=bob PATIENCE 0 SERVICE shop));
is($first->[0], 0, 'a region without a part nothing, before it was granted some');
my ($later, $cat); # another key where the machine is too slow for so little patience
for my $try (1 .. 5) {
    $cat = "user=cat-$try";
    $later = burst($south, $cat, 'PATIENCE', 2000);
    last if $later >= 90;
}
ok($later >= 90 && $later <= $capacity, "and nearly all a round trip later: $later");
my $all = $later + sum0 map { burst($_, $cat, 'PATIENCE', 100) } $east, $west, $south;
ok($all <= $capacity, "and no more than the limit is admitted in all: $all");

# ---- doors ----

my ($status, $out, $err) = $south->headgate(qw(rules export shop));
like($out, qr/^    weights:\n      eu-west: 0\.1\n      us-east: 0\.9$/m, 'an export has them') or diag $err;
my $scratch = Headgate::scratch();
my $file = Headgate::write_file("$scratch/shop.yaml", $out);
($status, $out, $err) = $east->headgate('rules', 'diff', $file);
is($status, 0, 'what is exported changes nothing') or diag $out, $err;

my $http = Http::connect($south);
my %parts = ('us-east' => 0.5, 'ap-south' => 0.3, 'eu-west' => 0.2);
my $put = $http->put('/v1/rules/shop/split', {by => 'ip', algorithm => 'fixed_window', limit => 10, window => '1h',
                                              sync => 'budget', weights => \%parts});
is($put->{status}, 201, 'a rule with weights over HTTP') or diag $put->{body};
is_deeply($http->get('/v1/rules/shop/split')->{json}{weights}, \%parts, 'is read as it was written');
sub has_split { my ($daemon) = @_; return ($daemon->client->command(qw(RULE GET shop split)) // '') =~ /^weights/m }
ok(Headgate::wait_until(10, sub { 3 == grep { has_split($_) } $east, $west, $south }), 'and is everywhere');
is(join(' ', map { burst($_, 'ip=192.0.2.1') } $east, $west, $south), '5 2 3', 'a static split is divided by them');

# ---- over a restart, and by other weights ----

$east->stop;
$east->start;
ok(Headgate::wait_until(20, sub { explained($east) =~ /which holds 90\.00% of the limit$/m }), 'a restart keeps them')
    or diag explained($east), $east->log;
is(set($south, "{id: r, $rest, weights: {ap-south: 0.75, us-east: 0.25}}"), 'OK', 'other weights are set');
ok(Headgate::wait_until(10, sub {
    explained($east) =~ /holds 25\.00%/ && explained($west) =~ /holds 0\.00%/ && explained($south) =~ /holds 75\.00%/;
}), 'and count everywhere');
is(set($south, "{id: r, $rest}"), 'OK', 'none are set');
ok(Headgate::wait_until(10, sub { explained($south) =~ /holds 33\.\d+%/ && explained($west) =~ /holds 33\.\d+%/ }),
   'and those of the cluster count');

done_testing;
