# The operator's command against real daemons: what it prints, and how it exits.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Socket::INET;
use JSON::PP;
use Test::More;

$Headgate::leaks_of_headgate = 1;

my $cluster = Headgate::cluster(limits => [
    {name => 'default', capacity => 100, rate => '1/m', overshoot => '100%', default => 'true'},
    {name => 'api', capacity => 7, rate => '7/m'},
]);
$cluster->start;
my ($one, $two, $three) = $cluster->daemons;
my $at = "127.0.0.1:$one->{ports}{clients}";

# (status, stdout, stderr) of headgate, asked of the first daemon.
sub headgate {
    local $ENV{HEADGATE_AT} = $at;
    return Headgate::run(20, Headgate::headgate(), @_);
}

# What was printed with --json, each with the name of its schema in docs/schemas.
my @printed;

sub printed {
    my ($words, $out) = @_;
    my $value = eval { decode_json($out) } or return;
    my $name = $words->[0] eq 'rules' ? "rules-$words->[1]" : $words->[0];
    push @printed, [$name, $value];
    return $value;
}

sub json {
    my ($status, $out, $err) = headgate(@_, '--json');
    my $value = printed(\@_, $out);
    diag("@_: $@$out$err") if !$value;
    return $value;
}

# All daemons must see each other before shares are what the tests expect.
ok(Headgate::wait_until(20, sub {
    my ($status, $out) = headgate('nodes', '--json');
    return $status == 0 && 3 == grep { $_->{state} eq 'active' } @{decode_json($out)};
}), 'nodes: three active peers') or BAIL_OUT('no cluster');

# ---- check, peek ----
my ($status, $out, $err) = headgate('check', 'alice');
is($status, 0, 'check: allowed is 0');
like($out, qr/^allowed  alice under default: \d+ of 100 left, full in \S+ \w+$/, 'and says how much is left');
($status, $out) = headgate('check', 'alice', '--cost', '1000');
is($status, 1, 'refused is 1');
like($out, qr/^refused  alice under default: .* never at this cost.* \(too_large\)$/, 'and says when, and why');
my $before = json('peek', 'user=alice');
my $peeked = 1;
$peeked &&= json('peek', 'alice')->{remaining} >= $before->{remaining} for 1 .. 5;    # settling may give some back
ok($peeked, 'peek takes nothing');
ok($before->{allowed} && $before->{limit} == 100 && $before->{rule} eq 'default', 'peek tells the figures');
is($before->{reason}, 'allowed', 'and the reason');
is((headgate('peek', 'alice', '--cost=1000'))[0], 1, 'peek exits like check');
my $api = json('check', 'ip=1.2.3.4', '--rule', 'api');
ok($api->{allowed} && $api->{rule} eq 'api' && $api->{limit} == 7, 'another rule');
my $allowed = 0;
for (1 .. 20) {
    last if (headgate('check', 'bob'))[0] != 0;
    $allowed++;
}
is($allowed, 20, 'twenty checks of a full bucket');
like((headgate('check', '--', '--odd--'))[1], qr/^allowed  --odd--/, 'an id that looks like an option, after --');

like((headgate('rules', 'list'))[1], qr/^no rule is in force: the limits of the config count, each by its name /,
     'a list without a rule says what counts instead');

# ---- reload ----
is((headgate('reload'))[1], "the daemon has read its config again\n" .
   "nothing has changed since it was last read, and nothing waits for a restart\n", 'reload: nothing is new');
$one->{settings}{log_level} = 'debug';
$one->{settings}{interval} = '90ms';
$one->write_config;
($status, $out, $err) = headgate('reload');
is("$status$err", 0, 'reload is 0');
is($out, "the daemon has read its config again\nchanged, and in force now: log_level\n" .
         "changed, but not in force until the daemon is restarted: interval\n" .
         'daemons that differ in interval do not decide side by side: restart all daemons, one after the other' . "\n" .
         "all other settings are in force as before\n", 'and says what came of it');
delete $one->{settings}{interval};
$one->{settings}{log_level} = 'loud';
$one->write_config;
($status, $out, $err) = headgate('reload');
is("$status$out", 65, 'a mistake in the config is 65');
like($err, qr/^headgate reload: ERR \S+:\d+: log_level is 'loud': expected/, "with the daemon's sentence");
$one->{settings}{log_level} = 'info';
$one->write_config;
is_deeply(json('reload')->{changed}, ['log_level'], 'for programs');

