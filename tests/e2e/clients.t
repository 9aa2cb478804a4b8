#!/usr/bin/perl
# Clients as they are, unchanged: redis-cli, redis-benchmark, python3-redis, node-redis, ioredis, grpc-js, netcat.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $cluster = Headgate::cluster(regions => ['here'], listen_grpc => 1,
                                limits => [{name => 'default', capacity => 10, rate => '1/h', default => 'true'}]);
$cluster->start;
$cluster->wait_met or die 'the daemon did not become active';
my $port = $cluster->daemon('here')->{ports}{clients};
my $scratch = Headgate::scratch();

# Runs a shell command that reads `input`; its stdout, with its stderr appended when it says anything.
sub shell {
    my ($input, $command) = @_;
    Headgate::write_file("$scratch/input", $input);
    my ($status, $out, $err) = Headgate::run(60, 'sh', '-c', "$command <'$scratch/input'");
    return $status == 0 ? $out . $err : "status $status: $out$err";
}

subtest 'redis-cli' => sub {
    is(shell('', "redis-cli -p $port PING"), "PONG\n", 'one command');
    is(shell('', "redis-cli -p $port CAN_ACCESS cli"), "1\n", 'a decision');
    like(shell('', "redis-cli -p $port CHECK cli COST 2"), qr/^1\n10\n7\n0\n\d+\ndefault\n$/, 'CHECK');
    is(shell("CAN_ACCESS lines\n" x 12, "redis-cli -p $port"), "1\n" x 10 . "0\n" x 2, 'lines from a pipe');
    is(shell('', "redis-cli -3 -p $port CAN_ACCESS three"), "1\n", 'version 3');
    like(shell('', "redis-cli -3 -p $port NODES"), qr/^node here\n?/m, 'maps of version 3');
    like(shell('', "redis-cli -p $port INFO server"), qr/^# Server\r\nheadgate_version:\d/, 'INFO');
    like(shell('', "redis-cli -p $port EXPLAIN cli"), qr/^user=cli under limit default: capacity 10, rate 1\/h\n/,
         'EXPLAIN');
    like(shell('', "redis-cli -p $port NONSENSE"), qr/^ERR unknown command 'NONSENSE'/, 'an error');
    like(shell('', "redis-cli -p $port COMMAND DOCS can_access"), qr/Takes cost tokens/, 'docs');
    is(shell("MULTI\nCAN_ACCESS multi\nCAN_ACCESS multi 10\nEXEC\n", "redis-cli -p $port"),
       "OK\nQUEUED\nQUEUED\n1\n0\n", 'MULTI and EXEC');
    is(shell("MULTI\nCAN_ACCESS multi 9\nRULE LIST\nEXEC\nCAN_ACCESS multi 9\n", "redis-cli -p $port"),
       "OK\nQUEUED\nERR rule is not allowed in a transaction: expected it before MULTI or after EXEC\n\n"
       . "EXECABORT Transaction discarded because of previous errors.\n\n1\n", 'and what cannot be queued');
    my $bulk = join '', map { Headgate::Client::encode('CAN_ACCESS', "pipe$_") } 1 .. 5000;
    like(shell($bulk, "redis-cli -p $port --pipe"), qr/errors: 0, replies: 5000\n/, '--pipe');
    like(shell('', "redis-cli -p $port -r 12 -i 0 CAN_ACCESS repeat"), qr/^(?:1\n){10}(?:0\n){2}$/, 'repeated');
};

subtest 'redis-cli --stat' => sub {
    my $keys = $cluster->daemon('here')->client->command('DBSIZE');
    cmp_ok($keys, '>', 5000, 'DBSIZE');
    my $out = shell('', "{ stdbuf -oL redis-cli -p $port --stat -i 0.1 | head -n 3; }");
    like($out, qr/^-+ data -+.*\nkeys .*\n$keys +\d[\d.]*[MK] +[1-9]\d* +0 +\d+ \(\+0\) +\d+ /,
         'keys, memory, clients, requests, connections');
    my $before = time;
    my ($seconds, $microseconds) = @{$cluster->daemon('here')->client->command('TIME')};
    ok($seconds >= $before - 1 && $seconds <= time + 1 && $microseconds < 1_000_000, 'TIME is the time');
};

subtest 'redis-cli in a terminal' => sub {
    is(shell('', "/usr/bin/python3 '$FindBin::Bin/terminal.py' $port"), "fine\n", 'hints while one types, and help');
};

subtest 'redis-benchmark' => sub {
    for my $pipeline (1, 16) {
        my $out = shell('', "redis-benchmark -p $port -P $pipeline -n 50000 -c 20 -r 1000 -q CAN_ACCESS __rand_int__");
        like($out, qr/requests per second/, "-P $pipeline ends");
        unlike($out, qr/error|warning|status/i, 'without a complaint');
    }
    my $info = $cluster->daemon('here')->client->fields('INFO', 'clients', 'stats');
    cmp_ok($info->{grouped_decisions}, '>=', 100000, 'they were decided in groups');
};

subtest 'python3-redis' => sub {
    plan skip_all => 'no python3-redis for /usr/bin/python3' if system('/usr/bin/python3 -c "import redis" 2>&-') != 0;
    my $program = <<"END";
import redis
client = redis.Redis(port=$port, client_name='python-test', decode_responses=True, health_check_interval=1)
assert client.ping()
assert client.client_getname() == 'python-test'
assert client.execute_command('CAN_ACCESS', 'py') == 1
assert client.execute_command('CHECK', 'user=py', 'COST', 2)[:3] == [1, 10, 7]
pipe = client.pipeline(transaction=False)
for _ in range(50):
    pipe.execute_command('CAN_ACCESS', 'py')
assert sum(pipe.execute()) == 7
transaction = client.pipeline()  # MULTI and EXEC around it, as by default
for _ in range(12):
    transaction.execute_command('CAN_ACCESS', 'py-transaction')
transaction.execute_command('CHECK', 'py-transaction')
answers = transaction.execute()
assert answers[:12] == [1] * 10 + [0] * 2 and answers[12][0] == 0, answers
transaction.execute_command('CAN_ACCESS', 'py-aborted')
transaction.execute_command('NONSENSE')
try:
    transaction.execute()
    assert False
except redis.ResponseError as error:
    assert "unknown command 'NONSENSE'" in str(error), error
assert client.execute_command('PEEK', 'py-aborted')[2] == 10
try:
    client.execute_command('CHECK', 'py', 'COST', 'many')
    assert False
except redis.ResponseError as error:
    assert "cost 'many' is out of range" in str(error), error
assert client.execute_command('PEEK', 'py')[0] == 0
info = client.info('table')
assert info['used_keys'] >= 1, info
assert client.command_count() == len(client.execute_command('COMMAND LIST'))
assert client.echo('x') == 'x' and client.client_id() > 0
assert client.command()['can_access']['arity'] == -2
client.close()
import inspect
if 'protocol' in inspect.signature(redis.Connection.__init__).parameters:
    three = redis.Redis(port=$port, protocol=3, decode_responses=True)
    assert three.execute_command('NODES')[0]['node'] == 'here'
    print('RESP3 too')
print('fine')
END
    like(shell($program, '/usr/bin/python3 -'), qr/^(?:RESP3 too\n)?fine\n$/, 'an ordinary program');
};

subtest 'node-redis, ioredis and grpc-js' => sub {
    plan skip_all => 'no npm' if system('command -v node npm >/dev/null') != 0;
    system('cp', '-r', "$FindBin::Bin/node", "$scratch/node") == 0 or die;
    my ($status, $out, $err) = Headgate::run(60, 'sh', '-c', "cd '$scratch/node' && npm ci --no-audit --no-fund");
    my $why = $err =~ /(E[A-Z]{3,}\w*)/ ? $1 : "status $status";
    plan skip_all => "npm cannot install them: $why" if $status != 0;
    is(shell('', "node '$scratch/node/client.js' $port"), "RESP2 fine\nRESP3 fine\nioredis fine\n",
       'ordinary programs');
    my $daemon = $cluster->daemon('here');
    my @rules = (
        'id: tries, by: tries, rate: 3/h',
        'id: dark, by: shade, rate: 1/h, mode: shadow',
        'id: one, by: place, when: {place: one}, rate: 1/h',
        'id: two, by: place, when: {place: two}, rate: 2/h',
        'id: free, by: free, rate: unlimited',
        'id: fake, by: [source, target], rate: 1/h',
        'id: category, by: category, rate: 2/h, replaces: [fake]',
        'id: tokens, by: account, algorithm: fixed_window, limit: 100, window: 1h',
    );
    is($daemon->client->command('RULE', 'APPLY', "rules:\n" . join '', map { "  - {service: edge, $_}\n" } @rules),
       scalar @rules, 'rules of a gateway');
    is(shell('', "node '$scratch/node/gateway.js' $daemon->{ports}{grpc}"), "fine\n", 'a gateway');
};

subtest 'netcat' => sub {
    plan skip_all => 'no nc' if system('command -v nc >/dev/null') != 0;
    is(shell("CAN_ACCESS nc\r\nCAN_ACCESS nc 10\nPING\n", "nc -N 127.0.0.1 $port"), ":1\r\n:0\r\n+PONG\r\n",
       'one line each');
};

ok($cluster->stop, 'the daemon ends in peace');
done_testing();
