#!/usr/bin/perl
# Rules that a central store decides: three real daemons and a real redis-server, which is killed, stopped, slowed down,
# filled up and locked. What all daemons together admit is counted from outside.
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

my ($port) = Headgate::free_ports(1);
my $scratch = Headgate::scratch();
my $password = 'of-the-store';
my $redis_pid;

sub start_redis {
    my $log = "$scratch/redis.log";
    $redis_pid = Headgate::spawn($log, $log, 'redis-server', '--port', $port, '--save', '', '--appendonly', 'no',
                                 '--dir', $scratch, '--requirepass', $password);
    return Headgate::wait_until(10, sub { eval { redis('PING') eq 'PONG' } });
}

sub redis {
    my $client = Headgate::Client::connect("127.0.0.1:$port");
    $client->command('AUTH', $password);
    return $client->command(@_);
}

sub end_redis {
    kill 'KILL', $redis_pid;
    waitpid $redis_pid, 0;
    delete $Headgate::running{$redis_pid};
    return;
}

Headgate::write_file("$scratch/password", "$password\n");
chmod 0600, "$scratch/password";
ok(start_redis(), 'a redis-server');
my $cluster = Headgate::cluster(
    listen_http => 1,
    limits      => [{name => 'default', capacity => 100, rate => '100/s'}],
    central     => {address => "127.0.0.1:$port", password_file => "$scratch/password", timeout => '5s'},
);
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other');
my @daemons = $cluster->daemons;
my ($east, $west, $south) = @daemons;

sub info { my ($daemon) = @_; return $daemon->client->fields('INFO', 'central') }
sub threads { my ($daemon) = @_; return Http::connect($daemon)->metrics->{headgate_threads} }

# Each thread has a connection of its own, and a client is served by any.
my %threads = map { ($_ => threads($_)) } @daemons;
sub all_are {
    my ($state) = @_;
    return Headgate::wait_until(10, sub {
        !grep { info($_)->{central_connections} != ($state eq 'up' ? $threads{$_} : 0) } @daemons;
    });
}

ok(all_are('up'), 'all are connected to the store') or diag map { $_->log } @daemons;
is_deeply([map { info($_)->{central_error} } @daemons], ['', '', ''], 'nothing is the matter');
is($east->client->command('RULE', 'APPLY', <<'RULES'), 8, 'rules');
rules:
  - {id: calls, service: shop, by: user, rate: 100/h, burst: 100, sync: central}
  - {id: logins, service: shop, by: ip, algorithm: fixed_window, limit: 60, window: 1d, sync: central,
     when_down: closed}
  - {id: views, service: shop, by: page, rate: 10/h, sync: central, when_down: open}
  - {id: mails, service: shop, by: mail, rate: 90/h, sync: central, when_down: budget}
  - {id: hot, service: shop, by: key, rate: 500/s, burst: 500, sync: central, when_down: closed}
  - {id: codes, service: shop, by: phone, algorithm: fixed_window, limit: 30, window: 3s, begins: first_request,
     sync: central}
  - {id: links, service: shop, by: link, algorithm: fixed_window, limit: 100, window: 1h, begins: first_request,
     sync: central}
  - {id: both, service: shop, by: [mail, ip], rate: 5/h, overshoot: 0}
RULES
my $knows = sub { ref $_[0]->client->command('CHECK', 'x=y', 'SERVICE', 'shop') eq 'ARRAY' };
ok(Headgate::wait_until(10, sub { !grep { !$knows->($_) } @daemons }), 'everywhere');

# How many of so many requests each of all daemons admits, which are asked side by side.
sub admitted {
    my ($count, @words) = @_;
    my @clients = map { my $daemon = $_; map { $daemon->client } 1 .. 10 } @daemons;
    my $admitted = 0;
    for (1 .. $count / 10) {
        $_->send_raw(Headgate::Client::encode('CHECK', @words, 'SERVICE', 'shop')) for @clients;
        $admitted += sum0 map { my $reply = $_->reply; ref $reply eq 'ARRAY' ? $reply->[0] : 0 } @clients;
    }
    return $admitted;
}

# What a thread has taken in advance and did not use comes back within about a second.
sub admits {
    my ($limit, $what, @words) = @_;
    my $admitted = admitted(60, @words);
    Headgate::wait_until(10, sub { $admitted >= $limit || ($admitted += admitted(10, @words)) >= $limit });
    return is($admitted + admitted(20, @words), $limit, $what);
}

# ---- one truth ----