# ---- explain, nodes, info, forget ----
like((headgate('explain', 'alice'))[1],
     qr/^user=alice under limit default.*^settled .*^unsettled .*^allowance /ms, 'explain');
like(json('explain', 'alice')->{rules}[0]{settled}, qr/tokens/, 'explain for programs');
($status, $out) = headgate('nodes');
my @lines = split /\n/, $out;
is(@lines, 4, 'nodes: a title and three rows');
like($lines[0], qr/^NODE +REGION +STATE +SHARE +HEARD +ROUND TRIP +LAG +LOG +CLOCK +CONFIG +KEY$/, 'its title');
like($lines[1], qr/^us-east \* +us-east +active +33\.\d+% +- +- +0 +\d+ +(?:-|good) +same +pinned$/,
     'this node first, with a star');
is(scalar(grep { /^\S.* same +(?:pinned|new)$/ && index($_, 'active') == index($lines[1], 'active') } @lines[1 .. 3]),
   3, 'aligned');
{
    # A daemon whose peers have bad clocks: what it says to NODES.
    my $listener = IO::Socket::INET->new(Listen => 1, LocalAddr => '127.0.0.1') or die "listen: $!";
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        my $bulk = sub { return map { sprintf "\$%d\r\n%s\r\n", length, $_ } @_ };
        my @rows = (['fast', '1.0312', 0], ['slow', '0.98', 1], ['good', '1.0001', 2], ['unmeasured', undef, 1]);
        my $answer = "*4\r\n" . join '', map {
            join '', "*6\r\n", $bulk->('clock', $_->[0], 'clock_rate'),
                defined $_->[1] ? $bulk->($_->[1]) : "\$-1\r\n", $bulk->('clock_jumps'), ":$_->[2]\r\n"
        } @rows;
        for (1 .. 2) {
            my $socket = $listener->accept or last;
            while (sysread $socket, my $bytes, 4096) {
                syswrite $socket, $answer if $bytes =~ /NODES/;
            }
        }
        POSIX::_exit(0);
    }
    my @at = ('--at', '127.0.0.1:' . $listener->sockport);
    my @clocks = map { / \d+ +\d+  (\S.*?)  +same +-$/ ? $1 : () } split /\n/, (headgate('nodes', @at))[1];
    is(join('; ', @clocks), '3.1% fast; 2.0% slow, 1 jump; good, 2 jumps; 1 jump', 'clocks that are off, or jump');
    my @rates = map { $_->{clock_rate} } @{decode_json((headgate('nodes', '--json', @at))[1])};
    is_deeply(\@rates, [1.0312, 0.98, 1.0001, undef], 'for programs');
    waitpid $pid, 0;
}
my $nodes = json('nodes');
is(join(',', sort map { $_->{node} } @$nodes), 'ap-south,eu-west,us-east', 'nodes for programs');
my $share = 0;
$share += $_->{share} for @$nodes;
ok(abs($share - 1) < 1e-6, 'shares add up to one');
like((headgate('info', 'limits'))[1], qr/^# Limits\n.*^limit_api:capacity=7,/ms, 'info of one section');
my $info = json('info');
is($info->{Server}{node}, 'us-east', 'info for programs');
ok($info->{Stats}{admitted_requests} >= 20, 'numbers are numbers');
($status, $out, $err) = headgate('forget', 'nowhere');
is($status, 65, 'a refused request is 65');
like($err, qr/^headgate forget: ERR unknown node 'nowhere'/, "with the daemon's sentence");
$three->kill9;
is((headgate('forget', 'ap-south'))[1], "forgotten: ap-south\n", 'forget');
ok(Headgate::wait_until(10, sub {
    my %by_name = map { $_->{node} => $_ } @{json('nodes')};
    return !$by_name{'ap-south'} || $by_name{'ap-south'}{state} eq 'left';
}), 'the forgotten one is gone');
like((headgate('nodes'))[1], qr/^ap-south +ap-south +forgotten +- /m, 'and is told from one that has left');
ok((grep { $_->{node} eq 'ap-south' && $_->{forgotten} } @{json('nodes')}), 'for programs as well');

# ---- what can go wrong ----
for my $case (
    [['check'], qr/^headgate check: a word is missing: expected id \.\.\.$/],
    [['check', map { "d$_=a" } 1 .. 9], qr/"d9=a" is one word too many/],
    [['nodes', '--service', 'x'], qr/--service makes no sense here/],
    [['rules'], qr/^Usage: headgate rules action/],
    [['check', 'a', '--cost', '-1'], qr/^headgate check: --cost is "-1": expected a number/],
    [['check', 'a', '--cost'], qr/--cost is followed by nothing/],
    [['nodes', '--rule', 'x'], qr/--rule makes no sense here/],
    [['nodes', '--json=1'], qr/--json takes no value/],
    [['nodes', '--colour'], qr/unknown option --colour/],
    [['nodes', '-j'], qr/unknown option -j/],
    [['--timeout', 'soon', 'nodes'], qr/^headgate nodes: --timeout is "soon": expected a duration/],
    [['hash-password', '--at', 'x:1'], qr/^headgate hash-password: --at makes no sense here$/],
    [['hash-password', '--timeout', '1s'], qr/^headgate hash-password: --timeout makes no sense here$/],
    [['key', ''], qr/^headgate key: expected show, .*, not "" with 0 words$/],
    [['weights', ''], qr/^headgate weights: expected set .*, history or suggest, not ""$/],
    [['weights', 'history', 'x'], qr/^headgate weights: one word too many: .*, not "x"$/],
    [['dance'], qr/unknown command "dance": see headgate --help/],
    [['chekc', 'alice'], qr/unknown command "chekc": is it check\?$/],
    [['rules', 'aply', 'x.yaml'], qr/unknown action "aply": is it apply\?$/],
    [['rules', 'dance'], qr/unknown action "dance": see headgate rules --help/],
    [['check', 'alice', 'COST', '2'], qr/"COST" is no identifier: expected --cost$/],
    [['explain', 'alice', 'service', 'shop'], qr/"service" is no identifier: expected --service$/],
    [['info', 'nosuch'], qr/^headgate info: "nosuch" is no section: expected some of server, .*, replication$/],
    [['nodes', '--tls', '--cacert', '/none.pem'], qr{^headgate nodes: /none\.pem cannot be read: No such file}, 66],
    [[], qr/^Usage: headgate/],
    [['--at', ':', 'nodes'], qr/":" is no address: expected host:port/],
    [['load', '--keys', '0'], qr/--keys is "0": expected a number from 1 to/],
    [['load', 'fast'], qr/unexpected word "fast"/],
    [['load', '--rate', '10/x'], qr/--rate is "10\/x": expected a rate/],
    [['load', '--key', 'a', '--keys', '2'], qr/exclude each other/],
    [['load', '--rule', 'api'], qr/--rule needs --command check/],
    [['load', '--to', "$at,"], qr/--to is/],
) {
    my ($words, $sentence, $expected) = (@$case, 64);
    ($status, $out, $err) = headgate(@$words);
    is($status, $expected, "headgate @$words: $expected");
    like($err, $sentence, 'with a sentence');
}
for my $words (['--help'], map { [$_, '--help'] } qw(check peek explain nodes info top forget reload load rules weights
                                                     key hot fingerprint certs hash-password)) {
    ($status, $out, $err) = headgate(@$words);
    ok($status == 0 && $out =~ /^Usage: headgate .*Exit status/s && $err eq '', "headgate @$words");
    is_deeply([grep { length > 120 && !/^Sections: / } split /\n/, $out], [], 'in lines that fit');
}
unlike((headgate('hash-password', '--help'))[1], qr/--at|no daemon answers/, 'what asks none has no options of one');

is((headgate('help'))[1], (headgate('--help'))[1], 'help alone says the same as --help');
is((headgate('help', 'nodes'))[1], (headgate('nodes', '--help'))[1], 'and of a command');

# ---- options before the command: it reads them as if they stood behind it ----
for my $words (['check', 'carol'], ['peek', 'carol'], ['explain', 'carol'], ['nodes'], ['info'], ['rules', 'list'],
               ['load', '--seconds', '0.1', '--rate', '100']) {
    for my $order (['--json', @$words], [@$words, '--json']) {
        ($status, $out, $err) = headgate(@$order);
        ok($status == 0 && printed($words, $out), "headgate @$order: JSON") or diag($out, $err);
    }
}
my $rule_file = Headgate::write_file(Headgate::scratch() . '/one.yaml', "rules: [{id: one, by: user, rate: 100/s}]\n");
my $cases = Headgate::write_file(Headgate::scratch() . '/cases.yaml', <<"END");
rules: [one.yaml]
cases:
- name: wrong
  steps: [{ask: user=a, expect: refused}]
END
for my $words (['check', $rule_file], ['lint', $rule_file], ['diff', $rule_file], ['apply', $rule_file],
               ['list'], ['export'], ['get', 'one'], ['history'], ['apply', $rule_file], ['delete', 'one'],
               ['diff', $rule_file], ['rollback', 'one'], ['apply', '--prune', $rule_file], ['test', $cases]) {
    ($status, $out, $err) = headgate('--json', 'rules', @$words);
    ok($out ne '' && printed(['rules', @$words], $out), "headgate rules @$words --json: JSON") or diag($out, $err);
}
for my $words (['list'], ['diff', $rule_file]) {
    ($status, $out, $err) = headgate('--json', 'rules', @$words, '--at', '127.0.0.1:1');
    is("$status $out", '69 ', "headgate rules @$words --json without a daemon: nothing beside the sentence");
}
($status, $out, $err) = headgate('top', 'count', '2', 'interval', '100ms', '--json');
is(scalar(grep { printed(['top'], $_) } split /\n/, $out), 2, 'headgate top --json: a line for each look');
headgate('check', 'dora', '--cost', '1000');
ok(json(@$_), "headgate @$_ --json: JSON") for ['hot'], ['fingerprint', 'dora'], ['forget', 'ap-south'], ['reload'],
    ['explain', 'dora', '--rule', 'api'], ['check', 'dora', '--cost', '1000'],
    ['load', '--seconds', '0.2', '--rate', '100', '--histogram', '--keys', '2'];

# ---- weights ----
json('weights', @$_) for [], ['suggest'], ['set', 'us-east=0.3'], ['history'];

# ---- keys ----
like((headgate('key', 'show'))[1], qr/^[0-9a-f]{64}\n$/, 'key show');
like(json('key', 'show')->{key}, qr/^[0-9a-f]{64}$/, 'for programs');
is((headgate('key', 'accept', 'eu-west'))[0], 64, 'key accept wants a fingerprint');

# ---- what asks no daemon ----
my $made_in = Headgate::scratch() . '/made';
is_deeply(json('certs', '--dir', $made_in, 'node')->{made},
          [map { "$made_in/$_" } qw(ca.pem ca.key node.pem node.key)], 'certs says which files it made');
is_deeply(json('certs', '--dir', $made_in, 'other')->{made}, [map { "$made_in/other.$_" } qw(pem key)],
          'and no others');
($status, $out, $err) = headgate('certs', '--dir', $made_in, 'node', '--json');
is("$status $out", '73 ', 'a file that is there is an error, and nothing is printed beside it');
my (undef, $hashed) =
    Headgate::run(30, 'sh', '-c', "echo secret | '" . Headgate::headgate() . "' hash-password --json");
like(printed(['hash-password'], $hashed)->{password_hash}, qr/^\$argon2id\$/, 'hash-password for programs');

# ---- schemas ----
subtest 'schemas' => sub {
    plan skip_all => 'python3 with jsonschema is not installed'
        if system('python3 -W ignore -c "import yaml, jsonschema; jsonschema.Draft202012Validator" 2>/dev/null') != 0;
    my $source = Headgate::read_file("$Headgate::root/src/operator/main.c");
    my @commands = ($source =~ /^    \{"([\w-]+)", "/mg, 'load', 'certs');
    my $rules = Headgate::read_file("$Headgate::root/src/operator/rules.c");
    push @commands, map { "rules-$_" } $rules =~ /^    \{"(\w+)", "/mg;
    cmp_ok(scalar @commands, '>', 18, 'commands that print JSON');
    is(join(' ', sort map { m{(\S+)\.json$} } map { s{.*/}{}r } glob "$Headgate::root/docs/schemas/*.json"),
       join(' ', sort @commands), 'each has a schema');
    my $seen = Headgate::write_file(Headgate::scratch() . '/printed.json', encode_json(\@printed));
    my @check = ('python3', '-W', 'ignore', "$FindBin::Bin/schemas.py", "$Headgate::root/docs/schemas");
    is(join('', (Headgate::run(60, @check, $seen))[1, 2]), '', 'which all that was printed fits');
    my ($odd) = grep { $_->[0] eq 'forget' } @printed;
    Headgate::write_file($seen, encode_json([['forget', {%{$odd->[1]}, colour => 'red'}], ['forget', {}]]));
    my $faults = (Headgate::run(60, @check, $seen))[1];
    like($faults, qr/^forget: .*'colour'/m, 'a member that is not described would be found');
    like($faults, qr/^forget: .*'forgotten' is a required property/m, 'and one that is missing');
    like($faults, qr/^nothing was held against the schema of nodes$/m, 'and a command that was not run');
};
for my $case (
    [['--cost', '2', 'nodes'], qr/^headgate nodes: --cost makes no sense here$/],
    [['--rule', 'api', 'forget', 'x'], qr/^headgate forget: --rule makes no sense here$/],
    [['--timeout', '1s', 'load'], qr/^headgate load: unknown option --timeout: see --help$/],
    [['--cost', '2', 'rules', 'list'], qr/^headgate rules: unknown option --cost: see --help$/],
    [['nodes', '--version'], qr/^headgate nodes: --version makes no sense here$/],
) {
    my ($words, $sentence) = @$case;
    ($status, $out, $err) = headgate(@$words);
    is($status, 64, "headgate @$words: 64, not ignored");
    like($err, $sentence, 'with a sentence');
}
like((headgate('--cost', '1000', 'peek', 'carol'))[1], qr/never at this cost/, '--cost before the command counts');

# ---- help names every section of INFO, and no other ----
my $sections = join ', ', map { lc } (headgate('info'))[1] =~ /^# (\w+)$/mg;
like((headgate('info', '--help'))[1], qr/: \Q$sections\E\.$/m, 'headgate info --help');
like($one->client->command('COMMAND', 'DOCS', 'info')->[1][1], qr/: \Q$sections\E\.$/, 'COMMAND DOCS info');
my ($words, $protocol) = ($sections =~ s/,//gr, Headgate::read_file("$Headgate::root/docs/protocol.md"));
like($protocol, qr/`INFO \[section ...\]` \| `$words`/, 'docs/protocol.md');

like((headgate('--version'))[1], qr/^headgate \d+\.\d+\.\d+(?:-dev)?$/, 'version');

my ($free) = Headgate::free_ports(1);
for my $words (['check', 'a'], ['nodes'], ['load']) {
    ($status, $out, $err) = headgate($words->[0], '--at', "127.0.0.1:$free", @$words[1 .. $#$words]);
    is($status, 69, "@$words where nobody listens: 69");
    like($err, qr/^headgate $words->[0]: no daemon answers at 127\.0\.0\.1:$free: Connection refused$/,
         'with a sentence');
}
my $mute = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 5) or die;
($status, $out, $err) = headgate('--at', '127.0.0.1:' . $mute->sockport, '--timeout', '200ms', 'nodes');
is($status, 69, 'a server that does not answer: 69');
like($err, qr/did not answer within 200 ms/, 'with a sentence');
my $pid = fork // die;
if ($pid == 0) {
    my $client = $mute->accept;    # the queued one of above
    $client = $mute->accept;
    print $client "HTTP/1.1 400 Bad Request\r\n\r\n";
    sysread $client, my $rest, 100;
    POSIX::_exit(0);
}
$Headgate::running{$pid} = 1;
($status, $out, $err) = headgate('--at', '127.0.0.1:' . $mute->sockport, 'nodes');
is($status, 76, 'a server of another kind: 76');
like($err, qr/not RESP2: is it a daemon's port for clients\?/, 'with a sentence');
kill 'KILL', $pid;
waitpid $pid, 0;
delete $Headgate::running{$pid};
# ---- a password ----
my $guarded = Headgate::cluster(regions => ['here'], password => 'open-sesame')->start;
my $open_at = $at;
$at = '127.0.0.1:' . ($guarded->daemons)[0]{ports}{clients};
($status, $out, $err) = headgate('check', 'alice');
ok($status == 65 && $err =~ /NOAUTH/, 'a daemon with a password refuses who has none');
{
    local $ENV{HEADGATE_PASSWORD} = 'open-sesame';
    is((headgate('check', 'alice'))[0], 0, 'the password is taken from the environment');
    like((headgate('load', '--seconds', '0.2', '--rate', '100'))[1], qr/^requests +20 /m, 'also by load');
    $ENV{HEADGATE_PASSWORD} = 'guess';
    like((headgate('check', 'alice'))[2], qr/WRONGPASS/, 'a wrong one is told');
}

SKIP: {
    skip 'no /dev/full', 1 if !-e '/dev/full';
    is(system('sh', '-c', Headgate::headgate() . " --at $open_at nodes >/dev/full 2>/dev/null") >> 8, 74,
       'output that cannot be written: 74');
}
ok($cluster->stop(20), 'the daemons stop') or diag($one->log);
done_testing();
