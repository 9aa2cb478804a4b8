# headgate rules: what it changes at three daemons, what it prints, and how it exits.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use Test::More;

$Headgate::leaks_of_headgate = 1;

my $cluster = Headgate::cluster(
    interval => '50ms',
    limits => [{name => 'default', capacity => 100, rate => '1/m', default => 'true'}]
);
$cluster->start;
$cluster->wait_met or die 'the daemons did not meet';
my ($one, $two, $three) = $cluster->daemons;
my $scratch = Headgate::scratch();

# (status, stdout, stderr) of headgate rules, asked of a daemon.
sub rules_at {
    my ($daemon, @words) = @_;
    local $ENV{HEADGATE_AT} = "127.0.0.1:$daemon->{ports}{clients}";
    return Headgate::run(20, Headgate::headgate(), 'rules', @words);
}
sub rules { return rules_at($one, @_) }

sub json {
    my ($status, $out, $err) = rules_at(@_, '--json');
    my $value = eval { decode_json($out) };
    diag("@_[1 .. $#_]: $@$out$err") if !$value;
    return $value;
}

sub file {
    my ($name, $text) = @_;
    return Headgate::write_file("$scratch/$name", $text);
}

# A rule's text at a daemon becomes that, soon.
sub becomes {
    my ($daemon, $name, $text) = @_;
    my $last = '';
    my $ok = Headgate::wait_until(10, sub {
        my ($status, $out) = rules_at($daemon, 'get', $name);
        $last = $out;
        return $status == 0 && $out eq $text;
    });
    diag("last: $last") if !$ok;
    return $ok;
}

my $shop = file('shop.yaml', <<'END');
# per user
rules:
  - {id: per-user, service: shop, rate: 100/m}
  - id: logins
    by: [user, ip]
    algorithm: fixed_window
    limit: 10
    window: 15m
END
my $per_user = "id: per-user\nservice: shop\nalgorithm: token_bucket\nrate: 100/m\n";
my $logins = "id: logins\nby: [ip, user]\nalgorithm: fixed_window\nlimit: 10\nwindow: 15m\n";

# ---- apply, get, diff ----
my ($status, $out, $err) = rules('diff', $shop);
is($status, 1, 'diff: 1, these rules are new');
like($out, qr{^--- shop/per-user is new\n\+\+\+ shop/per-user\n\+id: per-user\n\+service: shop\n},
     'and all their lines');
($status, $out, $err) = rules('apply', $shop, '--note', 'a first try');
is($status, 0, 'apply') or diag($err);
is($out, "2 rules changed, 0 as before\n", 'and what it did');
is((rules('get', 'shop/per-user'))[1], $per_user, 'get: the canonical text');
is((rules('get', 'logins'))[1], $logins, 'a name alone is of the service default');
ok(becomes($_, 'shop/per-user', $per_user), "$_->{name} has it, too") for $two, $three;
ok(becomes($_, 'default/logins', $logins), "$_->{name} has the other") for $two, $three;
is((rules_at($two, 'apply', $shop))[1], "0 rules changed, 2 as before\n", 'applied again elsewhere: nothing to do');
is((rules_at($two, 'diff', $shop))[0], 0, 'diff: nothing differs');
is((rules('get', 'shop/nothing'))[0], 65, 'get of what there is not: 65');
my $changed = file('changed.yaml', $per_user =~ s/100/200/r . "burst: 300\n");
($status, $out) = rules('diff', $changed);
is($out, "--- shop/per-user in force\n+++ shop/per-user\n id: per-user\n service: shop\n algorithm: token_bucket\n"
         . "-rate: 100/m\n+rate: 200/m\n+burst: 300\n", 'diff, line by line');
is(json($one, 'diff', $changed)->[0]{old}, $per_user, 'diff for programs');
is(json($one, 'get', 'shop/per-user')->{text}, $per_user, 'get for programs');

