#!/usr/bin/perl
# headgate rules test: cases in a file, answered on simulated time without a daemon, as a daemon answers them.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use Test::More;

my $scratch = Headgate::scratch();
$ENV{HEADGATE_AT} = '127.0.0.1:1'; # where nobody listens

sub file { my ($name, $text) = @_; return Headgate::write_file("$scratch/$name", $text) }
sub tested { return Headgate::run(20, Headgate::headgate(), 'rules', 'test', @_) }

file('shop.yaml', <<'RULES');
rules:
  - {id: per-user, service: shop, by: user, rate: 100/m, burst: 20, deny: [eve], tiers: {pro: unlimited}}
  - {id: day, service: shop, endpoint: /day, by: user, algorithm: quota, limit: 3, window: day}
  - {id: soft, service: shop, endpoint: /soft, by: user, rate: 1/m, burst: 1, mode: soft}
RULES
file('jobs.yaml', "{id: jobs, service: jobs, by: [], algorithm: fixed_window, limit: 1, window: 1m}\n");

my $right = <<'CASES';
rules: [shop.yaml, jobs.yaml]
cases:
  - name: a burst, and then the rate
    steps:
      - {ask: user=ann SERVICE shop COST 20, expect: allowed, rule: per-user, remaining: 0}
      - {ask: user=ann SERVICE shop, expect: refused, rule: per-user, retry_after: 600ms}
      - {ask: user=bob SERVICE shop, expect: allowed, remaining: 19}
      - {wait: 599ms}
      - {ask: user=ann SERVICE shop, expect: refused}
      - {wait: 1ms}
      - {ask: user=ann SERVICE shop, expect: allowed}
  - name: each case begins anew
    steps:
      - {ask: user=ann SERVICE shop, times: 20, expect: allowed, remaining: 0}
      - {ask: user=ann SERVICE shop TIER pro, times: 1000, expect: allowed}
      - {ask: user=eve SERVICE shop, expect: refused, retry_after: never}
  - name: three a day, of a calendar
    steps:
      - {ask: user=ann SERVICE shop ENDPOINT /day, times: 3, expect: allowed, rule: day, remaining: 0}
      - {ask: user=ann SERVICE shop ENDPOINT /day, expect: refused, retry_after: 1d}
      - {wait: 23h}
      - {ask: user=ann SERVICE shop ENDPOINT /day, expect: refused, retry_after: 1h}
      - {wait: 1h}
      - {ask: user=ann SERVICE shop ENDPOINT /day, expect: allowed}
  - name: soft, and another file
    steps:
      - {ask: user=ann SERVICE shop ENDPOINT /soft, expect: allowed}
      - {ask: user=ann SERVICE shop ENDPOINT /soft, expect: over, rule: soft}
      - {ask: who=cron SERVICE jobs, expect: allowed}
      - {ask: who=cron SERVICE jobs, expect: refused, retry_after: 1m}
CASES

# ---- right, and wrong ----

my ($status, $out, $err) = tested(file('right.yaml', $right));
is("$status $out$err", "0 4 cases, 0 wrong\n", 'right cases: 0');
my $wrong = file('wrong.yaml', $right =~ s/retry_after: 1h/retry_after: 2h/r =~ s/times: 20/times: 21/r
                                      =~ s/expect: over, rule: soft/expect: allowed, rule: soft/r);
($status, $out, $err) = tested($wrong);
is($status, 1, 'wrong ones: 1');
my @says = split /\n/, $out;
is(shift @says, "$wrong:14: each case begins anew: user=ann SERVICE shop (time 21): expected allowed, remaining 0; "
   . 'got refused, rule per-user, remaining 0 of 20, retry_after 600ms', 'a sentence for each');
is(shift @says, "$wrong:22: three a day, of a calendar: user=ann SERVICE shop ENDPOINT /day: expected refused, "
   . 'retry_after 2h; got refused, rule day, remaining 0 of 3, retry_after 3600000ms', 'with the figures');
