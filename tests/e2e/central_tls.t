#!/usr/bin/perl
# The central store over TLS: two real daemons and a redis-server that speaks nothing else, and wants certificates.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use List::Util qw(sum0);
use Test::More;

plan skip_all => 'no redis-server' if system('command -v redis-server >/dev/null') != 0;

my $scratch = Headgate::scratch();
my $certs = "$scratch/certs";
sub certs {
    my ($status, undef, $err) = Headgate::run(10, Headgate::headgate(), 'certs', @_);
    return is("$status$err", '0', "certificates: @_");
}
certs('--dir', $certs, 'store', '127.0.0.1', 'store.internal');
certs('--dir', $certs, 'daemon');
certs('--dir', "$certs/other", 'stranger');
my ($port, $plain_port) = Headgate::free_ports(2);
my $log = "$scratch/redis.log";
my $redis_pid;

sub start_redis {
    my (@options) = @_;
    my @command = ('redis-server', '--save', '', '--appendonly', 'no', '--dir', $scratch, @options);
    $redis_pid = Headgate::spawn($log, $log, @command);
    return;
}

sub end_redis {
    kill 'KILL', $redis_pid;
    waitpid $redis_pid, 0;
    delete $Headgate::running{$redis_pid};
    return;
}

my @tls = ('--port', 0, '--tls-port', $port, '--tls-cert-file', "$certs/store.pem", '--tls-key-file',
           "$certs/store.key", '--tls-ca-cert-file', "$certs/ca.pem", '--requirepass', 'of-the-store');
start_redis(@tls);
my %central = (address => "127.0.0.1:$port", password => 'of-the-store', timeout => '5s', tls => 'true',
               tls_ca => "$certs/ca.pem", tls_certificate => "$certs/daemon.pem", tls_key => "$certs/daemon.key");
my $cluster = Headgate::cluster(regions => ['east', 'west'], threads => 2, central => {%central});
my @daemons = $cluster->start->daemons;
my ($east) = @daemons;
ok($cluster->wait_met(20), 'two daemons');

# Each thread has a connection of its own: while one of them has none, its requests go by when_down.
sub state_of {
    my ($daemon) = @_;
    my $info = $daemon->client->fields('INFO', 'central');
    my $state = $info->{central_state} // 'none';
    return $info->{central_connections} == ($state eq 'up' ? 2 : 0) ? $state : 'changing';
}

sub wait_state {
    my ($state, $what) = @_;
    return ok(Headgate::wait_until(20, sub { !grep { state_of($_) ne $state } @daemons }), $what)
        || diag(map { $_->log } @daemons);
}
wait_state('up', 'the store answers over TLS');
my $rule = '{id: exact, service: s, by: user, algorithm: fixed_window, limit: 1000, window: 1h, sync: central}';
is($east->client->command('RULE', 'SET', $rule), 'OK', 'a rule that the store decides');
my $peek = sub { $daemons[1]->client->command('PEEK', qw(user=z SERVICE s))->[5] };
ok(Headgate::wait_until(20, sub { eval { $peek->() eq 'exact' } }), 'both daemons have it');

# Long pipelines of both fill many records. What a thread has taken in advance and did not use comes back in a second.
sub admitted {
    my ($user, $count) = @_;
    return sum0 map {
        my $client = $_->client;
        sum0 map { $_->[0] } $client->pipeline((['CHECK', "user=$user", 'SERVICE', 's']) x $count);
    } @daemons, @daemons;
}

sub admits_1000 {
    my ($user, $what) = @_;
    my $sum = admitted($user, 800);
    Headgate::wait_until(20, sub { $sum >= 1000 || ($sum += admitted($user, 50)) >= 1000 });
    return is($sum + admitted($user, 50), 1000, $what);
}
admits_1000('ann', 'of more than 3,200 requests at both, exactly 1,000 are admitted');
my $unencrypted = Headgate::Client::connect("127.0.0.1:$port");
$unencrypted->send_raw("PING\r\n");
ok(!eval { $unencrypted->line =~ /PONG/ }, 'the store does not speak in clear');

end_redis();
wait_state('down', 'it dies');
start_redis(@tls);
wait_state('up', 'and is found again');
admits_1000('bob', 'and asked');

# ---- who is not trusted ----

sub with {
    my ($sentence, $what, %change) = @_;
    is($east->stop(20), 0, 'it leaves');
    $east->{settings}{central} = {%central, %change};
    delete $east->{settings}{central}{$_} for grep { !defined $change{$_} } keys %change;
    my $before = length $east->log;
    $east->write_config->start(20);
    ok(Headgate::wait_until(20, sub { substr($east->log, $before) =~ $sentence }), $what)
        or diag(substr $east->log, $before);
    return;
}
my $down = qr/ warning the central store at 127\.0\.0\.1:\d+ is down: /;
with(qr/${down}its certificate is refused: /, 'a store of another authority is not asked',
     tls_ca => "$certs/other/ca.pem");
with(qr/${down}its certificate is refused: /, 'nor one of another name', tls_name => 'another.internal');
with(qr/ info the central store at 127\.0\.0\.1:\d+ answers/, 'the name may be said', tls_name => 'store.internal');
with(qr/${down}(?!it has not answered yet)/, 'a store that wants a certificate does not take none',
     tls_certificate => undef, tls_key => undef);
end_redis();
start_redis('--port', $plain_port, '--requirepass', 'of-the-store');
with(qr/${down}\S/, 'a store in clear is not asked', address => "127.0.0.1:$plain_port");
unlike(Headgate::read_file($log), qr/of-the-store/, 'nor told the password');
is($east->client->command('CHECK', qw(user=carl SERVICE s))->[0], 1, 'the rule goes by its when_down');

# ---- mistakes ----

sub refuses {
    my ($sentence, %change) = @_;
    $east->{settings}{central} = {address => "127.0.0.1:$port", %change};
    $east->write_config;
    my ($status, undef, $err) = Headgate::run(10, Headgate::headgated(), '--check-config', '-c', $east->{config});
    is($status, 78, join ' ', 'a mistake in', sort keys %change);
    like($err, $sentence, 'in a sentence');
    return;
}
refuses(qr/:\d+: central\.tls_ca has no effect without central\.tls: true$/m, tls_ca => "$certs/ca.pem");
refuses(qr/:\d+: central\.tls_ca is '\S+none\.pem': expected a file of certificates in PEM \(/, tls => 'true',
        tls_ca => "$certs/none.pem");
refuses(qr/: central has one of tls_certificate and tls_key: expected both, or neither$/m, tls => 'true',
        tls_certificate => "$certs/daemon.pem");
refuses(qr/:\d+: central\.tls_key is '\S+store\.key': expected the key of the certificate /, tls => 'true',
        tls_certificate => "$certs/daemon.pem", tls_key => "$certs/store.key");
chmod 0644, "$certs/daemon.key";
refuses(qr/:\d+: central\.tls_key is '\S+daemon\.key': expected a file that others cannot read/, tls => 'true',
        tls_certificate => "$certs/daemon.pem", tls_key => "$certs/daemon.key");
ok($cluster->stop(20), 'all leave');

done_testing();
