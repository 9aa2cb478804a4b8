#!/usr/bin/perl
# The config is read again while a daemon runs: by a signal, a command, and over HTTP. What it takes over, what it names
# as waiting for a restart, and that a mistake leaves everything as it was.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use Rotation;
use Test::More;
use POSIX ();
use Time::HiRes qw(time);

my $dir = Headgate::scratch() . '/certs';
my ($status, undef, $err) = Headgate::run(10, Headgate::headgate(), 'certs', '--dir', $dir, 'first', 'localhost');
is("$status$err", '0', 'a certificate');
($status, undef, $err) = Headgate::run(10, Headgate::headgate(), qw(certs --days 7 --dir), $dir, qw(second localhost));
is("$status$err", '0', 'and another one');
my $secret = Headgate::write_file(Headgate::scratch() . '/grafana.secret', "of-grafana\n");
chmod 0600, $secret;

my ($tls_port) = Headgate::free_ports(1);
my $daemon = Headgate::cluster(
    regions => ['here'], listen_http => 1, threads => 2, max_connections => 40, log_level => 'warning',
    tls => {certificate => "$dir/first.pem", key => "$dir/first.key"}, clients => {idle_timeout => '1h'},
    users => [{name => 'admin', roles => 'check, read, admin', secret => 'of-admin'},
              {name => 'grafana', roles => 'read', secret_file => $secret},
              {name => 'former', roles => 'check', secret => 'of-former'}],
)->daemon('here');
my $settings = $daemon->{settings};
$settings->{listen}{clients_tls} = "127.0.0.1:$tls_port";
$daemon->write_config->spawn;

sub user {
    my ($name, $secret) = @_;
    my $client = $daemon->client;
    my $said = '' . $client->command('AUTH', $name, $secret);
    return $said eq 'OK' ? $client : undef;
}
sub reload { my ($client) = @_; $daemon->write_config; return $client->command('RELOAD') }
sub serial {
    my $shown = "openssl s_client -connect 127.0.0.1:$tls_port </dev/null 2>/dev/null";
    my (undef, $out) = Headgate::run(20, 'sh', '-c', "$shown | openssl x509 -noout -subject");
    return $out =~ /CN = (\w+)/ ? $1 : 'none';
}

my $admin;
ok(Headgate::wait_until(20, sub { $admin = eval { user('admin', 'of-admin') } }), 'the daemon serves');
my ($grafana, $former) = (user('grafana', 'of-grafana'), user('former', 'of-former'));
my $http = Http::connect($daemon);
my @admin = ('Authorization: Bearer admin:of-admin');

subtest 'nothing' => sub {
    is_deeply([@{reload($admin)}[0 .. 3, 6, 7]], ['changed', [], 'needs_restart', [], 'renewed', []],
              'what is the same changes nothing');
    like('' . $grafana->command('RELOAD'), qr/^NOPERM /, 'it needs the role admin');
    is($http->post('/v1/reload', '')->{status}, 401, 'over HTTP as well');
    my $answer = $http->post('/v1/reload', '', 'Authorization: Bearer grafana:of-grafana');
    is($answer->{status}, 403, 'and another is not enough');
    is($http->get('/v1/reload', @admin)->{status}, 405, 'nobody reloads by a look');
};

subtest 'log level' => sub {
    $settings->{log_level} = 'debug';
    is_deeply(reload($admin)->[1], ['log_level'], 'it is taken over');
    my $line = qr/ info RELOAD: \Q$daemon->{config}\E is read again, changed: log_level\n/;
    ok(Headgate::wait_until(10, sub { $daemon->log =~ $line }), 'and the line about it is there already');
};

