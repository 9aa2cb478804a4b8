#!/usr/bin/perl
# The Envoy door by real sockets: what gateways ask, by clients of others.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use POSIX ();
use Test::More;

my $scratch = Headgate::scratch();
my $protos = "$Headgate::root/src/grpc/proto";

my @rules = (
    'id: plain, by: [foo, baz], when: {baz: [not-so-shady]}, rate: 3/m',
    'id: shady, by: [foo, baz], when: {baz: [shady]}, rate: 3/m, mode: shadow',
    'id: one, by: service, when: {service: one}, rate: 1/h',
    'id: two, by: service, when: {service: two}, rate: 2/h',
    'id: three, by: service, when: {service: three}, rate: 1/h',
    'id: four, by: service, when: {service: four}, rate: 2/h',
    'id: free, by: foo, when: {foo: unlimited}, rate: unlimited',
    'id: orders, by: user, endpoint: /v1/orders, rate: 60/m, burst: 10',
    'id: address, by: ip, rate: 5/h',
    'id: path, by: [ip, path], rate: 2/h',
    'id: many, by: many, rate: 100/h',
    'id: fake, by: [source, target], when: {target: fake}, rate: 2/h',
    'id: category, by: category, rate: 4/h, replaces: [fake]',
    'id: tokens, by: account, algorithm: fixed_window, limit: 100, window: 1h',
);

sub alone {
    my (%options) = @_;
    my $cluster = Headgate::cluster(regions => ['here'], listen_grpc => 1, %options);
    my $daemon = $cluster->daemon('here')->start;
    return ($cluster, $daemon);
}

my ($cluster, $daemon) = alone();
is($daemon->client->command('RULE', 'APPLY', "rules:\n" . join '', map { "  - {service: edge, $_}\n" } @rules),
   scalar @rules, 'rules of the domain');

subtest 'python3-grpcio' => sub {
    plan skip_all => 'no python3-grpcio and protoc'
        if system('/usr/bin/python3 -c "import grpc, google.protobuf" 2>&- && command -v protoc >/dev/null') != 0;
    mkdir "$scratch/stubs";
    my ($ended, $said, $complaint) = Headgate::run(20, '/usr/bin/python3', "$FindBin::Bin/grpc/gateway.py",
                                                   $daemon->{ports}{grpc}, $protos, "$scratch/stubs");
    is($said, "fine\n", 'a gateway') or diag($complaint);
};

subtest 'a password and TLS' => sub {
    plan skip_all => 'no python3-grpcio' if system('/usr/bin/python3 -c "import grpc" 2>&-') != 0;
    my ($ended) = Headgate::run(10, Headgate::headgate(), 'certs', '--dir', "$scratch/certs", 'node', 'localhost');
    is($ended, 0, 'certificates');
    my ($port) = Headgate::free_ports(1);
    my $secret = Headgate::cluster(regions => ['here'], listen_grpc => 1, password => 'sesame',
                                   tls => {certificate => "$scratch/certs/node.pem", key => "$scratch/certs/node.key"});
    my $other = $secret->daemon('here');
    $other->{settings}{listen}{grpc_tls} = "127.0.0.1:$port";
    $other->write_config->spawn;
    my $program = <<"END";
import grpc
ca = open('$scratch/certs/ca.pem', 'rb').read()
channel = grpc.secure_channel('localhost:$port', grpc.ssl_channel_credentials(ca))
grpc.channel_ready_future(channel).result(timeout=60)
assert channel.unary_unary('/grpc.health.v1.Health/Check')(b'') == bytes([8, 1])
ask = channel.unary_unary('/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit')
message = bytes.fromhex('0a01651200')
def code(**how):
    try:
        ask(message, timeout=60, **how)
        return 'OK'
    except grpc.RpcError as error:
        return error.code().name
print(code(), code(metadata=[('authorization', 'Bearer sesame')]), code(metadata=[('authorization', 'Bearer open')]))
END
    my (undef, $said, $complaint) = Headgate::run(30, '/usr/bin/python3', '-c', $program);
    is($said, "UNAUTHENTICATED OK UNAUTHENTICATED\n", 'only with the password') or diag($complaint);
    ok($secret->stop, 'the daemon ends in peace');
};

subtest 'the example' => sub {
    plan skip_all => 'no python3-grpcio' if system('/usr/bin/python3 -c "import grpc" 2>&-') != 0;
    my (undef, $asked) = alone();
    is($asked->client->command('RULE', 'APPLY', <<'RULES'), 2, 'rules');
rules: [{service: edge, id: one, by: foo, rate: 9/h}, {service: edge, id: no, by: foo, endpoint: /v1/no, rate: 0}]
RULES
    my ($here, $nobody) = ("127.0.0.1:$asked->{ports}{grpc}", '127.0.0.1:1');
    for ([[$here, 'edge', 1, 'foo=bar'], 0, qr/^OK$/], [[$here, 'edge', 100, 'foo=bar'], 0, qr/^OVER_LIMIT$/],
         [[$here, 'edge', 1, 'foo=bar', 'endpoint=//v1/./%6eo?a'], 0, qr/^OVER_LIMIT$/],
         [[$here, 'edge', 1, 'priority=x'], 1, qr/^INVALID_ARGUMENT: /],
         [[$nobody, 'edge', 1, 'foo=bar'], 1, qr/^UNAVAILABLE: /],
         [[], 1, qr/^Asks as Envoy does/], [[$here, 'edge', 'much', 'foo=bar'], 1, qr/^Asks as Envoy does/]) {
        my ($words, $expected, $says) = @$_;
        my ($status, $said, $complaint) =
            Headgate::run(30, '/usr/bin/python3', "$Headgate::root/docs/examples/envoy.py", @$words);
        is($status, $expected, "envoy.py @$words");
        like($status == 0 ? $said : $complaint, $says, 'in words') or diag("$said$complaint");
    }
    $asked->{settings}{grpc} = {endpoint_spelling => 'as-written'};
    is_deeply($asked->write_config->client->command('RELOAD')->[1], ['grpc.endpoint_spelling'], 'another spelling');
    my @words = ($here, 'edge', 1, 'foo=bar', 'endpoint=//v1/no');
    my $example = "$Headgate::root/docs/examples/envoy.py";
    ok(Headgate::wait_until(20, sub { (Headgate::run(30, '/usr/bin/python3', $example, @words))[1] eq "OK\n" }),
       'is in force');
    is($asked->stop, 0, 'the daemon ends');
};

