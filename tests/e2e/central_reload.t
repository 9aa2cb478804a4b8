#!/usr/bin/perl
# Settings of the central store change while daemons run: another store under load, a password that is wrong first, and
# a mistake in the config. Real daemons, and two real redis-servers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use List::Util qw(sum0);
use Test::More;
use Time::HiRes qw(time);

plan skip_all => 'no redis-server' if system('command -v redis-server >/dev/null') != 0;

my @ports = Headgate::free_ports(2);
my $scratch = Headgate::scratch();
my $password = 'of-the-store';
my @pids;

sub redis {
    my ($store, @words) = @_;
    my $client = Headgate::Client::connect("127.0.0.1:$ports[$store]");
    $client->command('AUTH', $password);
    return $client->command(@words);
}

for my $store (0, 1) {
    my $log = "$scratch/redis-$store.log";
    $pids[$store] = Headgate::spawn($log, $log, 'redis-server', '--port', $ports[$store], '--save', '', '--appendonly',
                                    'no', '--dir', $scratch, '--requirepass', $password);
    ok(Headgate::wait_until(10, sub { eval { redis($store, 'PING') eq 'PONG' } }), "redis-server $store");
}

sub write_password {
    my ($text) = @_;
    my $path = Headgate::write_file("$scratch/password", "$text\n");
    chmod 0600, $path;
    return;
}

write_password($password);
my $cluster = Headgate::cluster(
    listen_http => 1, threads => 2,
    limits      => [{name => 'default', capacity => 100, rate => '100/s'}],
    central     => {address => "127.0.0.1:$ports[0]", password_file => "$scratch/password", timeout => '5s'},
);
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other');
my @daemons = $cluster->daemons;
my ($east, $west, $south) = @daemons;
sub info { my ($daemon) = @_; return $daemon->client->fields('INFO', 'central') }
sub all_have {
    my ($field, $count) = @_;
    return Headgate::wait_until(15, sub { !grep { info($_)->{$field} != $count } @daemons });
}
# The connections of daemons to a store: those that have sent a script.
sub askers {
    my ($store) = @_;
    my @lines = redis($store, 'CLIENT', 'LIST') =~ /cmd=evalsha/g;
    return scalar @lines;
}

ok(all_have('central_connections', 2), 'each thread is connected to the store');
is($east->client->command('RULE', 'APPLY', <<'RULES'), 2, 'rules');
rules:
  - {id: calls, service: shop, by: user, rate: 100/h, burst: 100, sync: central, when_down: closed}
  - {id: hot, service: shop, by: key, algorithm: fixed_window, limit: 100000, window: 1d, sync: central,
     when_down: closed}
RULES
my $knows = sub { ref $_[0]->client->command('CHECK', 'x=y', 'SERVICE', 'shop') eq 'ARRAY' };
ok(Headgate::wait_until(10, sub { !grep { !$knows->($_) } @daemons }), 'everywhere');

sub left { my ($daemon, @words) = @_; return $daemon->client->command('PEEK', @words, 'SERVICE', 'shop')->[2] }
sub check { my ($daemon, @words) = @_; return $daemon->client->command('CHECK', @words, 'SERVICE', 'shop') }
sub without { return sum0 map { Http::connect($_)->metrics->{headgate_central_without_total} } @daemons }

# ---- a mistake changes nothing ----

my %central = %{$east->{settings}{central}};
$east->{settings}{central} = {%central, timeout => '6s', address => "127.0.0.1:$ports[1]"};
$east->write_config;
like('' . $east->client->command('RELOAD'),
     qr/^ERR \S+:\d+: central\.timeout is '6s': expected a duration from 1 ms to 5 s/, 'a mistake is told');
is(check($east, 'user=ann', 'COST', 40)->[2], 60, 'and the store is the one before');
is(askers(1), 0, 'the other is not asked');

# ---- a wrong password: the old link goes on ----

$east->{settings}{central} = \%central;
$east->write_config;
write_password('another');
my $answer = $east->client->command('RELOAD');
is_deeply([@$answer[1, 3, 7]], [[], [], ['central']], 'a password in a file is seen to be new');
my $store = "127\\.0\\.0\\.1:$ports[0]";
my $told = join '', qr/ warning the central store at $store cannot be asked as the config says now: WRONGPASS [^\n]*; /,
    qr/the one at $store is asked as before\n/;