subtest 'a mistake changes nothing' => sub {
    $settings->{log_level} = 'error';
    $settings->{interval} = '70s';
    my $said = '' . reload($admin);
    like($said, qr/^ERR \Q$daemon->{config}\E:\d+: interval is '70s': expected a duration from 1 ms to 1 m/,
         'RELOAD says it');
    my $answer = $http->post('/v1/reload', '', @admin);
    is($answer->{status}, 422, 'HTTP says it');
    like($answer->{json}{detail}, qr/: interval is '70s': expected/, 'in the same sentence');
    my $failed = sub { $http->get('/metrics', @admin)->{body} =~ /^headgate_config_last_reload_successful 0$/m };
    ok($failed->(), '/metrics has it');
    is($grafana->fields('INFO', 'server')->{config_last_reload_successful}, 0, 'so has INFO');
    $daemon->signal('HUP');
    ok(Headgate::wait_until(10, sub { $daemon->log =~ / warning SIGHUP: nothing is changed: .*: interval is '70s'/ }),
       'the log says it, so the level is the old one');
    delete $settings->{interval};
    $settings->{tls} = {certificate => "$dir/first.pem", key => "$dir/second.key"};
    like('' . reload($admin), qr/tls.key is '\Q$dir\E\/second.key': expected the key of the certificate/,
         'a wrong key');
    chmod 0644, $secret;
    $settings->{tls} = {certificate => "$dir/second.pem", key => "$dir/second.key"};
    like('' . reload($admin), qr/users\[1\]\.secret_file is .*: expected a file that others cannot read/,
         'an open secret');
    chmod 0600, $secret;
    my %kept = %{$settings->{users}[1]};
    POSIX::mkfifo("$dir/pipe", 0600) or die "$dir/pipe: $!";
    $settings->{users}[1]{secret_file} = "$dir/pipe";
    like('' . reload($admin), qr/users\[1\]\.secret_file is '\S+pipe': expected a file that is no pipe, as a daemon /,
         'a pipe for a secret, which nobody writes to');
    $settings->{users}[1] = \%kept;
    $settings->{tls}{certificate} = "$dir/pipe";
    like('' . reload($admin), qr/tls\.certificate is '\S+pipe': expected a file that is no pipe/, 'for a certificate');
    $settings->{tls} = {certificate => "$dir/second.pem", key => "$dir/second.key"};
    is(serial(), 'first', 'nothing of it is in use');
    unlink $daemon->{config};
    like('' . $admin->command('RELOAD'), qr/^ERR \Q$daemon->{config}\E cannot be read: No such file/, 'no file at all');
    POSIX::mkfifo($daemon->{config}, 0600) or die "$daemon->{config}: $!";
    like('' . $admin->command('RELOAD'), qr/^ERR \Q$daemon->{config}\E is a pipe: expected a config file/,
         'a pipe, which nobody writes to');
    unlink $daemon->{config};
    is($admin->command('CAN_ACCESS', 'a'), 1, 'and it serves on');
    $settings->{log_level} = 'debug';
};

