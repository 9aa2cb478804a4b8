#!/usr/bin/perl
# TLS on the ports of clients, as people's own programs speak it: openssl, redis-cli, curl and Python. And `headgate
# certs`, which makes the certificates for it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use Test::More;

my $dir = Headgate::scratch() . '/certs';
my $headgate = Headgate::headgate();
sub run_shell { my ($line) = @_; return Headgate::run(30, 'sh', '-c', "cd $dir && $line") }

# ---- headgate certs ----

my ($status, $out, $err) = Headgate::run(10, $headgate, 'certs', '--dir', $dir, 'node', 'localhost', '127.0.0.1');
is("$status$err", '0', 'an authority and a certificate are made');
is($out, "$dir/ca.pem\n$dir/ca.key\n$dir/node.pem\n$dir/node.key\n", 'it says where');
is(sprintf('%o', (stat "$dir/$_")[2] & 0777), '600', "$_ is its owner's") for qw(ca.key node.key node.pem);
($status, $out, $err) = Headgate::run(10, $headgate, 'certs', '--dir', $dir, '--days', 7, 'client');
is("$status$err$out", "0$dir/client.pem\n$dir/client.key\n", 'another one is signed by the same authority');
($status, $out, $err) = Headgate::run(10, $headgate, 'certs', '--dir', $dir, 'client');
is("$status$err", "73headgate certs: $dir/client.key cannot be made: File exists\n", 'what is there is kept');
for (['a/b' => 64, 'the name becomes the name of files'], ['ca' => 64, 'the name becomes'],
     ['x --days 0' => 64, '--days is "0": expected a number from 1 to 3650'], ['' => 64, 'a word is missing'],
     (map { ["--dir $dir/none x $_" => 64, "\"$_\" is not a host to name: expected a name or an address"] }
          'localhost:7070', '[::1]', 'a*b', '*.')) {
    ($status, $out, $err) = run_shell("$headgate certs $_->[0]");
    is($status, $_->[1], "certs $_->[0]: exit status $_->[1]");
    like($err, qr/^headgate certs: \Q$_->[2]\E/, 'and a sentence');
}
ok(!-e "$dir/none", 'and no authority is made before');
($status, $out) = run_shell('openssl verify -x509_strict -CAfile ca.pem -purpose sslserver node.pem'
                            . ' && openssl verify -x509_strict -CAfile ca.pem -purpose sslclient client.pem');
is($out, "node.pem: OK\nclient.pem: OK\n", 'openssl finds nothing wrong with them');
($status, $out) = run_shell('openssl x509 -in client.pem -noout -checkend $((6 * 86400))');
is($status, 0, 'a certificate is good for its days,');
($status, $out) = run_shell('openssl x509 -in client.pem -noout -checkend $((8 * 86400))');
is($status, 1, 'and no longer');
($status) = Headgate::run(10, $headgate, 'certs', '--dir', "$dir/other", 'stranger');
is($status, 0, 'another authority');

# ---- what a daemon says of files ----

my ($resp_port, $http_port) = Headgate::free_ports(2);
my $cluster = Headgate::cluster(regions => ['here'], listen_http => 1, threads => 2,
                                tls => {certificate => "$dir/node.pem", key => "$dir/node.key"});
my $daemon = $cluster->daemon('here');
my $settings = $daemon->{settings};
my $headgated = Headgate::headgated();
sub refuses {
    my ($sentence, $name) = @_;
    $daemon->write_config;
    my ($got, undef, $said) = Headgate::run(10, $headgated, '--check-config', '-c', $daemon->{config});
    is($got, 78, "$name: exit status 78");
    like($said, qr/^headgated: \Q$daemon->{config}\E$sentence\n\z/, 'in one sentence');
    my ($line, $key) = $said =~ /^[^:]+: [^:]+:(\d+): tls\.(\w+) is '/ or return;
    my @lines = split /\n/, Headgate::read_file($daemon->{config});
    like($lines[$line - 1], qr/^ *"?$key"?:/, 'which names the line of the key');
}
refuses(qr/:\d+: tls has no effect without a port that speaks it: expected .*/, 'certificates without a port');
$settings->{listen}{clients_tls} = "127.0.0.1:$resp_port";
$settings->{listen}{http_tls} = "127.0.0.1:$resp_port";
refuses(qr/:\d+: listen\.\w+_tls has port $resp_port: expected another one than listen\.\w+_tls/, 'one port for both');
$settings->{listen}{http_tls} = "127.0.0.1:$http_port";
my $files = delete $settings->{tls};
refuses(qr/:\d+: tls.certificate is missing: expected .*/, 'a port without a certificate');
$settings->{tls} = {%$files, key => "$dir/client.key"};
refuses(qr{:\d+: tls.key is '$dir/client.key': expected the key of the certificate $dir/node.pem}, 'another key');
$settings->{tls} = {%$files, certificate => "$dir/none.pem"};
refuses(qr{:\d+: tls.certificate is '$dir/none.pem': expected .* \(No such file or directory\)}, 'no file');
chmod 0644, "$dir/node.key";
$settings->{tls} = {%$files};
refuses(qr{:\d+: tls.key is '$dir/node.key': expected a file that others cannot read.* \(it has 644\)}, 'an open key');
chmod 0600, "$dir/node.key";