admits(100, 'a bucket of 100 admits 100 in all regions together', 'user=ann');
admits(60, 'a window of 60 admits 60', 'ip=1.2.3.4');
my %bob = (service_id => 'shop', identifiers => {user => 'bob'});
my $answer = Http::connect($west)->post('/v1/check', {%bob, cost => 30});
is($answer->{status}, 200, 'over HTTP');
is($answer->{json}{remaining}, 70, 'with the figures of the store');
is(Http::connect($east)->post('/v1/peek', \%bob)->{json}{remaining}, 70, 'which all regions know at once');
is($south->client->command('CHECK', 'user=bob', 'SERVICE', 'shop', 'COST', 71)->[0], 0, 'and refuse by');
my $batch = Http::connect($east)->post('/v1/check', [\%bob]);
is($batch->{status}, 400, 'a batch does not wait for it');
like($batch->{body}, qr/decided by the central store, for which a batch does not wait/, 'and says so');
for my $path (qw(refund reset reserve)) {
    my %asked = (%bob, $path eq 'reserve' ? (ttl_ms => 1000) : ());
    is(Http::connect($east)->post("/v1/$path", \%asked)->{status}, 400, "neither does /v1/$path");
}
is(Http::connect($east)->post('/v1/check', {%bob, drain => JSON::PP::true()})->{status}, 400, 'nor drain');
my @pipelined = $east->client->pipeline(map { (['CHECK', "user=p$_", 'SERVICE', 'shop'], ['ECHO', $_]) } 1 .. 50);
is_deeply([map { ref ? $_->[0] : $_ } @pipelined], [map { (1, $_) } 1 .. 50], 'a pipeline is answered in order');

# A rule of this node beside one of the store: what is refused here costs nothing there.
sub left { my (@ids) = @_; return $east->client->command('PEEK', @ids, 'SERVICE', 'shop')->[2] }
my $before = left('mail=m');
my $both = sum0 map { $east->client->command('CHECK', 'mail=m', 'ip=9.9.9.9', 'SERVICE', 'shop')->[0] } 1 .. 20;
cmp_ok($both, '<=', 5, "a rule of the daemons has a say as well: $both of 20");
is($before - left('mail=m'), $both, 'and the store was charged for what both allowed');

# ---- a hot key ----

sub calls { return redis('INFO', 'commandstats') =~ /cmdstat_evalsha:calls=(\d+)/ ? $1 : 0 }
my ($called, $begun, $asked, $hot, $still) = (calls(), time, 0, 0, 0);
my @clients = map { $_->client } @daemons, @daemons;
my $request = Headgate::Client::encode('CHECK', 'key=hot', 'SERVICE', 'shop') x 200;
while (time - $begun < 2 || $asked < 24_000) {
    my $sent = time;
    $_->send_raw($request) for @clients;
    for my $client (@clients) {
        $hot += $client->reply->[0] for 1 .. 200;
    }
    $asked += 200 * @clients;
    $still += time - $sent - 1 if time - $sent > 1; # a full bucket takes in no more
}
my $elapsed = time - $begun;
$called = calls() - $called;
note sprintf '%d requests in %.1f s: %d admitted, %d calls of the store', $asked, $elapsed, $hot, $called;
cmp_ok($hot, '<=', 500 + 500 * $elapsed, 'of a hot key no more is admitted than the limit');
cmp_ok($hot, '>=', 0.6 * (500 + 500 * ($elapsed - $still)), 'and most of it');
cmp_ok($called, '<=', $asked / 20, 'for one call of the store in 20 requests at most');

# ---- windows that begin with the first request ----