# ---- mistakes ----
($status, $out, $err) = rules('apply', file('wrong.yaml', "- {id: a, rate: 1/s}\n- {id: b, rate: 5}\n"));
is($status, 65, 'a mistake: 65');
is($err, "headgate rules apply: $scratch/wrong.yaml:2: rule b: rate is '5': expected a rate such as 100/m, or "
         . "unlimited\n", 'file, line, rule, field, value, what was expected');
is((rules('get', 'a'))[0], 65, 'and nothing of it was applied');
($status, $out, $err) = rules('apply', "$scratch/nowhere.yaml");
is($status, 66, 'no file: 66');
is((rules('apply'))[0], 64, 'no word: 64');
is((rules('list', '--canary', '10%'))[0], 64, 'an option of another action: 64');
is((rules('improve'))[0], 64, 'an unknown action: 64');
($status, $out, $err) = rules('apply', $changed, '--canary', 'some');
is($status, 65, 'what the daemon refuses: 65');
like($err, qr/some/, 'and it says why');

# ---- list, history, rollback, delete ----
($status, $out) = rules('list');
like($out, qr/^RULE +ENDPOINT +BY +ALGORITHM +MODE +ALLOWED +DENIED +SHADOW DENIED +OVER LIMIT\n/, 'list: a title');
like($out, qr/^default\/logins +\* +ip,user +fixed_window +enforce +0 +0 +0 +0\nshop\/per-user +\* +user /m,
     'rules in order');
unlike((rules('list', 'shop'))[1], qr/logins/, 'of one service');
is(scalar @{json($three, 'list')}, 2, 'list for programs');
is((rules_at($three, 'apply', $changed))[1], "1 rule changed, 0 as before\n", 'another version, made elsewhere');
ok(becomes($one, 'shop/per-user', $per_user =~ s/100/200/r . "burst: 300\n"), 'is in force here');
($status, $out) = rules('history', 'shop/per-user');
like($out, qr/^RULE +VERSION +WHEN +BY +STATE +NOTE\n/, 'history: a title');
like($out, qr/^shop\/per-user +1 +\d{4}-\d\d-\d\d\S* +ap-south +in force *\n/m, 'the newest first, and who made it');
like($out, qr/^shop\/per-user +2 +\S+ +us-east +over +a first try\n/m, 'the one before, and why');
like((rules('history', 'shop/per-user', '--text'))[1], qr/version 2\n\Q$per_user\E/, 'with their texts');
is(scalar @{json($two, 'history')}, 3, 'all that was ever changed');
($status, $out, $err) = rules_at($two, 'rollback', 'shop/per-user');
is($out, "shop/per-user: what was version 2 is the newest now, version 1 of its history\n", 'rollback') or diag($err);
ok(becomes($_, 'shop/per-user', $per_user), "$_->{name} has the first version again") for $one, $three;
is(json($one, 'history', 'shop/per-user')->[0]{version}, 1, 'a rollback is a version of its own');
is((rules('rollback', 'shop/per-user', '--to', '2'))[0], 0, 'to a version by its number');
is((rules('rollback', 'shop/per-user', '--to', '77'))[0], 65, 'that there is');
is((rules('delete', 'logins'))[1], "default/logins: deleted\n", 'delete');
ok(Headgate::wait_until(10, sub { (rules_at($two, 'get', 'logins'))[0] == 65 }), 'it is gone elsewhere');
is((rules('delete', 'logins'))[0], 65, 'a second time there is nothing to delete');
like((rules('history', 'logins'))[1], qr/ deleted/, 'its history remains');
is_deeply([rules('history', 'shop')],
          [65, '', "headgate rules history: there was never a rule shop in service default\n"],
          'a rule that never was has none');
is((rules('rollback', 'logins', '--to', '2'))[0], 0, 'from where it comes back');
ok(becomes($three, 'logins', $logins), 'everywhere');

