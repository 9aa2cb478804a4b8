#!/usr/bin/perl
# headgate rules lint: which rules will surprise, and that nothing is said of those that will not.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use Test::More;

my $scratch = Headgate::scratch();
$ENV{HEADGATE_AT} = '127.0.0.1:1'; # where nobody listens

sub linted {
    my ($rules, @options) = @_;
    my $file = Headgate::write_file("$scratch/rules.yaml", "rules: [$rules]\n");
    my ($status, $out, $err) = Headgate::run(20, Headgate::headgate(), 'rules', 'lint', $file, @options);
    return "$status $out$err";
}

like(linted('{id: a, rate: 5/m}'),
     qr{^1 default/a: up to 10 may be admitted at the worst moment, where the limit is 5: with overshoot: 2 up to 7\n},
     'a small limit with the default');
my ($better) = linted('{id: a, rate: 5/m}') =~ /with overshoot: (\d)/;
is(linted("{id: a, rate: 5/m, overshoot: $better}"), "0 1 rule, 0 warnings for 3 daemons of even shares\n",
   'not with what it says');
like(linted('{id: a, rate: 1000/m, overshoot: 300%}'),
     qr/^1 default\/a: up to 4000 .* with overshoot: 100 up to 1100\n/, 'an overshoot beyond the limit');
like(linted('{id: a, rate: 10/s, burst: 1, overshoot: 0}'), qr/^1 default\/a: .* at none of 3 daemons/,
     'one that admits nothing');
my $window = 'id: a, algorithm: fixed_window, limit: 1, window: 1m, overshoot: 0';
like(linted("{$window}"), qr{^1 default/a: rule default/a: home is by_key, .*\n.* the home of its key is refused},
     'one that gets a home, and should be patient');
like(linted("{$window, home: none}"), qr/^1 default\/a: .* at none of 3 daemons.* or home: by_key\n1 rule, 1 warning/,
     'one that does not want it');
my $calls = 'service: crm, by: org, algorithm: quota';
my $sheet = "{id: calls.x, $calls, overrides_of: calls, overrides: [{for: acme, amount: %d/day}]}";
my $base = "{id: calls, $calls, limit: 1, window: day, overshoot: 0, patience: 1s}";
like(linted(join ", ", $base, sprintf $sheet, 1), qr{^1 crm/calls: rule crm/calls: home is by_key.*\n2 rules, 1 w},
     'overrides that need a home as well have that of their rule');
like(linted(join ", ", $base, sprintf $sheet, 90), qr{^1 crm/calls: .* at none of 3 daemons},
     'others leave the rule without');
like(linted('{id: a, rate: 5/m, overshoot: 0}'), qr/^1 default\/a: each of 3 daemons may admit 1 of the 5 at once/,
     'not one that daemons admit together');
like(linted('{id: a, rate: 5/m, sync: budget}'),
     qr/^1 default\/a: each of 3 daemons may admit 1 of the 5, and no more/, 'parts that are small');
like(linted('{id: a, rate: 5/m, sync: central}'),
     qr/^1 default\/a: each of 3 daemons may admit 1 of the 5 while the central store is down\n/, 'as without a store');
like(linted('{id: a, rate: 20/m, overshoot: 2, weights: {us-east: 0.95, eu-west: 0.05}}'),
     qr/^1 default\/a: a daemon alone in a region of weight 0\.05 may admit 1 of the 20 at once/,
     'a part that is small by weights of the rule');
like(linted('{id: a, algorithm: sliding_log, limit: 500, window: 1m, weights: {us-east: 0.5, eu-west: 0.5}}'),
     qr/^1 default\/a: .* at 2 of 3 daemons only, in regions with a weight/, 'a region that has nothing to ask for');
like(linted('{id: a, rate: 5000/m, tiers: {free: 10/m}}'), qr{^1 default/a, tier free: up to 20 },
     'an amount of a tier');
like(linted('{id: a, rate: 50000/1d, overshoot: 10%, tiers: {free: 1/1d}}', '--daemons', 1),
     qr{^1 default/a, tier free: it refills so slowly that a key can owe no more than 13343 .* 55000: .*\n1 rule, 1 w},
     'tiers that are too far apart for what a bucket can owe');