subtest 'certificates' => sub {
    my ($ends) = (Headgate::run(10, 'openssl', 'x509', '-in', "$dir/first.pem", '-noout', '-enddate'))[1] =~ /=(.*)/;
    my $seconds = sub { (Headgate::run(10, 'date', '-d', $_[0], '+%s'))[1] + 0 };
    is($grafana->fields('INFO', 'server')->{certificate_ends}, $seconds->($ends), 'INFO says when the first ends');
    my $before = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$tls_port");
    $daemon->write_config;
    $daemon->signal('HUP');
    ok(Headgate::wait_until(10, sub { serial() eq 'second' }), 'new connections are shown the second');
    my $reloaded = $http->get('/metrics', @admin)->{body};
    like($reloaded, qr/^headgate_config_last_reload_successful 1$/m, '/metrics has a success');
    my ($at_s) = $reloaded =~ /^headgate_config_last_reload_success_timestamp_seconds (\d+)$/m;
    cmp_ok(abs($at_s - time), '<', 60, 'of just now');
    like($daemon->log, qr/ info SIGHUP: .* changed: tls.certificate, tls.key\n/, 'the log says what changed');
    unlike($daemon->log, qr/ warning SIGHUP: the new limits/, 'and nothing of limits, which are as before');
    like($daemon->log, qr/ warning tls.certificate \Q$dir\E\/second.pem ends in [67] days: renew it, and reload\n/,
         'and that it ends soon');
    ($ends) = (Headgate::run(10, 'openssl', 'x509', '-in', "$dir/second.pem", '-noout', '-enddate'))[1] =~ /=(.*)/;
    my $metrics = $http->get('/metrics', @admin)->{body};
    my $at = $seconds->($ends);
    like($metrics, qr/^headgate_tls_certificate_expiry_timestamp_seconds\{ports="clients"\} $at$/m, 'so does /metrics');
    rename "$dir/first.$_", "$dir/second.$_" for qw(pem key);
    my $answer = $http->post('/v1/reload', '', @admin);
    is_deeply([@{$answer->{json}}{qw(changed needs_restart renewed)}], [[], [], ['tls.certificate']], 'the same names');
    is(serial(), 'first', 'with other files');
    cmp_ok($answer->{json}{certificate_ends}, '>', $seconds->($ends), 'the answer says when it ends');
    Headgate::write_file("$dir/later.cnf", "[ca]\ndefault_ca = a\n[a]\ndatabase = $dir/index\nserial = $dir/serial\n"
                         . "new_certs_dir = $dir\ndefault_md = sha256\npolicy = p\n[p]\ncommonName = supplied\n");
    Headgate::write_file("$dir/index", '');
    Headgate::write_file("$dir/serial", "01\n");
    my $begins = POSIX::strftime('%Y%m%d%H%M%SZ', gmtime(time + 7200));
    my $made = "openssl req -new -key second.key -subj /CN=second -out later.csr && openssl ca -batch -notext -config "
        . "later.cnf -cert ca.pem -keyfile ca.key -in later.csr -out second.pem -startdate $begins -days 9";
    is((Headgate::run(20, 'sh', '-c', "cd $dir && $made"))[0], 0, 'a certificate that begins in two hours');
    is_deeply($http->post('/v1/reload', '', @admin)->{json}{renewed}, ['tls.certificate'], 'it is taken over');
    my $warned = qr/ warning tls.certificate \S+ begins in (?:2 h|7[01]\d\d s|119 min): clients refuse it until then/;
    ok(Headgate::wait_until(10, sub { $daemon->log =~ $warned }), 'and the log says that it is early');
};

subtest 'users' => sub {
    Headgate::write_file($secret, "of-grafana-now\n");
    my $reads = sub {
        my $reader = Headgate::Client::connect("127.0.0.1:$daemon->{ports}{http}");
        $reader->send_raw("GET /v1/live HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer $_[0]\r\n\r\n");
        $reader->need while $reader->{buffer} !~ /\ndata: /;
        return $reader;
    };
    my ($its, $admins) = ($reads->('grafana:of-grafana'), $reads->('admin:of-admin'));
    $settings->{users}[1]{roles} = 'check';
    $settings->{users}[2] = {name => 'new', roles => 'check', secret => 'of-new'};
    is_deeply(reload($admin)->[1], ['users'], 'they are taken over');
    is(user('grafana', 'of-grafana'), undef, 'an old secret is wrong now');
    ok(user('grafana', 'of-grafana-now'), 'a new one is right');
    is($grafana->command('CAN_ACCESS', 'a'), 1, 'a connection that is there has the new role');
    like('' . $grafana->command('INFO'), qr/^NOPERM /, 'and only that');
    ok(Headgate::wait_until(3, sub { !$its->fill }), 'one that reads /v1/live ends with the role');
    my $had = length $admins->{buffer};
    $admins->need while length $admins->{buffer} < $had + 1000;
    ok(1, 'that of another user reads on');
    is('' . $former->command('CAN_ACCESS', 'a'), 'NOAUTH Authentication required.', 'who is no user is asked again');
    ok(user('new', 'of-new'), 'a new user is let in');
    is('' . $former->command('AUTH', 'new', 'of-new'), 'OK', 'on that connection, too');
    is('' . $former->command('CAN_ACCESS', 'a'), 1, 'which goes on');
    delete $settings->{users};
    is_deeply([@{reload($admin)}[1, 3]], [[], ['users']], 'that nobody is asked any more needs a restart');
    ok(!eval { $daemon->client->command('CAN_ACCESS', 'a') eq '1' }, 'and is not so');
    $settings->{users} = [{name => 'admin', roles => 'check, read, admin', secret => 'of-admin'}];
};