# ---- asking under them ----
sub headgate {
    local $ENV{HEADGATE_AT} = "127.0.0.1:$one->{ports}{clients}";
    return Headgate::run(20, Headgate::headgate(), @_);
}
rules('apply', file('asked.yaml', <<'END'));
- {id: pair, service: asked, endpoint: /a/*, by: [ip, user], rate: 900/h, tiers: {gold: 9000/h}}
- {id: free, service: asked, endpoint: /free, rate: unlimited, deny: [mallory]}
END
like((headgate(qw(check ip=1 alice --service asked --endpoint /a/b)))[1],
     qr/^allowed  ip=1 alice under pair: \d+ of 900 left/, 'check: several ids, service, endpoint');
like((headgate(qw(peek ip=1 alice --service asked --endpoint /a/b --tier gold --priority high)))[1],
     qr/^allowed  ip=1 alice under pair: \d+ of 9000 left/, 'peek: tier, priority');
like((headgate(qw(check alice --service asked --endpoint /free)))[1], qr/^allowed  alice: nothing limits it$/,
     'nothing limits it');
($status, $out) = headgate(qw(check mallory --service asked --endpoint /free));
is($status, 1, 'a deny list refuses');
is($out, "refused  mallory under free: by its deny list, or a limit of 0\n", 'and is told');
like((headgate(qw(explain ip=1 alice --service asked --endpoint /a/b)))[1], qr/rule pair of asked/, 'explain');
is((headgate(qw(check alice --service asked --priority urgent)))[0], 65, 'an unknown priority');

# ---- many ----
my $form = "- {id: r%04d, service: many, endpoint: /%d, rate: %d/m}\n";
my $many = file('many.yaml', join '', map { sprintf $form, $_, $_, $_ + 9 } 1 .. 900);
($status, $out, $err) = rules('apply', $many, '--timeout', '15s');
is($out, "900 rules changed, 0 as before\n", 'more than one request holds: sent in pieces') or diag($err);
is(scalar @{json($one, 'list', 'many')}, 900, 'and more than one answer holds: asked for in pieces');
ok(Headgate::wait_until(15, sub { 900 == @{json($three, 'list', 'many')} }), 'the others have them all');
is((rules('get', 'many/r0900'))[1],
   "id: r0900\nservice: many\nendpoint: /900\nalgorithm: token_bucket\nrate: 909/m\n", 'the last one');

# ---- canaries ----
my $text = "id: tried\nservice: api\nalgorithm: token_bucket\nrate: 1000000/s\n";
rules('apply', file('tried.yaml', $text));
my $better = file('better.yaml', $text =~ s/1000000/2000000/r);
($status, $out, $err) = rules('apply', $better, '--canary', '10%', '--watch', '1s');
is($out, "1 rule changed, 0 as before; on trial for 10% of the keys, watched for 1s\n", 'a canary') or diag($err);
ok(Headgate::wait_until(15, sub { (rules('history', 'api/tried'))[1] =~ /^\S+ +1 .* in force +became general$/m }),
   'after its watch it becomes general');
my $worse = file('worse.yaml', $text =~ s{1000000/s}{1/h\novershoot: 3}r);
rules('apply', $worse, '--canary', '50%', '--watch', '10m', '--threshold', '5%');
like((rules('list', 'api'))[1], qr/canary 50%/, 'list says that there is one');
is_deeply([rules('diff', $worse)], [1, "--- api/tried on trial for 50% of the keys\n+++ api/tried for all keys\n", ''],
          'diff says that to apply the same would end the trial');
is_deeply(JSON::PP::decode_json((rules('diff', $worse, '--json'))[1])->[0]{trial_percent}, 50, '--json as well');
like((rules('export', 'api'))[2], qr{rule api/tried is on trial for 50% of the keys: this is the version on trial},
     'and so does export');
like((rules('get', 'api/tried'))[1], qr{^rate: 1/h$}m, 'get prints the version on trial');
my $client = $two->client;
ok(Headgate::wait_until(20, sub {
    $client->pipeline(map { ['CHECK', "user=u" . ($_ % 50), 'SERVICE', 'api'] } 1 .. 500);
    return (rules('history', 'api/tried'))[1] =~ /^\S+ +1 .* in force +rolled back: /m;
}), 'one that denies too often is rolled back');
ok(becomes($_, 'api/tried', $text =~ s/1000000/2000000/r), "$_->{name} is back") for $one, $two, $three;

# ---- rules that are too small for three regions ----

my $window = qr/, or algorithm: fixed_window, which a home helps/;
my $advice = qr/since each uses its share of the limit: expected overshoot: \d, or a capacity or burst of \d$window$/;
my $small = 'id: small, service: few, rate: 10/s, burst: 1, overshoot: 0';
($status, $out, $err) = rules('apply', file('small.yaml', "- {$small}\n"));
isnt($status, 0, 'apply of a rule that would admit nothing anywhere');
like($err, qr{rule few/small: under rate \(10/s burst 1\) .* at none of 3 daemons, $advice},
     '... is refused, with what to write instead');
my $once = "{id: once, service: few, by: user, algorithm: fixed_window, limit: 1, window: 1h, overshoot: 0}";
($status, $out, $err) = rules('apply', file('once.yaml', "- " . ($once =~ s/\}/, home: none}/r) . "\n"));
is($status, 65, 'also one that would do with a home and does not want it');
like($err, qr/none of 3 daemons, since .*: expected overshoot: 1, or a limit of 2, or home: by_key$/,
     'where a home of each key would do, the sentence says so');
($status, $out, $err) = rules('apply', file('once.yaml', "- " . ($once =~ s/\}/, home: by_key}/r) . "\n"));
is("$status $out$err", "0 1 rule changed, 0 as before\n", 'and it does');
my $shadow = file('small.yaml', "- {$small, mode: shadow}\n");
($status, $out, $err) = rules('apply', $shadow);
is("$status $out", "0 1 rule changed, 0 as before\n", 'apply of a shadow rule that admits nothing');
like($err, qr/\Aheadgate rules apply: rule few\/small: under rate .* at none of 3 daemons, $advice/, '... warns of it');

# ---- as code: export, diff and apply --prune ----
my $whole = file('whole.yaml', join '', map { "- {id: $_, service: code, endpoint: /$_, rate: 100/s}\n" } qw(a b c));
is((rules('apply', $whole))[0], 0, 'three rules of a service');
($status, my $exported) = rules('export', 'code');
like($exported, qr{\Arules:\n  - id: a\n    service: code\n    endpoint: /a\n}, 'export: a file');
my $file = file('exported.yaml', $exported);
is((rules('apply', $file))[1], "0 rules changed, 3 as before\n", 'which apply takes back, and nothing changes');
is((rules('diff', $file, '--prune'))[0], 0, 'diff --prune: nothing is missing there');
like((rules('export'))[1], qr/service: code.*service: shop/s, 'export of all services');
is(scalar @{json($one, 'export', 'code')}, 3, 'export for programs');
is_deeply([rules('export', 'cede')],
          [0, "rules: []\n", "headgate rules export: no rule of service 'cede' is in force: the list is empty\n"],
          'export of a service without rules, or of a mistyped one, says so');
my $less = file('less.yaml', "- {id: b, service: code, endpoint: /b, rate: 100/s}\n"
                             . "- {id: d, service: code, rate: 200/s}\n");
($status, $out) = rules('diff', $less, '--prune');
is($status, 1, 'diff --prune: the plan');
is(join(' ', $out =~ /^--- (\S+ .*)$/mg), 'code/d is new code/a in force code/c in force', 'names what would change');
is(join(' ', $out =~ /^\+\+\+ (\S+) is removed$/mg), 'code/a code/c', 'and what would end');
is(json($one, 'diff', $less, '--prune')->[1]{new}, undef, 'for programs as well');
is((rules('apply', $less))[1], "1 rule changed, 1 as before\n", 'apply leaves the others');
is((rules('apply', $less, '--prune'))[1], "0 rules changed, 2 removed, 2 as before\n", 'apply --prune does not');
is((rules('apply', $less, '--prune'))[1], "0 rules changed, 0 removed, 2 as before\n",
   'and then there is nothing to do');
is(json($one, 'apply', $less, '--prune')->{removed}, 0, 'apply for programs');
isnt((rules('get', 'shop/per-user'))[1], '', 'another service stays');
is((rules('apply', $less, '--prune', '--canary', '10%'))[0], 65, 'a trial removes nothing: 65');

# ---- rules that replace others ----
is((rules('apply', file('pair.yaml', "- {id: narrow, service: pair, by: user, rate: 100/s}\n"
                                    . "- {id: wide, service: pair, by: org, rate: 900/s, replaces: [narrow]}\n")))[0],
   0, 'a rule that replaces another');
like((headgate(qw(check user=u org=o --service pair)))[1], qr/under wide: \d+ of 900/, 'takes its place');
($status, $out, $err) = rules('delete', 'pair/narrow');
is($status, 65, 'a rule that another one names does not end');
like($err, qr{rule pair/wide replaces narrow, which is no rule of the service}, 'and is told why');
($status, $out, $err) = rules('apply', file('circle.yaml',
                                            "{id: narrow, service: pair, by: user, rate: 100/s, replaces: [wide]}\n"));
like("$status $err", qr{^65 .*which leads back to it: expected no circle}, 'nor does it name that one');

# ---- thousands of overrides ----
my @customers = map { "c$_," . ($_ % 90 + 100) . "/m" } 1 .. 5000;
sub customers { return file('customers.csv', join '', map { "$_\n" } 'for,amount', @_) }
customers(@customers);
my $calls = file('calls.yaml', "{id: calls, service: crm, by: org, rate: 60/m, overrides_file: customers.csv}\n");
($status, $out, $err) = rules('diff', $calls);
is($status, 1, 'diff reads the file of overrides');
($status, $out, $err) = rules('apply', $calls, '--timeout', '15s');
is($out, "65 rules changed, 0 as before\n", '5,000 overrides in 64 sheets') or diag($err);
is((rules('apply', $calls))[1], "0 rules changed, 65 as before\n", 'a second time nothing changes');
sub amount_at {
    my ($daemon, $who, $expected) = @_;
    my $client = $daemon->client;
    my $ask = sub { $client->command('CHECK', "org=$who", 'SERVICE', 'crm')->[1] // 0 };
    return Headgate::wait_until(10, sub { $ask->() == $expected });
}
ok(amount_at($three, 'c4999', 4999 % 90 + 100), 'another daemon knows the amount of each');
ok(amount_at($three, 'c1', 101) && amount_at($three, 'else', 60), 'and of who has none');
($status, $exported) = rules('export', 'crm');
is((rules('apply', file('exported.yaml', $exported)))[1], "0 rules changed, 65 as before\n", 'export gives them back');
customers(map { s/^c17,.*/c17,0/r } @customers);
is((rules('apply', $calls))[1], "1 rule changed, 64 as before\n", 'another amount of one is a version of one sheet');
ok(amount_at($two, 'c17', 0), 'everywhere');
customers('c1,101/m', 'c2,7/m');
($status, $out, $err) = rules('apply', $calls);
is("$status $out", '65 ', 'a file that was cut is refused');
like($err, qr{^headgate rules apply: 4998 of the 5000 overrides of rule crm/calls would end, which is more than half },
     'with a sentence');
