#!/usr/bin/perl
# A central store that sentinels know: a real redis-server with a replica, and three real sentinels. The store is
# killed, another one takes its place, and the daemon finds it, with what was counted.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

plan skip_all => 'no redis-server and redis-sentinel'
    if system('command -v redis-server >/dev/null && command -v redis-sentinel >/dev/null') != 0;

my ($master, $replica, @sentinels) = Headgate::free_ports(5);
my $scratch = Headgate::scratch();
my %pid;

sub start {
    my ($port, $program, @options) = @_;
    mkdir "$scratch/$port";
    my $log = "$scratch/$port.log";
    $pid{$port} = Headgate::spawn($log, $log, $program, @options, '--port', $port, '--dir', "$scratch/$port", '--bind',
                                  '127.0.0.1');
    return Headgate::wait_until(10, sub { eval { redis($port, 'PING') eq 'PONG' } });
}

sub redis { my ($port, @words) = @_; return Headgate::Client::connect("127.0.0.1:$port")->command(@words) }
# A Redis whose role changes closes its connections.
sub replication { my ($port) = @_; return eval { redis($port, 'INFO', 'replication') } // '' }

ok(start($master, 'redis-server', '--save', ''), 'a redis-server');
ok(start($replica, 'redis-server', '--save', '', '--replicaof', "127.0.0.1 $master"), 'and its replica');
for my $port (@sentinels) {
    my $config = Headgate::write_file("$scratch/$port.conf", <<"CONFIG");
sentinel monitor limits 127.0.0.1 $master 2
sentinel down-after-milliseconds limits 500
sentinel failover-timeout limits 2000
CONFIG
    ok(start($port, 'redis-sentinel', $config), 'a sentinel');
}
my $knows = sub { redis($_[0], 'SENTINEL', 'master', 'limits') };
my $met = Headgate::wait_until(30, sub {
    for (@sentinels) {
        my %master = @{$knows->($_)};
        return 0 if $master{'num-other-sentinels'} != 2 || $master{'num-slaves'} != 1;
    }
    return replication($replica) =~ /master_link_status:up/;
});
ok($met, 'they know each other');

my $gone = (Headgate::free_ports(1))[0]; # a sentinel that is not there is passed over
my $cluster = Headgate::cluster(regions => ['here'], threads => 1,
                                central => {sentinels => join(', ', map { "127.0.0.1:$_" } $gone, @sentinels),
                                            master => 'limits', timeout => '2s'});
my $daemon = $cluster->daemon('here')->start;
my $client = $daemon->client;
sub state { return $client->fields('INFO', 'central')->{central_state} }
ok(Headgate::wait_until(20, sub { state() eq 'up' }), 'the daemon finds the store') or diag $daemon->log;
my $rules = "rules:\n  - {id: r, service: s, by: user, rate: 10/h, sync: central}\n";
is($client->command('RULE', 'APPLY', $rules), 1, 'a rule');
is($client->command('CHECK', 'user=ann', 'SERVICE', 's', 'COST', 7)->[2], 3, 'seven of ten are used');
is(redis($master, 'WAIT', 1, 5000), 1, 'and the replica knows');

kill 'KILL', $pid{$master};
ok(Headgate::wait_until(10, sub { state() eq 'down' }), 'the store is killed');
my $elected = Headgate::wait_until(30, sub { replication($replica) =~ /role:master/ });
ok($elected, 'the replica takes its place');
ok(Headgate::wait_until(20, sub { state() eq 'up' }), 'the daemon finds it') or diag $daemon->log;
is($client->command('CHECK', 'user=ann', 'SERVICE', 's', 'COST', 4)->[0], 0, 'what was used is used');
is($client->command('CHECK', 'user=ann', 'SERVICE', 's', 'COST', 3)->[0], 1, 'and no more');
is($daemon->stop, 0, 'the daemon ends');
done_testing;