ok(Headgate::wait_until(10, sub { $east->log =~ $told }), 'a wrong one is said');
is(info($east)->{central_changing}, 2, 'and counted, for each thread');
is(Http::connect($east)->metrics->{headgate_central_changing}, 2, 'in metrics as well');
is(info($east)->{central_state}, 'up', 'the link before is up');
is(check($east, 'user=ann', 'COST', 10)->[2], 50, 'and decides');
is(without(), 0, 'no request did without the store');
my @lines = $east->log =~ /$told/g;
is(scalar @lines, 1, 'it is said once');
write_password($password);
is_deeply($east->client->command('RELOAD')->[7], ['central'], 'the password is right again');
ok(Headgate::wait_until(10, sub { info($east)->{central_changing} == 0 }), 'nothing is left to change');
is(check($east, 'user=ann')->[2], 49, 'the same store counts on');

# ---- another store, under load ----

my $asked = 0;
sub admitted {
    my ($clients, $until) = @_;
    my $request = Headgate::Client::encode('CHECK', 'key=hot', 'SERVICE', 'shop') x 50;
    my ($admitted, $begun) = (0, time);
    while (!$until->() && time - $begun < 20 * $Headgate::patience) {
        $_->send_raw($request) for @$clients;
        for my $client (@$clients) {
            $admitted += $client->reply->[0] for 1 .. 50;
            $asked += 50;
        }
    }
    return $admitted;
}
my @clients = map { ($_->client, $_->client) } @daemons;
my $admitted = admitted(\@clients, sub { $asked >= 5000 });
$_->{settings}{central} = {%central, address => "127.0.0.1:$ports[1]"} for @daemons;
$_->write_config for @daemons;
is_deeply($east->client->command('RELOAD')->[1], ['central.address'], 'RELOAD takes another address over');
is_deeply(Http::connect($west)->post('/v1/reload', '')->{json}{changed}, ['central.address'], 'so does HTTP');
$south->signal('HUP');
my $next = 0;
$admitted += admitted(\@clients, sub {
    return 0 if time < $next;
    $next = time + 0.2;
    return askers(1) == 6 && askers(0) == 0;
});
is(askers(1), 6, 'all threads ask the other store');
is(askers(0), 0, 'and have left the one before');
$admitted += admitted(\@clients, sub { $asked >= 20_000 });
is(without(), 0, "none of $asked requests did without a store");
is($admitted, $asked, 'and none was refused');
like($south->log, qr/ SIGHUP: .*changed: central\.address\n.* info the central store at 127.0.0.1:$ports[1] answers\n/s,
     'the log names the store that decides');
is(info($_)->{central_connections}, 2, "each thread of $_->{name} has one connection") for @daemons;
is(info($_)->{central_waiting}, 0, 'nobody waits') for @daemons;
ok(Headgate::wait_until(10, sub { left($east, 'key=hot') == left($west, 'key=hot') }), 'they agree');

# What was granted is counted once, by one of the two, and what was not used went back to the store that gave it.
is(sum0(map { info($_)->{central_lost} } @daemons), 0, 'nothing that was granted was lost');
is(left($east, 'user=ann'), 100, 'the other store has counted nothing before');
$_->{settings}{central} = \%central for @daemons;
$_->write_config->signal('HUP') for @daemons;
ok(Headgate::wait_until(20, sub { askers(0) == 6 && askers(1) == 0 }), 'back to the first store');
my $second = 100_000 - left($east, 'key=hot');
$_->{settings}{central} = {%central, address => "127.0.0.1:$ports[1]"} for @daemons;
$_->write_config->signal('HUP') for @daemons;
ok(Headgate::wait_until(20, sub { askers(1) == 6 && askers(0) == 0 }), 'and to the other');
is($second + 100_000 - left($east, 'key=hot'), $asked, 'both stores together have counted what was admitted');

# ---- a store that is away is left for one that answers, and daemons end in the middle of it ----

kill 'KILL', $pids[1];
waitpid $pids[1], 0;
delete $Headgate::running{$pids[1]};
ok(all_have('central_connections', 0), 'the store is gone');
is(check($east, 'user=bob')->[0], 0, 'its rule says closed');
$_->{settings}{central} = \%central for @daemons;
$_->write_config->signal('HUP') for @daemons;
ok(all_have('central_connections', 2), 'the first store is asked instead');
is(left($west, 'user=ann'), 49, 'which knows what it has counted');
$_->{settings}{central} = {%central, address => "127.0.0.1:$ports[1]"} for @daemons;
$_->write_config->signal('HUP') for @daemons;
ok(all_have('central_changing', 2), 'a store that is away is not taken');
ok($cluster->stop, 'the daemons end meanwhile');
done_testing;
