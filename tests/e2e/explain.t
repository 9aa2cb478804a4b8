#!/usr/bin/perl
# EXPLAIN looks at every service's rules that count the same identifiers: a refusal anywhere is shown.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use Test::More;

my ($here) = Headgate::cluster(regions => ['here'])->start->daemons;
my $at = "127.0.0.1:$here->{ports}{clients}";
my $client = $here->client;

sub headgate { return Headgate::run(20, Headgate::headgate(), '--at', $at, @_) }
sub apply {
    my ($status, $out, $err) = headgate('rules', 'apply', Headgate::write_file(Headgate::scratch() . '/r.yaml', $_[0]));
    is($status, 0, 'rules are applied') or diag($err);
}
sub says { return (headgate('explain', @_))[1] }

apply(<<'END');
- {id: logins, service: shop, by: user, rate: 2/h}
- {id: checkout, service: shop, by: user, endpoint: /v1/checkout, algorithm: sliding_log, limit: 3, window: 1h}
- {id: pages, service: web, by: user, endpoint: /p/*, rate: 5/h}
- {id: tighter, service: shop, by: user, rate: 1/h, mode: shadow}
- {id: per-address, service: web, by: ip, rate: 9/h}
- {id: door, service: club, by: user, rate: 9/h, deny: [mallory]}
END

my $out = says('alice');
like($out, qr/^user=alice under limit default/, 'what was asked for comes first');
unlike($out, qr/^elsewhere/m, 'a user of nothing: nothing elsewhere');
like($out, qr/^looked at +all services: 6 of 6 rules; further ones that count this: 5, in use: 0$/m,
     'and it says where it looked');

$client->command(qw(CHECK alice SERVICE shop)) for 1 .. 3;
$client->command(qw(CHECK alice SERVICE web ENDPOINT /p/1)) for 1 .. 2;
$out = says('alice');
like($out, qr/^one more now +allowed$/m, 'the default service allows her');
like($out, qr/^elsewhere +rule logins of shop, endpoint \*: refused \(capacity\): the whole .*, retry after \d+ ms$/m,
     'a refusal by another service is shown');
like($out, qr{^elsewhere +rule pages of web, endpoint /p/\*: allowed, 3 tokens available now$}m,
     'and what she used at an endpoint that was not named');
like($out, qr/^elsewhere +rule tighter of shop, endpoint \* \(shadow\): refused/m, 'a shadow rule is called one');
unlike($out, qr/per-address|checkout|door/, 'rules that do not count her, or that she never used, are not');
like($out, qr/further ones that count this: 5, in use: 3$/m, 'but counted');
like(says('mallory'), qr/^elsewhere +rule door of club, endpoint \*: refused \(deny_list\): .* deny list$/m,
     'a deny list elsewhere');
is((() = says('bob') =~ /elsewhere/g), 0, 'another user has nothing of hers');

$out = says('alice', '--service', 'web', '--endpoint', '/p/1');
unlike($out, qr/elsewhere +rule pages/, 'a rule that is explained is not elsewhere as well');
like($out, qr/^looked at +service web: 2 of 2 rules;/m, 'with a service, that one alone is looked at');
unlike(says('alice', '--service', 'web', '--rule', 'pages', '--endpoint', '/p/1'), qr/elsewhere|looked at/,
       'with a rule, nothing else');
my $json = decode_json((headgate('explain', 'alice', '--json'))[1]);
is(scalar @{$json->{elsewhere}}, 3, 'for programs: elsewhere');
like($json->{looked_at}, qr/^all services: 6 of 6/, 'and looked_at');
$json = decode_json((headgate(qw(explain alice --json --service shop)))[1]);
is(scalar(grep { ($_->{settled} // '') =~ /tokens/ } @{$json->{rules}}), 2, 'each rule that counts is an object');

# ---- bounds ----
my $form = "- {id: r%d, service: many-%d, endpoint: /%d, by: user, rate: 9/h}\n";
apply(join '', map { my $s = $_; map { sprintf $form, $_, $s, $_ } 1 .. 600 } 1, 2);
$client->command('CHECK', 'carol', 'SERVICE', 'many-1', 'ENDPOINT', "/$_") for 1 .. 20;
$out = says('carol');
is((() = $out =~ /^elsewhere +rule/mg), 16, 'at most 16 rules are shown');
like($out, qr/^elsewhere +and 4 rules more$/m, 'the others are counted');
like($out, qr/^looked at +all services: 1000 of 1206 rules;/m, 'at most 1,000 are looked at, and it says so');
is($here->stop, 0, 'it stops');
done_testing();