is(shift @says, "$wrong:28: soft, and another file: user=ann SERVICE shop ENDPOINT /soft: expected allowed, rule soft; "
   . 'got over, rule soft, remaining 0 of 1', 'and what is soft');
is("@says", '4 cases, 3 wrong', 'and no more');
($status, $out) = tested($wrong, "$scratch/right.yaml", '--json');
my $told = decode_json($out);
is("$status $told->{cases} " . join(' ', map { $_->{line} } @{$told->{wrong}}), '1 8 14 22 28', 'for programs');
is($told->{wrong}[0]{case}, 'each case begins anew', 'by name');

# What is drained is told, and may be expected.
my ($drained, $tells) = tested(file('drained.test.yaml', <<'CASES'));
rules: shop.yaml
cases:
  - name: what is left
    steps:
      - {ask: user=ann SERVICE shop COST 15 DRAIN, expect: allowed, rule: per-user, remaining: 5, taken: 15}
      - {ask: user=ann SERVICE shop COST 30 DRAIN, expect: allowed, remaining: 0, taken: 5}
      - {ask: user=ann SERVICE shop COST 30 DRAIN, expect: refused, retry_after: 600ms, taken: 0}
      - {ask: user=ann SERVICE shop TIER pro COST 30 DRAIN, expect: allowed, taken: 30}
  - name: wrong
    steps:
      - {ask: user=ann SERVICE shop COST 30 DRAIN, expect: allowed, taken: 30}
CASES
is($drained, 1, 'DRAIN');
like($tells, qr/^\S+:11: wrong: .*: expected allowed, taken 30; got allowed, rule per-user, .* of 20, taken 20$/m,
     'with what it took');

# ---- mistakes ----

