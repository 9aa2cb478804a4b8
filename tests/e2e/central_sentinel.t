#!/usr/bin/perl
# A central store that sentinels know: a real redis-server with a replica, and three real sentinels, once in clear and
# once where all of them speak TLS only and want certificates. The store is killed, another one takes its place, and the
# daemon finds it, with what was counted.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

plan skip_all => 'no redis-server and redis-sentinel'
    if system('command -v redis-server >/dev/null && command -v redis-sentinel >/dev/null') != 0;

my $certs = Headgate::scratch() . '/certs';
for (['store', '127.0.0.1'], ['sentinel', '127.0.0.1', 'watch.internal'], ['daemon']) {
    my ($status, undef, $err) = Headgate::run(10, Headgate::headgate(), 'certs', '--dir', $certs, @$_);
    is("$status$err", '0', "certificates: @$_");
}

sub test_failover {
    my ($tls) = @_;
    my ($master, $replica, @sentinels) = Headgate::free_ports(5);
    my ($gone) = Headgate::free_ports(1);    # a sentinel that is not there is passed over
    my $scratch = Headgate::scratch() . ($tls ? '/tls' : '/clear');
    mkdir $scratch;
    my (%pid, $daemon);
    my @ca = ('--cacert', "$certs/ca.pem", '--cert', "$certs/daemon.pem", '--key', "$certs/daemon.key");
    my $redis = sub {
        my ($port, @words) = @_;
        my ($status, $out) = Headgate::run(10, 'redis-cli', '-p', $port, $tls ? ('--tls', @ca) : (), @words);
        return $out =~ s/\n\z//r;
    };
    my $start = sub {
        my ($port, $program, @options) = @_;
        mkdir "$scratch/$port";
        my $log = "$scratch/$port.log";
        my $name = $program eq 'redis-server' ? 'store' : 'sentinel';
        my @port = !$tls ? ('--port', $port)
            : ('--port', 0, '--tls-port', $port, '--tls-cert-file', "$certs/$name.pem", '--tls-key-file',
               "$certs/$name.key", '--tls-ca-cert-file', "$certs/ca.pem", '--tls-replication', 'yes');
        $pid{$port} = Headgate::spawn($log, $log, $program, @options, @port, '--dir', "$scratch/$port",
                                      '--bind', '127.0.0.1');
        return Headgate::wait_until(10, sub { $redis->($port, 'PING') eq 'PONG' });
    };
    # Ends what was started: it would be there during the other half of this file.
    my $end = sub {
        kill 'KILL', $_ for values %pid;
        for (values %pid) { waitpid $_, 0; delete $Headgate::running{$_} }
    };

    ok($start->($master, 'redis-server', '--save', ''), 'a redis-server');
    ok($start->($replica, 'redis-server', '--save', '', '--replicaof', "127.0.0.1 $master"), 'and its replica');
    for my $port (@sentinels) {
        my $config = Headgate::write_file("$scratch/$port.conf", <<"CONFIG");
sentinel monitor limits 127.0.0.1 $master 2
sentinel down-after-milliseconds limits 500
sentinel failover-timeout limits 2000
CONFIG
        ok($start->($port, 'redis-sentinel', $config), 'a sentinel');
    }
    my $met = Headgate::wait_until(30, sub {
        for (@sentinels) {
            my %master = split /\n/, $redis->($_, 'SENTINEL', 'master', 'limits');
            return 0 if $master{'num-other-sentinels'} != 2 || $master{'num-slaves'} != 1;
        }
        return $redis->($replica, 'INFO', 'replication') =~ /master_link_status:up/;
    });
    ok($met, 'they know each other');

    my %tls = !$tls ? () : (tls => 'true', tls_ca => "$certs/ca.pem", tls_certificate => "$certs/daemon.pem",
                            tls_key => "$certs/daemon.key");
    my $cluster = Headgate::cluster(regions => ['here'], threads => 2,
                                    central => {sentinels => join(', ', map { "127.0.0.1:$_" } $gone, @sentinels),
                                                master => 'limits', timeout => '2s', %tls});
    $daemon = $cluster->daemon('here')->start;
    my $client = $daemon->client;
    my $state = sub { return $client->fields('INFO', 'central')->{central_state} };
    ok(Headgate::wait_until(20, sub { $state->() eq 'up' }), 'the daemon finds the store') or diag $daemon->log;
    my $rules = "rules:\n  - {id: r, service: s, by: user, rate: 10/h, sync: central}\n";
    is($client->command('RULE', 'APPLY', $rules), 1, 'a rule');
    is($client->command('CHECK', 'user=ann', 'SERVICE', 's', 'COST', 7)->[2], 3, 'seven of ten are used');
    ok(Headgate::wait_until(10, sub { $redis->($replica, 'DBSIZE') =~ /1/ }), 'and the replica knows');

    kill 'KILL', $pid{$master};
    ok(Headgate::wait_until(10, sub { $state->() eq 'down' }), 'the store is killed');
    my $elected = Headgate::wait_until(30, sub { $redis->($replica, 'INFO', 'replication') =~ /role:master/ });
    ok($elected, 'the replica takes its place');
    ok(Headgate::wait_until(20, sub { $state->() eq 'up' }), 'the daemon finds it') or diag $daemon->log;
    is($client->command('CHECK', 'user=ann', 'SERVICE', 's', 'COST', 4)->[0], 0, 'what was used is used');
    is($client->command('CHECK', 'user=ann', 'SERVICE', 's', 'COST', 3)->[0], 1, 'and no more');
    is($daemon->stop, 0, 'the daemon ends');
    if ($tls) {
        $daemon->{settings}{central}{tls_name} = 'watch.internal';
        $daemon->write_config->start;
        my $store = "127.0.0.1:$replica";
        my $wrong = qr/ central store at limits is (?:still )?down: the store at $store: its certificate is refused: /;
        ok(Headgate::wait_until(20, sub { $daemon->log =~ $wrong }),
           'a store whose certificate is not for the name is not asked, though its sentinels have such')
            or diag $daemon->log;
        is($daemon->stop, 0, 'and the daemon ends');
    }
    $end->();
    return;
}

subtest 'in clear' => sub { test_failover(0) };
subtest 'over TLS' => sub { test_failover(1) };
done_testing;