subtest 'limits of connections' => sub {
    $settings->{max_connections} = 5;
    my @there = map { user('admin', 'of-admin') } 1 .. 6;
    is_deeply(reload($admin)->[1], ['max_connections', 'users'], 'the bound is taken over');
    ok(Headgate::wait_until(10, sub {
        my $client = $daemon->client;
        return ('' . eval { $client->line }) =~ /max number of clients/;
    }), 'new ones are refused in each thread');
    is(scalar(grep { $_->command('PING') eq 'PONG' } @there), 6, 'those that are there stay');
    $_->close for @there;
    $settings->{max_connections} = 41;
    is_deeply([@{reload($admin)}[1, 3]], [[], ['max_connections']], 'more than at the start needs a restart');
    $settings->{max_connections} = 40;
    $settings->{clients} = {idle_timeout => '1s'};
    is_deeply(reload($admin)->[1], ['clients.idle_timeout', 'max_connections'], 'up again, and another timeout');
    my $idle; # one that is closed before it has said who it is comes again
    Headgate::wait_until(10, sub { $idle = eval { user('admin', 'of-admin') } });
    ok($idle->closed, 'which is that of the connections');
    # What follows may take longer than a second, so those who are idle stay again.
    $settings->{clients} = {idle_timeout => '1h'};
    my $taken = Headgate::wait_until(10, sub { eval { reload($admin = user('admin', 'of-admin')) } });
    is_deeply($taken && $taken->[1], ['clients.idle_timeout'], 'and back again');
};

subtest 'HTTP' => sub {
    my $alone = Headgate::cluster(regions => ['here'], listen_http => 1, listen_grpc => 1, threads => 2,
                                  limits => [{name => 'default', capacity => 3, rate => '1/h'}])->start->daemon('here');
    my @clients = map { Http::connect($alone) } 1 .. 8;
    my $ask = sub { my ($client, @lines) = @_; return $client->get('/check', @lines) };
    is($ask->($clients[0], 'X-User: ann')->{status}, 400, 'no header says who asks');
    my $send = sub { my ($http) = @_; $alone->{settings}{http} = $http; $alone->write_config };
    my $reload = sub { $send->(@_); return $alone->client->command('RELOAD') };
    my $force = sub { my ($test) = @_; return Headgate::wait_until(10, sub { !grep { !$test->($_) } @clients }) };
    is_deeply($reload->({request_headers => '"user=X-User"'})->[1], ['http.request_headers'], 'one does now');
    ok($force->(sub { $ask->($_[0], 'X-User: ann')->{status} == 429 }), 'on connections that are there');
    my $rules = 'rules: [{id: x, by: user, endpoint: /v1/x, rate: 0}]';
    is($alone->client->command('RULE', 'APPLY', $rules), 1, 'a rule of a path');
    my $rule_of = sub { my ($client, $path) = @_; $client->get("/check?user=eve&endpoint=$path")->{json}{rule} };
    is(join(' ', map { $rule_of->($clients[0], $_) } '/v1//x', '/V1/X'), 'x default', 'counts some spellings');
    is_deeply($reload->({request_headers => '"user=X-Id"', limit_headers => 'draft-10',
                         endpoint_spelling => 'ignore-case'})->[1],
              ['http.limit_headers', 'http.request_headers', 'http.endpoint_spelling'],
              'another header, and other fields in answers');
    ok($force->(sub {
        my $answer = $ask->($_[0], 'X-User: ann', 'X-Id: bob');
        return $answer->{status} == 429 && defined $answer->{head}{ratelimit} &&
            !exists $answer->{head}{'x-ratelimit-limit'} && $ask->($_[0], 'X-User: ann')->{status} == 400;
    }), 'are in force as well');
    ok($force->(sub { $rule_of->($_[0], '/V1/X') eq 'x' }), 'and an endpoint has others');
    like('' . $reload->({request_headers => '"user"', limit_headers => 'none'}),
         qr/^ERR \Q$alone->{config}\E:\d+: http\.request_headers is 'user': expected at most 12 of name=Header/,
         'a mistake is refused with its line');
    ok(defined $ask->($clients[0], 'X-Id: bob')->{head}{ratelimit}, 'and changes nothing');
    $send->({request_headers => '"user=X-User"', endpoint_spelling => 'ignore-case'});
    $alone->{settings}{grpc} = {limit_headers => 'none', memory => '8MiB', endpoint_spelling => 'as-written'};
    $alone->write_config->signal('HUP');
    my $names = join ', ', qw(http.limit_headers http.request_headers grpc.limit_headers grpc.endpoint_spelling
                              grpc.memory);
    my $line = qr/ info SIGHUP: .* \Q$names\E\n/;
    ok(Headgate::wait_until(10, sub { $alone->log =~ $line }), 'a signal does it, and gRPC changes as well');
    ok($force->(sub { exists $ask->($_[0], 'X-User: ann')->{head}{'x-ratelimit-limit'} }), 'for all threads');
    $alone->{settings}{grpc}{memory} = '65MiB';
    is_deeply([@{$reload->({})}[1, 3]], [['http.request_headers', 'http.endpoint_spelling'], ['grpc.memory']],
              'more memory for gRPC than at the start needs a restart');
    is($alone->stop, 0, 'it ends');
};