# Asks all daemons for one key, as fast as they answer. A window is known by its end, which each answer tells.
# Where nobody asks for a while, as the machine is busy, a window may begin late or not be used up: then another key has
# another try.
my $window_s = 3;
my ($first, @admissions, @windows);
for my $try (1 .. 5) {
    my $longest = 0;
    ($first, @admissions) = (time);
    my $phone = Headgate::Client::encode('CHECK', "phone=try-$try", 'SERVICE', 'shop');
    while (time - $first < 3.4 * $window_s) {
        my $asked = time;
        $_->send_raw($phone) for @clients;
        for my $client (@clients) {
            my $reply = $client->reply;
            push @admissions, {asked => $asked, ends => time + $reply->[4] / 1000} if $reply->[0];
        }
        $longest = time - $asked if time - $asked > $longest;
    }
    last if $longest < 0.5;
}
for my $admission (@admissions) {
    push @windows, {%$admission, count => 0} if !@windows || $admission->{ends} > $windows[-1]{ends} + $window_s / 2;
    $windows[-1]{count}++;
}
note 'windows: ', join ', ', map { sprintf '%d from %.2f s', $_->{count}, $_->{asked} - $first } @windows;
cmp_ok(scalar @windows, '>=', 3, 'windows begin with their first request, and again');
is_deeply([map { $_->{count} } @windows[0 .. $#windows - 1]], [(30) x $#windows],
          'each admits its limit, in all regions');
cmp_ok($windows[-1]{count}, '<=', 30, 'the last one no more');
my @between = map { $windows[$_]{asked} - $windows[$_ - 1]{asked} } 1 .. $#windows;
ok(!(grep { $_ < $window_s - 0.1 || $_ > $window_s + 1 } @between),
   "each begins when the one before has ended: @between");
my $fresh = $west->client->command('CHECK', 'phone=2', 'SERVICE', 'shop');
is($fresh->[4], $window_s * 1000, 'another key has a window of its own, whatever the clock says');
is(Http::connect($east)->post('/v1/peek', {service_id => 'shop', identifiers => {phone => 2}})->{json}{window_ms},
   $window_s * 1000, 'whose length is told');

# ---- the script is forgotten ----

is(redis('SCRIPT', 'FLUSH'), 'OK', 'the store forgets its scripts');
is($east->client->command('CHECK', 'user=flush', 'SERVICE', 'shop')->[2], 99, 'a request is decided all the same');
is($east->client->command('CHECK', 'user=flush', 'SERVICE', 'shop')->[2], 98, 'and once');

# ---- what counts while the store is down ----

sub check_down {
    my ($what, $key) = @_;
    my $shares = admitted(60, "mail=$key");
    ok($shares <= 90 && $shares >= 85, "$what: budget: each its share: $shares of 90");
    is(admitted(40, "link=$key"), 99, "$what: budget: a third each of a window that begins with its first request");
    is(admitted(10, "ip=$key"), 0, "$what: closed: nothing");
    is(admitted(20, "page=$key"), 60, "$what: open: everything");
    return;
}

sub check_up {
    my ($what) = @_;
    ok(all_are('up'), "$what: it is back by itself") or diag map { info($_)->{central_error} } @daemons;
    admits(10, "$what: and decides", "page=$what");
    return;
}

# Until now a store that is slow was waited for; from here on it is to be late.
$_->{settings}{central}{timeout} = '1s' for @daemons;
is_deeply($_->write_config->client->command('RELOAD')->[1], ['central.timeout'], "$_->{name} waits no longer")
    for @daemons;
ok(Headgate::wait_until(10, sub { !grep { info($_)->{central_changing} > 0 } @daemons }), 'for any request');
sub told_down { my @lines = $east->log =~ /the central store at 127\.0\.0\.1:$port is down: /g; return scalar @lines }
my $told_before = told_down();
end_redis();
ok(all_are('down'), 'killed: all know it');
check_down('killed', 'k');
is(told_down(), $told_before + 1, 'the log says it, once');
ok(start_redis(), 'it starts again');
check_up('killed');

kill 'STOP', $redis_pid;
my $late = $east->client;
$late->send_raw(Headgate::Client::encode('CHECK', 'ip=late', 'SERVICE', 'shop'));
is($late->reply->[0], 0, 'stopped: a request is answered at its deadline, as its rule says');
kill 'CONT', $redis_pid;
ok(Headgate::wait_until(10, sub { left('ip=late') == 60 }), 'stopped for a moment: the late grant is given back');
kill 'STOP', $redis_pid;
ok(all_are('down'), 'stopped: all know it');
check_down('stopped', 's');
kill 'CONT', $redis_pid;
check_up('stopped');

redis('CONFIG', 'SET', 'maxmemory', '1mb');
ok(all_are('down'), 'full: all know it');
like(info($east)->{central_error}, qr/OOM/, 'full: and say what it is');
redis('CONFIG', 'SET', 'maxmemory', '0');
check_up('full');

my $slow = Headgate::Client::connect("127.0.0.1:$port");
$slow->command('AUTH', $password);
$slow->command('DEBUG', 'SLEEP', 0);
$slow->send_raw(Headgate::Client::encode('EVAL', 'local t = redis.call("TIME") repeat local n = redis.call("TIME") ' .
    'until (n[1] - t[1]) * 1000000 + n[2] - t[2] > 1500000 return 1', 0));
is($east->client->command('CHECK', 'ip=slow', 'SERVICE', 'shop')->[0], 0, 'slow: answered at the deadline');
$slow->reply;
check_up('slow');

end_redis();
$password = 'another';
ok(start_redis(), 'a store with another password');
ok(Headgate::wait_until(10, sub { info($east)->{central_error} =~ /WRONGPASS/ }), 'locked: the reason is told');
ok(all_are('down'), 'locked: it is down');
end_redis();
$password = 'of-the-store';
ok(start_redis(), 'the password is right again');
check_up('locked');

# ---- figures, and the end ----

my $metrics = Http::connect($east)->metrics;
is($metrics->{headgate_central_connections}, $threads{$east}, 'each thread has a connection');
cmp_ok($metrics->{headgate_central_asked_total}, '>', 50, 'calls are counted');
cmp_ok($metrics->{headgate_central_without_total}, '>', 50, 'and requests that did without');
cmp_ok($metrics->{headgate_central_returned_total}, '>=', 1, 'and what was given back');
is($metrics->{headgate_central_waiting}, 0, 'nobody waits');
kill 'STOP', $redis_pid;
$late = $east->client;
ok(Headgate::wait_until(10, sub {
    $late->send_raw(Headgate::Client::encode('CHECK', 'page=last', 'SERVICE', 'shop'));
    return info($east)->{central_waiting} > 0;
}), 'somebody waits for a store that says nothing');
ok($cluster->stop, 'the daemons end while the store says nothing');
is($late->reply->[0], 1, 'and answer those who wait for it');
kill 'CONT', $redis_pid;
done_testing;
