#!/usr/bin/perl
# Small limits that name no home: three real daemons in three regions, and rules under which none of them has a token of
# its own. The daemon that takes such a rule gives it `home: by_key` and says so, once; `home: none` has it refused.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use JSON::PP;
use List::Util qw(sum0);
use Test::More;

my $cluster = Headgate::cluster(listen_http => 1);
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my @daemons = $cluster->daemons;
my ($east, $west, $south) = @daemons;
my $client = $west->client;
my $http = Http::connect($south);

sub check { my ($daemon, @words) = @_; return $daemon->client->command('CHECK', @words, 'SERVICE', 'shop')->[0] }
sub text { my ($daemon, $id) = @_; return $daemon->client->command(qw(RULE GET shop), $id) // '' }
sub all_have { my ($id) = @_; return !grep { text($_, $id) !~ m{^home: by_key$}m } @daemons }

# ---- one token ----

my $window = 'service: shop, by: user, algorithm: fixed_window, limit: 1, window: 365d, overshoot: 0, patience: 5s';
my $once = 'rule shop/once: home is by_key, since none of 3 daemons would ever admit a request by its share of the '
           . 'limit (1): expected overshoot: 1, or a limit of 2, or another home, to have it otherwise; with home: '
           . 'none it is refused';
# On a busy machine a daemon may be silent for a moment, which would be said as well.
like($client->command(qw(RULE SET), "{id: once, $window}"), qr{^OK, but \Q$once\E( \(and so on for 1 more\))?$},
     'a window of 1 gets a home, and RULE SET says so');
ok(Headgate::wait_until(10, sub { all_have('once') }), 'all daemons have the rule with its home');
ok(Headgate::wait_until(10, sub { index($west->log, substr($once, 0, 180)) >= 0 }), 'the log of that daemon says so');
is(sum0(map { scalar(() = $_->log =~ /home is by_key, since/g) } $east, $south), 0, 'and no other one');
my ($admitted, $twice) = (0, 0);
for my $i (1 .. 18) {
    my $first = $daemons[$i % 3];
    $admitted += Headgate::wait_until(10, sub { check($first, "user=u$i") }) ? 1 : 0;
    $twice += grep { check($_, "user=u$i", 'PATIENCE', 50) } @daemons;
}
is("$admitted $twice", '18 0', 'any region admits one of each user, and no region another one');

# ---- one place ----

my %place = (by => 'org', algorithm => 'concurrency', limit => 1, window => '5m', patience => '5s');
my $made = $http->put('/v1/rules/shop/place', \%place);
is($made->{status}, 201, 'a concurrency of 1 is set over HTTP');
like($made->{json}{warning},
     qr{^rule shop/place: home is by_key, since none of 3 daemons would .* of the limit \(1\): expected overshoot: 3, },
     'and the answer says that it gets a home');
ok(Headgate::wait_until(10, sub { all_have('place') }), 'which it has everywhere');
my ($held, $beside) = (0, 0);
for my $i (1 .. 9) {
    my $first = $daemons[$i % 3]->client;
    $held += Headgate::wait_until(10, sub {
        return $first->command('RESERVE', "org=o$i", qw(TTL 60000 SERVICE shop))->[0];
    }) ? 1 : 0;
    $beside += grep { $_->client->command('RESERVE', "org=o$i", qw(TTL 60000 PATIENCE 50 SERVICE shop))->[0] } @daemons;
}
is("$held $beside", '9 0', 'any region gives one place of each org, and no region another one');

# ---- one token ----

is($http->put('/v1/rules/shop/token', {by => 'ip', rate => '1/h', overshoot => 0})->{status}, 201, 'a bucket of 1');
ok(Headgate::wait_until(10, sub { all_have('token') }), 'has a home everywhere');
($admitted, $twice) = (0, 0);
for my $i (1 .. 18) {
    my $first = $daemons[$i % 3];
    $admitted += Headgate::wait_until(10, sub { check($first, "ip=10.0.0.$i") }) ? 1 : 0;
    $twice += grep { check($_, "ip=10.0.0.$i", 'PATIENCE', 50) } @daemons;
}
is("$admitted $twice", '18 0', 'any region admits one of each ip, and no region another one');
is($http->delete('/v1/rules/shop/token')->{json}{changed}, 1, 'it is deleted,');
ok(Headgate::wait_until(10, sub { !grep { text($_, 'token') ne '' } @daemons }), 'everywhere');

# ---- the same again ----

is($client->command(qw(RULE SET), "{id: once, $window}"), 'OK', 'the same rule again is no news');
my $again = $http->put('/v1/rules/shop/place', \%place, "If-Match: $made->{head}{etag}");
is_deeply([@{$again->{json}}{qw(changed unchanged warning)}, $again->{head}{etag}], [0, 1, undef, $made->{head}{etag}],
          'nor over HTTP, where it stays the version that it was');
my $tried = $http->put('/v1/rules/shop/new?dry_run=true', \%place)->{json};
is_deeply([$tried->{created}, $tried->{plan}[0]{change}, $tried->{plan}[0]{after}{home}], [1, 'create', 'by_key'],
          'a dry run has the home in its plan');
like($tried->{warning}, qr{^rule shop/new: home is by_key, }, 'and says so');
is(text($south, 'new'), '', 'and sets nothing');
$tried = $http->put('/v1/rules/shop/place?dry_run=true', \%place)->{json};
is_deeply([$tried->{changed}, $tried->{plan}[0]{change}], [0, 'none'], 'of the same rule it would change nothing');

sub rules { my (@words) = @_; return $east->headgate('rules', @words) }
sub file { my ($name, $text) = @_; return Headgate::write_file(Headgate::scratch() . "/$name", $text) }
my $log = '{id: log, service: shop, by: ip, algorithm: sliding_log, limit: 1, window: 1h}';
my $small = file('small.yaml', "- {id: once, $window}\n- $log\n");
my ($status, $out, $err) = rules('apply', $small);
is("$status $out", "0 1 rule changed, 1 as before\n", 'rules apply: a log of 1 as well');
like($err, qr{^headgate rules apply: rule shop/log: home is by_key, since none of 3 daemons}, 'which says so');
($status, $out, $err) = rules('apply', $small);
is("$status $out$err", "0 0 rules changed, 2 as before\n", 'twice: nothing changes, and nothing is said');
is_deeply([rules('diff', $small)], [0, '', ''], 'rules diff: no difference');
is($client->command(qw(RULE APPLY), "{id: once, $window}", 'DRYRUN'), 0, 'as RULE APPLY says that is only tried');
my $new = $client->command(qw(RULE APPLY), "{id: new, $window}", qw(DRYRUN VERBOSE));
is($new->[0], 1, 'of a new rule it says that it would change,');
like($new->[1], qr{^rule shop/new: home is by_key, since none of 3 daemons}, 'and its home');
is(text($west, 'new'), '', 'and does not');
($status, my $exported) = rules('export', 'shop');
is(scalar(() = $exported =~ /^    home: by_key$/mg), 3, 'rules export has the homes');
my $whole = file('whole.yaml', $exported);
is((rules('apply', $whole, '--prune'))[1], "0 rules changed, 0 removed, 3 as before\n",
   'which apply --prune takes back');
is((rules('diff', $whole, '--prune'))[0], 0, 'and diff --prune');
is((rules('diff', file('none.yaml', "{id: once, $window, home: none}\n")))[0], 1,
   'without a home it would be another rule');

# ---- who does not want it ----

my $refusal = 'rule shop/once: under limit (1) a request of cost 1 is ever admitted at none of 3 daemons, since each '
              . 'uses its share of the limit: expected overshoot: 1, or a limit of 2, or home: by_key';
is($client->command(qw(RULE SET), "{id: once, $window, home: none}"), "ERR $refusal", 'RULE SET refuses home: none');
like($http->put('/v1/rules/shop/place', {%place, home => 'none'})->{json}{detail},
     qr{at none of 3 daemons.* or home: by_key$}, 'so does HTTP');
($status, $out, $err) = rules('apply', file('none.yaml', "{id: once, $window, home: none}\n"));
is("$status $err", "65 headgate rules apply: ERR $refusal\n", 'and rules apply');
my $two = $window =~ s/limit: 1/limit: 2/r;
is($client->command(qw(RULE SET), "{id: wide, $two, home: none}"), 'OK',
   'where shares do, home: none is the same as nothing');
unlike(text($west, 'wide'), qr/home/, 'and the rule does not have it');
ok(Headgate::wait_until(10, sub { text($east, 'wide') ne '' }), 'nor has another daemon');
is((rules('diff', file('wide.yaml', "{id: wide, $two, home: none}\n")))[0], 0, 'so there is no difference');
is((rules('apply', file('wide.yaml', "{id: wide, $two, home: none}\n")))[1], "0 rules changed, 1 as before\n",
   'and nothing to apply');

# ---- another rule ----

is($client->command(qw(RULE SET), "{id: once, $two}"), 'OK', 'a larger limit');
unlike(text($west, 'once'), qr/home/, 'has no home, as nobody says so');
is($client->command(qw(RULE SET), "{id: once, $two, home: by_key}"), 'OK', 'unless somebody does');
is($client->command(qw(RULE SET), "{id: once, $two}"), 'OK', 'who may take it away again');
unlike(text($west, 'once'), qr/home/, 'where shares do without');
like($client->command(qw(RULE SET), '{id: mixed, service: shop, by: ip, algorithm: fixed_window, limit: 1, window: 1h, '
                                    . 'overshoot: 0, tiers: {pro: 100}}'),
     qr{^ERR rule shop/mixed: under limit \(1\) .* or home: by_key$}, 'a rule that partly does without is refused');
like($client->command(qw(RULE SET), '{id: bucket, service: shop, by: ip, rate: 10/s, burst: 1, overshoot: 0}'),
     qr{^ERR rule shop/bucket: under rate .* a capacity or burst of 4, or algorithm: fixed_window, which a home helps$},
     'so is a bucket of 1 that no home helps, as it refills in no time');
like($client->command(qw(RULE SET), "{id: shadowed, $window, mode: shadow}"),
     qr{^OK, but rule shop/shadowed: under limit \(1\) .* at none of 3 daemons}, 'a shadow is taken as it is');
unlike(text($west, 'shadowed'), qr/home/, 'without a home');
like($client->command(qw(RULE SET), "{id: low, $window, priority_floor: {low: 50%}}"),
     qr{^ERR rule shop/low: under limit \(1\)}, 'nor can anybody ask at home with a floor of priorities');

done_testing;