subtest 'what needs a restart' => sub {
    $settings->{interval} = '90ms';
    $settings->{limits} = [{name => 'default', capacity => 200, rate => '100/s'}];
    is_deeply([@{reload($admin)}[1, 3]], [['limits'], ['interval']], 'is named');
    ok(Headgate::wait_until(10, sub {
        $daemon->log =~ / warning RELOAD: changed, but needs a restart: interval\n/
    }), 'in the log as well');
    like($daemon->log, qr/ warning RELOAD: daemons that differ in interval do not decide side by side: restart/,
         'with what to do about it');
    is($admin->fields('INFO', 'limits')->{limit_default} =~ /capacity=(\d+)/ && $1, 200, 'limits are in use');
};

is($daemon->stop, 0, 'it ends');
is_deeply([grep { index($daemon->log, $_) >= 0 } qw(of-grafana of-admin of-new of-former)], [],
          'the log has no secret');

subtest 'the secret is rotated under load' => sub {
    my $cluster = Headgate::cluster(%Rotation::options, secret => 'old')->start;
    ok($cluster->wait_met(20), 'three daemons of one secret');
    my @daemons = $cluster->daemons;
    Rotation::under_load($cluster, 'old', 'new', sub {
        my ($one, @secrets) = @_;
        delete $one->{settings}{secret};
        $one->{settings}{secrets} = '[' . join(', ', @secrets) . ']';
        $one->{settings}{hash_seed} = 'old';
        $one->write_config;
    });
    $daemons[0]{settings}{secrets} = '[old]';
    $daemons[0]->write_config->signal('HUP');
    ok(Headgate::wait_until(20, sub { (Rotation::figures('messages_unsealed', @daemons))[1] > 0 }),
       'the old one is worth nothing now');
    ok($cluster->stop, 'they end');
};

subtest 'a flood of signals' => sub {
    my $alone = Headgate::cluster(regions => ['here'])->daemon('here')->start;
    my $began = time;
    $alone->signal('HUP') for 1 .. 20_000;
    $alone->{settings}{log_level} = 'debug';
    $alone->write_config->signal('HUP');
    ok(Headgate::wait_until(10, sub { $alone->log =~ / info SIGHUP: .* changed: log_level\n/ }),
       'the config of the last one is in force');
    my $reloads = () = $alone->log =~ / info SIGHUP: /g;
    cmp_ok($reloads, '<=', 2 + (time - $began) / 0.1, 'and all of them cost one reload in 0.1 s at most');
};

done_testing();
