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

# Sentinels, the way to the store and TLS files change while the daemon runs: the link before decides until the new one
# answers.
sub test_reload {
    my ($daemon, $tls, $store, @sentinels) = @_;
    my $central = $daemon->{settings}{central};
    my %before = %$central;
    my $client = $daemon->client;
    my $reload = sub {
        $daemon->write_config;
        my $said = $client->command('RELOAD');
        return ref $said eq 'ARRAY' ? [@$said[1, 3, 7]] : "$said";
    };
    my $info = sub { return $client->fields('INFO', 'central') };
    my $settled = sub {
        my ($what) = @_;
        my $is = sub { my $now = $info->(); $now->{central_changing} == 0 && $now->{central_connections} == 2 };
        ok(Headgate::wait_until(20, $is), $what) or diag $daemon->log;
        is($client->command('PEEK', 'user=ann', 'SERVICE', 's')->[2], 0, 'it has counted what was used');
    };
    my $stays = sub {
        my ($why, $what) = @_;
        my $line = qr/ the central store at \S+ cannot be asked as the config says now: $why; the one at \S+ is asked/;
        ok(Headgate::wait_until(20, sub { $daemon->log =~ $line }), $what) or diag $daemon->log;
        is($info->()->{central_changing}, 2, 'which is counted');
        is($client->command('PEEK', 'user=ann', 'SERVICE', 's')->[2], 0, 'the link before decides');
    };

    $central->{sentinels} = "127.0.0.1:$sentinels[2]";
    is_deeply($reload->(), [['central.sentinels'], [], []], 'one sentinel of three');
    $settled->('finds the store');
    $central->{master} = 'other';
    is_deeply($reload->(), [['central.master'], [], []], 'a master');
    $stays->(qr/[^\n]+/, 'that no sentinel knows is not asked');
    delete @$central{qw(sentinels master)};
    $central->{address} = "127.0.0.1:$store";
    is_deeply($reload->(), [['central.address', 'central.sentinels', 'central.master'], [], []], 'the store itself');
    $settled->('is asked without sentinels');
    if ($tls) {
        Headgate::run(10, Headgate::headgate(), 'certs', '--dir', $certs, 'renewed');
        rename "$certs/renewed.$_", "$certs/daemon.$_" for qw(pem key);
        is_deeply($reload->(), [[], [], ['central']], 'a certificate that is renewed is seen in its file');
        $settled->('and shown to the store');
        Headgate::run(10, Headgate::headgate(), 'certs', '--dir', "$certs/other", 'stranger');
        $central->{tls_ca} = "$certs/other/ca.pem";
        is_deeply($reload->(), [['central.tls_ca'], [], []], 'an authority');
        $stays->(qr/[^\n]*its certificate is refused: [^\n]+/, 'that has not signed the store trusts it no more');
        $central->{tls_ca} = "$certs/none.pem";
        like($reload->(), qr/^ERR \S+: central\.tls_ca is '\S+none\.pem': expected a file of certificates in PEM/,
             'a file that is not there is a mistake');
    }
    %$central = %before;
    $reload->();
    $settled->('back to the sentinels');
    return;
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
sentinel down-after-milliseconds limits 60000
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
                                                master => 'limits', timeout => '5s', %tls});
    $daemon = $cluster->daemon('here')->start;
    my $client = $daemon->client;
    my $state = sub { return $client->fields('INFO', 'central')->{central_state} };
    ok(Headgate::wait_until(20, sub { $state->() eq 'up' }), 'the daemon finds the store') or diag $daemon->log;
    my $rules = "rules:\n  - {id: r, service: s, by: user, rate: 10/h, sync: central}\n";
    is($client->command('RULE', 'APPLY', $rules), 1, 'a rule');
    is($client->command('CHECK', 'user=ann', 'SERVICE', 's', 'COST', 7)->[2], 3, 'seven of ten are used');
    ok(Headgate::wait_until(10, sub { $redis->($replica, 'DBSIZE') =~ /1/ }), 'and the replica knows');

    # From now on, since a store that is only slow must not be taken for one that is down before.
    is($redis->($_, 'SENTINEL', 'SET', 'limits', 'down-after-milliseconds', 500), 'OK', 'a sentinel waits no longer')
        for @sentinels;
    kill 'KILL', $pid{$master};
    ok(Headgate::wait_until(10, sub { $state->() eq 'down' }), 'the store is killed');
    my $elected = Headgate::wait_until(30, sub { $redis->($replica, 'INFO', 'replication') =~ /role:master/ });
    ok($elected, 'the replica takes its place');
    ok(Headgate::wait_until(20, sub { $state->() eq 'up' }), 'the daemon finds it') or diag $daemon->log;
    is($client->command('CHECK', 'user=ann', 'SERVICE', 's', 'COST', 4)->[0], 0, 'what was used is used');
    is($client->command('CHECK', 'user=ann', 'SERVICE', 's', 'COST', 3)->[0], 1, 'and no more');
    test_reload($daemon, $tls, $replica, @sentinels);
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