# ---- clients ----

$daemon->write_config->start;
like($daemon->log, qr/ info listening on 127\.0\.0\.1:$_->[0] for $_->[1] over TLS\n/, "it says so: $_->[1]")
    for [$resp_port, 'clients'], [$http_port, 'HTTP'];
my $figures = $daemon->client;
sub figure { my ($name) = @_; return $figures->fields('INFO', 'clients')->{$name} }
sub redis {
    my ($options, @words) = @_;
    return run_shell("redis-cli --tls $options -h localhost -p $resp_port @words 2>&1");
}
sub ask {
    my ($options) = @_;
    return run_shell("openssl s_client -connect 127.0.0.1:$resp_port $options </dev/null 2>&1");
}

($status, $out) = redis('--cacert ca.pem', 'CAN_ACCESS alice');
is("$status $out", "0 1\n", 'redis-cli --tls is answered');
($status, $out) = redis('--cacert other/ca.pem', 'PING');
like($out, qr/certificate verify failed/, 'it finds out that another authority signed');
($status, $out) = run_shell("curl -sS --cacert ca.pem -D- https://localhost:$http_port/healthz");
like($out, qr{^HTTP/1.1 200 }, 'curl is answered');
my $rows = sub { my ($url) = @_; (run_shell("curl -sS --cacert ca.pem $url"))[1] =~ s/^[^#].*\n//mgr };
is($rows->("https://localhost:$http_port/metrics"), $rows->("http://localhost:$daemon->{ports}{http}/metrics"),
   'a long answer is the same as without TLS');
($status, $out, $err) = run_shell("curl -sS --cacert other/ca.pem https://localhost:$http_port/healthz");
is($status, 60, 'curl finds out as well');
my $failed = figure('tls_failures');
cmp_ok($failed, '>=', 2, 'the daemon counts whoever turns away');

($status, $out) = run_shell(<<"END");
python3 -c '
import socket, ssl
context = ssl.create_default_context(cafile="ca.pem")
lines = b"PING\\r\\n" * 20000
with context.wrap_socket(socket.create_connection(("localhost", $resp_port)), server_hostname="localhost") as s:
    s.settimeout(60)
    sent, got = 0, b""
    while len(got) < 140000:
        if sent < len(lines):
            sent += s.send(lines[sent:sent + 30000])
        got += s.recv(65536)
    print(s.version(), got == b"+PONG\\r\\n" * 20000)
    s.unwrap().close()
' 2>&1
END
is($out, "TLSv1.3 True\n", 'Python asks much at once, and ends cleanly');

($status, $out) = ask('-CAfile ca.pem -tls1_2 -reconnect');
is(() = $out =~ /^Reused, TLSv1.2/mg, 5, 'openssl resumes a session of TLS 1.2, in any thread');
my $resumed = figure('tls_resumed');
is($resumed, 5, 'which is counted');
run_shell("echo 'QUIT\r' | openssl s_client -connect 127.0.0.1:$resp_port -tls1_3 -sess_out ticket -ign_eof");
($status, $out) = ask('-tls1_3 -sess_in ticket');
like($out, qr/^Reused, TLSv1.3/m, 'and one of TLS 1.3');
($status, $out) = ask("-tls1_1 -cipher 'ALL:\@SECLEVEL=0'");
like($out, qr/alert protocol version/, 'TLS 1.1 is refused');
($status, $out) = run_shell("openssl s_client -connect 127.0.0.1:$http_port -alpn h2,http/1.1 </dev/null 2>&1");
like($out, qr{^ALPN protocol: http/1.1}m, 'HTTP says what it speaks');
($status, $out) = run_shell("openssl s_client -connect 127.0.0.1:$http_port -alpn h2 </dev/null 2>&1");
like($out, qr/alert no application protocol/, 'and what it does not');

# ---- headgate, and with it libheadgate ----

sub operator { my ($words) = @_; return run_shell("$headgate $words --at localhost:$resp_port 2>&1") }
($status, $out) = operator('check alice --tls --cacert ca.pem');
like("$status $out", qr/^0 allowed  alice under default: /, 'headgate --tls is answered');
($status, $out) = operator('rules list --tls --cacert ca.pem --json');
is($status, 0, 'headgate rules --tls as well') or diag($out);
my $rules = join "\n", map { "- {id: r$_, service: s$_, by: user, rate: 10/s, allow: [" . ('x' x 150) . ']}' } 1 .. 600;
Headgate::write_file("$dir/rules.yaml", "rules:\n$rules\n");
($status, $out) = operator("rules apply $dir/rules.yaml --tls --cacert ca.pem");
is($status, 0, 'much is said') or diag($out);
($status, $out) = operator('rules export --tls --cacert ca.pem');
is(scalar(() = $out =~ /^\s*(?:- )?id: r\d+$/mg), 600, 'and much is read');
for (['--tls --cacert other/ca.pem', 69, qr/no TLS with localhost:$resp_port: its certificate is refused: /],
     ['--tls --cacert none.pem', 66, qr/none\.pem cannot be read: No such file/],
     ['--tls --cacert ca.key', 69, qr/no TLS with localhost:$resp_port: ca.key: expected a file of certificates/],
     ['', 69, qr/the daemon at localhost:$resp_port closed the connection\n.*: is --tls missing\?$/],
     ['--cacert ca.pem', 64, qr/--cacert, --cert and --key have no effect without --tls/],
     ['--tls --cert client.pem', 64, qr/--cert and --key belong together/],
     ['--user ann', 64, qr/--user needs the user's secret in \$HEADGATE_PASSWORD/]) {
    my ($words, $expected, $sentence) = @$_;
    ($status, $out) = operator("info $words");
    is($status, $expected, "info $words: exit status $expected");
    like($out, $sentence, 'and a sentence');
}

subtest 'headgate load' => sub {
    my $count = sub { $figures->fields('INFO', 'clients')->{$_[0]} };
    my $before = $count->('tls_handshakes');
    ($status, $out) = operator('load --tls --cacert ca.pem --json --burst 3000 --connections 3 --keys 50');
    my $report = eval { decode_json($out) } // diag($out);
    is($status, 0, 'it asks over TLS');
    is($report->{targets}[0]{answered}, 3000, 'each request is answered');
    is($report->{targets}[0]{$_}, 0, "none is among $_") for qw(errors lost);
    is($count->('tls_handshakes') - $before, 4, 'three connections, and one to ask for the limit');
    for my $seconds (0.5, 2, 8) { # half of a second, if nothing else runs
        ($status, $out) = operator("load --tls --cacert ca.pem --json --rate 2000 --seconds $seconds --expect-bound");
        $report = eval { decode_json($out) } // diag($out);
        last if $report && $report->{targets}[0]{answered} > 500;
    }
    is($status, 0, 'at a rate, too, and the bound is judged');
    cmp_ok($report->{targets}[0]{answered}, '>', 500, 'of all that was answered');
    my $requests = 0;
    for my $seconds (0.3, 2, 8) {
        ($status, $out) =
            operator("load --tls --cacert ca.pem --json --seconds $seconds --pipeline 4000 --connections 2");
        $requests = eval { decode_json($out)->{requests} } // 0;
        last if $requests > 8000;
    }
    cmp_ok($requests, '>', 8000, 'long pipelines go through') or diag($out);
};
for (['--tls --cacert other/ca.pem', 69, qr/no TLS with localhost:$resp_port: its certificate is refused: /],
     ['--cacert ca.pem', 64, qr/--cacert, --cert and --cert-key have no effect without --tls/],
     ['--tls --cert client.pem', 64, qr/--cert and --cert-key belong together/],
     ['--user ann', 64, qr/--user needs the user's secret in \$HEADGATE_PASSWORD/]) {
    my ($words, $expected, $sentence) = @$_;
    ($status, $out) = operator("load --seconds 0.1 $words");
    is($status, $expected, "load $words: exit status $expected");
    like($out, $sentence, 'and a sentence');
}
($status, $out) = run_shell("$headgate info --tls --cacert ca.pem --at 127.0.0.1:$resp_port 2>&1");
is($status, 0, 'an address is a name of the certificate');
($status, $out) = run_shell("$headgate info --tls --cacert ca.pem --at ip6-localhost:$resp_port 2>&1");
isnt($status, 0, 'another name is not');
($status, $out) = run_shell("$headgate info --tls --cacert ca.pem --at localhost:$daemon->{ports}{clients} 2>&1");
like("$status $out", qr/^69 .*no TLS with localhost:\d+: /, 'a port in clear speaks no TLS');

# ---- who speaks none ----

my $plain = Headgate::Client::connect("127.0.0.1:$resp_port")->send_raw("PING\r\n");
ok($plain->closed, 'whoever speaks no TLS is closed,');
is(figure('tls_plain'), 2, 'and counted, with the one before');
my $lines = () = $daemon->log =~ /\n/g;
Headgate::Client::connect("127.0.0.1:$resp_port")->send_raw("\x16\x03\x03\x00\x05 junk and more")->closed for 1 .. 5;
ok(Headgate::wait_until(10, sub { figure('tls_failures') >= $failed + 5 }), 'and so is junk');
is(() = $daemon->log =~ /\n/g, $lines, 'without a line in the log for each');
is($daemon->stop, 0, 'it ends');

# ---- certificates of clients ----

$settings->{tls} = {certificate => "$dir/client.pem", key => "$dir/client.key", client_ca => "$dir/ca.pem"};
$daemon->write_config->start;
$figures = $daemon->client;
($status, $out) = redis('--cacert ca.pem', 'PING');
unlike($out, qr/PONG/, 'without a certificate: refused');
($status, $out) = redis('--cacert ca.pem --cert client.pem --key client.key', 'PING');
is("$status $out", "0 PONG\n", 'with one: answered');
($status, $out) = operator('info clients --tls --cacert ca.pem --cert client.pem --key client.key');
like("$status $out", qr/^0 .*tls_handshakes/s, 'headgate, too');
($status, $out) = operator('info --tls --cacert ca.pem');
like("$status $out", qr/^69 .*: TLS has failed: .*certificate required/, 'and without one it says why not');
($status, $out) = redis('--cacert ca.pem --cert other/stranger.pem --key other/stranger.key', 'PING');
unlike($out, qr/PONG/, 'with one of another authority: refused');
run_shell("openssl req -new -key client.key -subj /CN=late -out late.csr && openssl x509 -req -in late.csr -days 1"
          . ' -CA ca.pem -CAkey ca.key -out late.pem -set_serial 7 -days -1');
($status, $out) = redis('--cacert ca.pem --cert late.pem --key client.key', 'PING');
unlike($out, qr/PONG/, 'with one that has ended: refused');
is(figure('tls_handshakes'), 2, 'two clients were let in');
($status, $out) = operator('load --tls --cacert ca.pem --cert client.pem --cert-key client.key --burst 9 --json');
is($status, 0, 'and headgate load with a certificate') or diag($out);
($status, $out) = operator('load --tls --cacert ca.pem --burst 9');
is($status, 69, 'which is not without');
$settings->{clients} = {request_timeout => '1s'}; # only now: all others may be slower
$daemon->write_config;
is_deeply($figures->command('RELOAD')->[1], ['clients.request_timeout'], 'another deadline');
my $half = Headgate::Client::connect("127.0.0.1:$resp_port")->send_raw("\x16\x03\x01\x02\x00");
ok($half->closed, 'half a handshake is closed');
ok(figure('closed_unfinished') >= 1, 'at the deadline of requests');
unlike($daemon->log, qr{tls.certificate $dir/node.pem ends}, 'a certificate for a year is no news');
like($daemon->log, qr/ warning tls.certificate \Q$dir\E\/client.pem ends in 6 days: renew it, and reload\n/,
     'one for a week is');
is($daemon->stop, 0, 'it ends');

done_testing();