my @mistakes = (
    ['cases: []', qr/:1: expected rules, files beside this one, and a list of cases$/],
    ["rules: none.yaml\ncases: [{name: a, steps: []}]", qr/none\.yaml/],
    ["rules: shop.yaml\ncases: [{steps: []}]", qr/:2: expected a case: its name, and a list of steps$/],
    ['{ask: user=a}', qr/:4: expected ask and expect in a step, or wait alone$/],
    ['{ask: user=a, expect: fine}', qr/:4: expect is 'fine': expected allowed, refused or over$/],
    ['{ask: user=a, expect: allowed, retry_after: 1s}', qr/:4: retry_after is of refusals: /],
    ['{ask: user=a, expects: allowed}', qr/:4: 'expects' is not known here: expected ask, expect, /],
    ['{ask: user=a, expect: allowed, times: 0}', qr/:4: times is '0': expected a whole number from 1 to 100000$/],
    ['{wait: soon}', qr/:4: wait is 'soon': expected a duration /],
    ['{ask: user=a SERVICE shopp, expect: allowed}', qr/:4: ask is 'user=a SERVICE shopp': unknown service 'shopp'/],
    ['{ask: user=a COST a=1 DRAIN, expect: allowed}', qr/: DRAIN with COST name=n: expected a plain COST/],
    ['{ask: user=a COST x, expect: allowed}', qr/:4: ask is 'user=a COST x': /],
);
for (@mistakes) {
    my ($text, $says) = @$_;
    my $cases = $text =~ /^\{/ ? "rules: shop.yaml\ncases:\n- name: a\n  steps: [$text]\n" : "$text\n";
    ($status, $out, $err) = tested(file('mistaken.yaml', $cases));
    like($err, $says, $text =~ s/\n.*//sr);
    ok($status == 65 || $status == 66, 'and no case is right') or diag($status);
}
is((tested("$scratch/nowhere.yaml"))[0], 66, 'a file that is not there: 66');
for my $files (["$scratch/nowhere.yaml"], [$wrong, "$scratch/nowhere.yaml"]) {
    ($status, $out, $err) = tested(@$files, '--json');
    is("$status $out", '66 ', 'with --json nothing stands beside the sentence');
    like($err, qr/^headgate rules test: \S+nowhere\.yaml cannot be read: No such file or directory\n\z/, 'but it');
}
is((tested())[0], 64, 'no file: 64');

# ---- as a daemon answers ----

my $cluster = Headgate::cluster(regions => ['here']);
my $daemon = $cluster->daemon('here')->start;
my $client = $daemon->client;
ok(Headgate::wait_until(20, sub { ($client->command('CAN_ACCESS', 'early') // 0) == 1 }), 'a daemon decides');
is($client->command('RULE', 'SET', Headgate::read_file("$scratch/shop.yaml")), 'OK', 'and has the rules');
my @asked = ('user=zoe SERVICE shop COST 20', 'user=zoe SERVICE shop COST 21', 'user=eve SERVICE shop',
             'user=zoe SERVICE shop ENDPOINT /day', 'user=zoe SERVICE shop ENDPOINT /soft COST 2');
my @steps = map {
    my ($allowed, undef, $left, undef, undef, $rule) = @{$client->command('CHECK', split / /)};
    my $expected = /soft/ ? 'over' : $allowed ? 'allowed' : 'refused';
    "{ask: $_, expect: $expected, rule: $rule, remaining: $left}";
} @asked;
$steps[1] =~ s/, remaining: \d+//; # a moment later, on a clock that runs
my $same = file('same.yaml',
                join "\n", 'rules: shop.yaml', 'cases:', '- name: same', '  steps:', map { "  - $_" } @steps);
($status, $out, $err) = tested($same);
is("$status $out$err", "0 1 case, 0 wrong\n", 'what it says is what the cases say');
$cluster->stop;

# Regions and daemons that a rule names are not there; a daemon that is alone has what they would share.
my $placed = 'service: login, by: phone, algorithm: fixed_window, limit: 2, window: 1m, overshoot: 0';
for my $where ('home: us-east', 'home: eu/eu-1', 'home: by_key', 'home: none', 'weights: {us: 0.5, eu: 0.5}') {
    file('placed.yaml', "{id: codes, $placed, $where}\n");
    my ($status, $out) = tested(file('placed.test.yaml', <<'PLACED'));
rules: placed.yaml
cases:
  - name: two
    steps:
      - {ask: phone=1 SERVICE login, times: 2, expect: allowed, rule: codes, remaining: 0}
      - {ask: phone=1 SERVICE login, expect: refused, retry_after: 60s}
PLACED
    is("$status $out", "0 1 case, 0 wrong\n", "a rule with $where");
}

# What a central store would decide is what a daemon that is alone decides.
file('bank.yaml', "{id: bank, service: bank, rate: 6/m, burst: 2, sync: central, when_down: closed}\n");
my ($central) = tested(file('bank.test.yaml', <<'CASES'));
rules: [bank.yaml]
cases:
  - name: central
    steps:
      - {ask: user=ann SERVICE bank, times: 2, expect: allowed, remaining: 0}
      - {ask: user=ann SERVICE bank, expect: refused, rule: bank, retry_after: 10s}
CASES
is($central, 0, 'sync: central');
# So are windows that begin with the first request.
file('codes.yaml', '{id: codes, service: codes, by: phone, algorithm: fixed_window, limit: 2, window: 10m, ' .
     "begins: first_request, sync: central}\n");
my ($begun, $said, $why) = tested(file('codes.test.yaml', <<'CASES'));
rules: [codes.yaml]
cases:
  - name: from the first request, and not by the clock
    steps:
      - {wait: 7m}
      - {ask: phone=1 SERVICE codes, expect: allowed, remaining: 1}
      - {wait: 9m}
      - {ask: phone=1 SERVICE codes, expect: allowed, remaining: 0}
      - {ask: phone=1 SERVICE codes, expect: refused, rule: codes, retry_after: 1m}
      - {wait: 1m}
      - {ask: phone=1 SERVICE codes, times: 2, expect: allowed, remaining: 0}
      - {ask: phone=1 SERVICE codes, expect: refused, retry_after: 10m}
CASES
is($begun, 0, 'begins: first_request') or diag($said, $why);
done_testing;