ok(amount_at($two, 'c3', 103), 'and the overrides stay');
like((rules('apply', $calls, '--prune'))[2], qr{: 4998 of the 5000 overrides of rule crm/calls would end},
     'also where sheets would be removed');
like((rules('apply', $calls, '--end-overrides'))[1], qr/^\d+ rules changed, \d+ as before$/, 'unless it is meant');
ok(amount_at($two, 'c2', 7) && amount_at($two, 'c3', 60) && amount_at($two, 'c4999', 60), 'ends what it does not say');
my ($got) = (rules('get', 'crm/calls'))[1] =~ s/rate: 60/rate: 61/r;
($status, $out, $err) = rules('diff', file('got.yaml', $got));
unlike($out, qr/overrides/, 'a rule without its file: diff finds no overrides that would end');
($status, $out, $err) = rules('apply', file('got.yaml', $got));
is($out, "1 rule changed, 0 as before\n", 'what get prints changes that rule alone');
like($err, qr{rule crm/calls has no overrides_file here: its overrides in calls\.overrides-00 and so on stay as they},
     'and the command says so');
ok(amount_at($two, 'c2', 7) && amount_at($two, 'else', 61), 'overrides stay');
customers();
like((rules('apply', $calls))[2], qr{: 2 of the 2 overrides of rule crm/calls would end}, 'an empty file is refused');
ok((rules('apply', $calls, '--end-overrides'))[0] == 0 && amount_at($two, 'c2', 60), 'or ends them, if it is meant');
customers('c1,101/m,2020-01-31', 'c2,7/m', 'c3,8/m,2020-01-31', 'c4,8/m');
my $ended = 'rule crm/calls.overrides-00: 2 overrides have ended, that for org=c1 at 2020-01-31: they have no effect';
is((rules('check', $calls))[2], "headgate rules check: warning: $ended\n", 'check says which overrides have ended');
($status, $out, $err) = rules('apply', $calls);
is("$status $err", "0 headgate rules apply: $ended\n", 'and so does apply');
is((rules('apply', $calls))[2], '', 'once');
customers('c4,8/m');
is((rules('apply', $calls))[0], 0, 'those that have ended do not count among those that would end');
customers();
is((rules('apply', $calls, '--end-overrides'))[0], 0, 'the last one ends');
is((rules('apply', file('got.yaml', $got)))[2], '', 'and then nothing is said of them');
my $beside = file('beside.yaml', "{id: beside, service: crm, by: org, rate: 60/m}\n");
like((rules('delete', 'crm/calls'))[2], qr{overrides-00 has overrides of calls}, 'a rule with sheets stays');
like((rules('apply', $beside, '--prune'))[1], qr/^1 rule changed, \d\d removed, 0 as before$/, 'and goes with them');
is((rules('apply', $calls))[0], 0, 'it comes back');
customers('c1,101/m', 'c2,7/fortnight');
($status, $out, $err) = rules('apply', $calls);
like("$status $err", qr{^65 .*/customers\.csv:3: rule crm/calls: overrides\[0\]\.amount is '7/fortnight': expected },
     'a mistake is told with its line');
customers('c1,101/m', 'c1,7/m');
like((rules('check', $calls))[2], qr{/customers\.csv:3: c1 stands in line 2 already}, 'and so is who is there twice');
customers((map { "d$_,1/s" } 1 .. 400), 'org=d7,2/s');
like((rules('check', $calls))[2], qr{/customers\.csv:402: d7 stands in line 8 already}, 'also in two sheets');
file('customers.csv', "\xef\xbb\xbffor,amount\r\nc1,7/m\r\n");
is((rules('check', $calls))[0], 0, 'a mark of UTF-8, and lines as spreadsheets end them');
customers(map { "c$_,1/s" } 1 .. 10001);
like((rules('lint', $calls))[2], qr{customers\.csv:10002: one override too many: expected at most 10000},
     'and one too many');
like($one->client->command('RULE', 'SET', Headgate::read_file($calls)), qr/overrides_file is read by `headgate rules`/,
     'a daemon reads no files');

ok($cluster->stop, 'all end well');
done_testing();