is(linted('{id: a, rate: 5000/1d, overshoot: 10%, tiers: {free: 1/1d}}', '--daemons', 1),
   "0 1 rule, 0 warnings for 1 daemon of even shares\n", 'not nearer ones');
is(linted($_), "0 1 rule, 0 warnings for 3 daemons of even shares\n", "nothing about $_")
    for '{id: a, rate: 1000/m}', '{id: a, rate: 20/m, overshoot: 10%}', '{id: a, rate: 5/m, mode: shadow}',
        '{id: a, rate: unlimited}', '{id: a, rate: 5/m, sync: central, when_down: closed}';
is(linted('{id: a, rate: 1/m, overshoot: 0}', '--daemons', 1), "0 1 rule, 0 warnings for 1 daemon of even shares\n",
   'one daemon has all');
is(linted('{id: a, rate: 5/m}, {id: b, rate: 1000/m, overshoot: 300%, tiers: {free: 3/m}}', '--daemons', 1),
   "0 2 rules, 0 warnings for 1 daemon of even shares\n", 'and admits nothing beyond a limit');
my $override = 'overrides: [{for: acme, amount: 3/m, until: %s}]';
like(linted(sprintf "{id: a, rate: 1000/m, $override}", '2999-01-01'), qr{^1 default/a, override of acme: up to 6 },
     'an override');
is(linted(sprintf "{id: a, rate: 1000/m, $override}", '2020-01-01'),
   "0 1 rule, 0 warnings for 3 daemons of even shares\n", 'not one that has ended');
# Overrides by thousands: some are told, by the rule that they are of, and the others counted.
Headgate::write_file("$scratch/many.csv", join '', map { "c$_," . (20 + $_ % 50) . "/m\n" } 1 .. 1000);
my @said = split /\n/, linted('{id: a, by: org, rate: 1000/m, endpoint: /v1//a, overrides_file: many.csv}');
is(scalar @said, 8, 'a file of overrides has few warnings') or diag(join "\n", @said);
like($said[0], qr{^1 default/a: endpoint begins}, 'what is wrong with the rule is said once');
is(scalar(grep { m{^default/a, override of c\d+: } } @said), 5, 'some of the overrides are named');
like($said[6], qr{^default/a: 995 more of its overrides may surprise likewise$}, 'and the others counted');
like(linted('{id: a, rate: 1/m}', '--daemons', 0), qr/^64 .*--daemons is "0": expected a number from 1 to 64/, 'none');
like(linted('{id: a, rate: x}'), qr/^65 headgate rules lint: .*rate is 'x'/, 'a mistake');
like(linted("{id: a, rate: 1000/m, endpoint: '$_->[0]'}"),
     qr{^1 default/a: endpoint begins with \Q$_->[0]\E: a path .*: expected \Q$_->[1]\E\n}, "an endpoint $_->[0]")
    for ['/v1//orders', '/v1/orders'], ['/caf%c3%a9', '/caf%C3%A9'], ['/v1?x', '/v1'], ['/a b', '/a%20b'];
like(linted("{id: a, rate: 1000/m, by: [user, $_]}"),
     qr{^1 default/a: by names $_, which is no identifier in a request}, "a dimension $_") for qw(endpoint tier);
like(linted("{id: a, rate: 1000/m, endpoint: '/v1//or*'}"), qr{begins with /v1//: .*expected /v1/\n}, 'and a prefix');
is(linted("{id: a, rate: 1000/m, endpoint: '$_'}"), "0 1 rule, 0 warnings for 3 daemons of even shares\n",
   "nothing about $_") for '/v1/orders', '/v1/*', '/v1/.*', '/%*', '*', 'orders//x', '/caf%C3%A9';
my $told = decode_json((linted('{id: a, rate: 5/m}', '--json') =~ /^1 (.*)/)[0]);
is("$told->{rules} $told->{daemons} $told->{warnings}[0]{rule}", '1 3 a', 'for programs');
done_testing;