subtest 'a reload' => sub {
    plan skip_all => 'no python3-grpcio' if system('/usr/bin/python3 -c "import grpc" 2>&-') != 0;
    my (undef, $other) = alone(threads => 2);
    is($other->client->command('RULE', 'APPLY', 'rules: [{service: edge, id: one, by: foo, rate: 9/h}]'), 1, 'a rule');
    # One connection asks, says that it has an answer, and asks on when it is told to.
    my $program = <<"END";
import grpc, os, time
channel = grpc.insecure_channel('127.0.0.1:$other->{ports}{grpc}')
ask = channel.unary_unary('/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit')
request = b'\\n\\x04edge\\x12\\x0c\\n\\n\\n\\x03foo\\x12\\x03bar'
assert b'X-RateLimit-Limit' in ask(request, timeout=60)
open('$scratch/asked', 'w').close()
end = time.monotonic() + 120
while b'RateLimit-Policy' not in ask(request, timeout=60) and time.monotonic() < end:
    time.sleep(0.01)
print('changed' if time.monotonic() < end else 'not changed')
END
    my $child = Headgate::spawn("$scratch/said", "$scratch/complaint", '/usr/bin/python3', '-c', $program);
    ok(Headgate::wait_until(20, sub { -e "$scratch/asked" }), 'a connection has an answer');
    $other->{settings}{grpc} = {limit_headers => 'draft-10'};
    $other->write_config;
    is_deeply($other->client->command('RELOAD')->[1], ['grpc.limit_headers'], 'the config is read again');
    ok(Headgate::wait_until(30, sub { waitpid($child, POSIX::WNOHANG()) == $child }), 'it ends');
    delete $Headgate::running{$child};
    is(Headgate::read_file("$scratch/said"), "changed\n", 'it has other fields on the same connection')
        or diag(Headgate::read_file("$scratch/complaint"));
    is($other->stop, 0, 'the daemon ends');
};

# A client of HTTP/2 that was not written for gRPC: many streams on many connections, with wide and with tiny windows.
subtest 'load' => sub {
    plan skip_all => 'no h2load' if system('command -v h2load >/dev/null') != 0;
    my (undef, $loaded) = alone(threads => 2);
    my $client = $loaded->client;
    is($client->command('RULE', 'APPLY', 'rules: [{service: edge, id: one, by: foo, algorithm: fixed_window, '
                        . 'limit: 1000, window: 30d}]'), 1, 'a rule of 1,000');
    my $message = "\n\x04edge\x12\x0c\n\n\n\x03foo\x12\x03bar";
    my $body = Headgate::write_file("$scratch/body", "\0" . pack('N', length $message) . $message);
    my @to = ('-d', $body, '-H', 'content-type: application/grpc', '-H', 'te: trailers',
              "http://127.0.0.1:$loaded->{ports}{grpc}/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit");
    my $sent = 0;
    for my $how (['wide windows', 4000, qw(-c 8 -m 100)], ['tiny ones', 1000, qw(-c 4 -m 50 -w 4 -W 10)]) {
        my ($windows, $count, @connections) = @$how;
        my ($status, $said, $complaint) = Headgate::run(120, 'h2load', '-n', $count, @connections, @to);
        like($said, qr/, $count succeeded, 0 failed, 0 errored, 0 timeout$/m, "$windows: all are answered")
            or diag("$said$complaint");
        $sent += $count;
        is($client->fields('INFO')->{grpc_requests}, $sent, 'by as many requests');
    }
    my %rule = @{$client->command('RULE', 'LIST', 'edge')->[0]};
    is("$rule{allowed} $rule{denied}", '1000 4000', 'and exactly the limit was admitted');
    is($client->fields('INFO')->{grpc_errors}, 0, 'without an error');
    is($loaded->stop, 0, 'the daemon ends');
};

# ---- bytes as they are ----

sub frame {
    my ($kind, $flags, $stream, $data) = @_;
    return substr(pack('N', length $data), 1) . pack('CCN', $kind, $flags, $stream) . $data;
}
my $hello = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" . frame(4, 0, 0, '');

# The kinds of frames that come until the connection ends.
sub kinds {
    my ($client) = @_;
    1 while $client->fill;
    my @kinds;
    for (my $rest = $client->{buffer}; length $rest >= 9;) {
        push @kinds, unpack 'C', substr $rest, 3, 1;
        $rest = substr $rest, 9 + unpack 'N', "\0" . substr $rest, 0, 3;
    }
    return "@kinds";
}

subtest 'the end' => sub {
    my $client = Headgate::Client::connect("127.0.0.1:$daemon->{ports}{grpc}");
    $client->send_raw($hello . frame(6, 0, 0, 'p' x 8));
    $client->need while length $client->{buffer} < 9 + 18 + 9 + 17; # SETTINGS, its ACK, that of PING
    $daemon->signal('TERM');
    like(kinds($client), qr/^4.* 7$/, 'whoever is connected hears GOAWAY');
    $client->close;
    is($daemon->wait_end(10), 0, 'the daemon ends in peace');
};

done_testing();
