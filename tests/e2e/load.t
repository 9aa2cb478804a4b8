# The load generator against real daemons: it sends what was asked, and its judgement is right both ways.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use JSON::PP;
use List::Util qw(sum max);
use Test::More;
use Time::HiRes qw(time);

my @limits = (
    {name => 'default', capacity => 100, rate => '100/s', overshoot => 20, default => 'true'},
    {name => 'wide', capacity => 1000000, rate => '1000000/s'},
);
my $cluster = Headgate::cluster(limits => \@limits)->start;
my @daemons = $cluster->daemons;
my $to = join ',', map { "127.0.0.1:$_->{ports}{clients}" } @daemons;

sub load {
    my ($status, $out, $err) = Headgate::run(60, Headgate::headgate(), 'load', '--to', $to, '--json', @_);
    my $report = eval { decode_json($out) };
    diag("load @_: status $status: $out$err") if !$report;
    return ($status, $report, $err);
}

sub total { my ($report, $name) = @_; return sum map { $_->{$name} } @{$report->{targets}} }

ok(Headgate::wait_until(20, sub {
    my ($status, $out) = Headgate::run(10, Headgate::headgate(), '--at', (split /,/, $to)[0], 'nodes', '--json');
    return $status == 0 && 3 == grep { $_->{state} eq 'active' } @{decode_json($out)};
}), 'three active peers') or BAIL_OUT('no cluster');

# ---- a burst ----
my ($status, $report) = load('--burst', '301', '--expect-bound');
is($status, 0, 'a burst: within the bound');
is_deeply([map { $_->{answered} } @{$report->{targets}}], [301, 301, 301],
          'each target answered exactly what was asked');
is(total($report, 'admitted') + total($report, 'refused'), 903, 'each answer was yes or no');
my $accuracy = $report->{accuracy};
is($accuracy->{admitted_tokens}, total($report, 'admitted'), 'the sum is the sum');
# Refill begins with the first grant, and how long that took nobody promises.
my $ideal = $accuracy->{ideal_tokens};
ok(100 <= $ideal && $ideal <= 100 + 100 * $report->{elapsed_seconds}, 'one bucket: capacity and refill') or diag $ideal;
cmp_ok($accuracy->{overshoot}, '<=', 20, 'overshoot within what is declared');
is_deeply([@{$report->{limit}}{qw(name capacity rate period_ns overshoot)}], ['default', 100, 100, 1000000000, 20],
          'the limit is what the daemon says');

# ---- a rate ----
($status, $report) = load('--rate', '600', '--seconds', '4', '--expect-bound');
is($status, 0, 'a steady rate: within the bound');
is($report->{requests} + total($report, 'unsent'), 2400, 'the schedule is kept to the request');
cmp_ok(max(map { $_->{answered} } @{$report->{targets}}), '<=', 801, 'evenly over the targets');
cmp_ok($report->{accuracy}{utilisation}, '>=', 0.93, 'the limit is used');
cmp_ok($report->{accuracy}{utilisation}, '<=', 1.05, 'and not much more');
my $latency = $report->{latency_ns};
ok($latency->{p50} > 0 && $latency->{p50} <= $latency->{p90} && $latency->{p90} <= $latency->{p99} &&
   $latency->{p99} <= $latency->{'p99.9'} && $latency->{'p99.9'} <= $latency->{max}, 'percentiles are in order');
($status, $report) = load('--rate', '60000/m', '--seconds', '0.5', '--warmup', '0.5', '--poisson');
cmp_ok(abs($report->{requests} - 500), '<', 150, 'random moments, about as many, without the warm-up');
cmp_ok(total($report, 'answered'), '>', $report->{requests} + 300, 'the warm-up is judged, too');

# ---- how often which latency occurred ----
($status, $report) = load('--rate', '2000', '--seconds', '0.5', '--warmup', '0.1', '--histogram');
my @listed = @{$report->{latency_histogram}};
is(sum(map { $_->[1] } @listed), $report->{requests}, 'all requests are listed');
is($listed[-1][0], $report->{latency_ns}{max}, 'up to the longest');
my ($least_of_99) = grep { my $up_to = $_; 100 * sum(map { $_->[1] } @listed[0 .. $up_to]) >= 99 * $report->{requests} }
    0 .. $#listed;
is($listed[$least_of_99][0], $report->{latency_ns}{p99}, 'and p99 can be had from them');
ok($report->{late_ns}{p50} > 0 && $report->{late_ns}{max} <= $report->{latency_ns}{max},
   'requests are sent a little late, and never later than they are answered');
is((Headgate::run(10, Headgate::headgate(), 'load', '--histogram'))[0], 64, 'a list for people there is not');

# ---- as fast as possible, many keys ----
# Daemons that touch their tables for the first time may take a second for that: once they have, there are many.
my $within = 1;
Headgate::wait_until(60, sub {
    ($status, $report) = load('--keys', '1000', '--zipf', '1', '--seconds', '1', '--pipeline', '32', '--seed', '5',
                              '--expect-bound');
    $within &&= $status == 0;
    return $report->{requests} > 3000 || !$within;
});
ok($within, 'a thousand keys: within the bound');
cmp_ok($report->{requests}, '>', 3000, "as many as possible: $report->{requests}");
is(scalar @{$report->{accuracy}{keys}}, 1000, 'each key is judged');
like($report->{accuracy}{keys}[999]{key}, qr/^load-0{15}5-0999$/, 'the keys have the seed in their names');
is($report->{accuracy}{admitted_tokens}, sum(map { $_->{admitted_tokens} } @{$report->{accuracy}{keys}}),
   'their sum is the sum');
($status, $report) = load('--command', 'check', '--rule', 'wide', '--cost', '3', '--seconds', '0.3', '--key', 'ip=::1');
is($report->{accuracy}{admitted_tokens}, 3 * total($report, 'admitted'), 'check: tokens are requests times cost');
is($report->{limit}{name}, 'wide', 'under another rule');
is(total($report, 'errors'), 0, 'without errors');
($status, $report) = load('--command', 'ping', '--seconds', '0.2');
ok($report->{requests} > 0 && !$report->{accuracy} && total($report, 'errors') == 0, 'ping: nothing to judge');
($status, $report) = load('--command', 'check', '--rule', 'none', '--seconds', '0.2', '--connections', '1');
ok($report->{requests} == total($report, 'errors') && $report->{first_error} =~ /unknown rule/, 'errors are counted');

# ---- for people ----
my ($text_status, $out, $err) =
    Headgate::run(30, Headgate::headgate(), 'load', '--to', $to, '--rate', '100', '--seconds', '1.2', '--keys', '2',
                  '--progress');
is($text_status, 0, 'a report for people');
like($out, qr/^requests +120 in .*^latency +p50 .*^TARGET .*^utilisation .*^overshoot .*^KEY .*-1 +\d+ /ms,
     'says it all');
like($err, qr/^ +1 s +\S+\/s +p50 .* p99 .* admitted \d+$/m, 'progress, a line a second');

# Half a second after the load has begun at that daemon; in a process of its own.
sub under_load {
    my ($daemon, $connections, $work) = @_;
    my $client = $daemon->client;
    my $pid = fork // die;
    return $pid if $pid != 0;
    Headgate::wait_until(10, sub { $client->fields('INFO', 'clients')->{connected_clients} > $connections });
    my $begun = time;
    Headgate::wait_until(10, sub { time >= $begun + 0.5 });
    $work->();
    POSIX::_exit(0);
}

# ---- a daemon that stalls is not spared ----
{
    # Once more where somebody else had the processor for long: that is late as well, and by whose fault nobody knows.
    for (1 .. 5) {
        my $pid = under_load($daemons[1], 1, sub {
            my $begun = time;
            kill 'STOP', $daemons[1]{pid};
            Headgate::wait_until(10, sub { time >= $begun + 0.6 });
            kill 'CONT', $daemons[1]{pid};
        });
        ($status, $report) =
            load('--rate', '300', '--seconds', '2', '--connections', '1', '--pipeline', '4', '--expect-bound');
        waitpid $pid, 0;
        last if $report->{late_ns}{max} < $report->{latency_ns}{max} / 2;
    }
    is($status, 0, 'a daemon stalls: within the bound');
    is($report->{requests} + total($report, 'unsent'), 600, 'no request was left out');
    cmp_ok($report->{latency_ns}{max}, '>', 5e8, 'the longest wait is the stall');
    cmp_ok($report->{late_ns}{max}, '<', $report->{latency_ns}{max} / 2, 'which is not the load generator\'s fault');
    cmp_ok($report->{latency_ns}{p99}, '>', 3e8, 'all that were due meanwhile waited, not only the four in flight');
}

# ---- a daemon that dies and comes back ----
{
    my $pid = under_load($daemons[2], 4, sub { kill 'KILL', $daemons[2]{pid} });
    my $loader = Headgate::spawn(my $file = Headgate::scratch() . '/restart.json', '/dev/null', Headgate::headgate(),
                                 'load', '--to', $to, '--rate', '600', '--seconds', '3', '--json');
    waitpid $pid, 0;
    $daemons[2]->wait_end(10);
    $daemons[2]->start;
    ok(Headgate::wait_until(30, sub { waitpid($loader, POSIX::WNOHANG()) == $loader }), 'a daemon dies: load ends');
    is($?, 0, 'with status 0');
    delete $Headgate::running{$loader};
    $report = decode_json(Headgate::read_file($file));
    my @targets = @{$report->{targets}};
    is($targets[0]{lost} + $targets[0]{unsent} + $targets[1]{lost} + $targets[1]{unsent}, 0, 'the others lose nothing');
    cmp_ok($targets[2]{reconnects}, '>=', 4, 'its connections are made again');
    is($targets[2]{answered} + $targets[2]{lost} + $targets[2]{unsent}, 600, 'each of its requests is accounted for');
}

# ---- words of one's own ----
($status, $report) = load('--send', 'CHECK {key} COST 2', '--keys', '10', '--burst', '100');
is($status, 0, '--send');
is(total($report, 'answered'), 300, 'all are answered');
is(total($report, 'errors'), 0, 'without an error');
($status, $report) = load('--send', 'CHECK {key} COSTS', '--burst', '1');
is(total($report, 'errors'), 3, 'what the daemon refuses is counted');

# ---- the judge: three daemons that know nothing of each other do break one limit ----
my @alone = map { Headgate::cluster(regions => ['here'], limits => [{%{$limits[0]}, overshoot => 0}])->start } 1 .. 3;
$to = join ',', map { '127.0.0.1:' . ($_->daemons)[0]{ports}{clients} } @alone;
($status, $report) = load('--burst', '200', '--expect-bound');
is($status, 1, 'three lone daemons: the bound is broken');
is(total($report, 'admitted') >= 300, 1, 'each admitted all');
cmp_ok($report->{accuracy}{overshoot}, '>', 190, 'overshoot: two capacities');
cmp_ok($report->{accuracy}{overshoot}, '<=', $report->{accuracy}{overshoot_by_replies} + 1e-6, 'and certainly so');
ok(!$report->{accuracy}{within_bound}, 'and the report says so');
($status, $report) = load('--rate', '900', '--seconds', '2', '--expect-bound');
is($status, 1, 'under a steady rate as well');
cmp_ok($report->{accuracy}{utilisation}, '>', 2, 'three times the limit');
($status, $report) =
    load('--burst', '200', '--expect-bound', '--capacity', '400', '--limit-rate', '300/s', '--declared', '1%');
is($status, 0, 'judged by figures of the command line');
is($report->{limit}{overshoot}, 4, 'a declared overshoot in percent');
$to = (split /,/, $to)[0];
($status, $report) = load('--rate', '1000', '--seconds', '2', '--expect-bound');
is($status, 0, 'one of them alone keeps it');
# One bucket is asked when answers arrive: that is off by what refills during the longest answer, and a token.
my ($admitted, $one_bucket) = @{$report->{accuracy}}{qw(admitted_tokens ideal_tokens)};
my $off = 1 + 100 * $report->{latency_ns}{max} / 1e9;
cmp_ok($admitted, '>=', $one_bucket - $off, 'and uses all of it');
cmp_ok($admitted, '<=', $one_bucket + $off, 'but no more');

# ---- --busy: it does not sleep, and all else is as ever ----
{
    my $used = sub {
        my ($length, @options) = @_;
        my (undef, undef, @before) = times;
        ($status, $report) = load('--rate', '10', '--seconds', 1.5 * $length, @options);
        my (undef, undef, @after) = times;
        is("$status " . total($report, 'answered'), '0 ' . 15 * $length, "all are answered (@options)");
        return $after[0] + $after[1] - $before[0] - $before[1];
    };
    # For longer where others had the processor that it would have taken.
    my ($sleeping, $busy);
    for my $length (1, 2, 4, 8, 16) {
        ($sleeping, $busy) = ($used->($length), $used->($length, '--busy'));
        last if $busy > 4 * $sleeping + 0.1;
    }
    cmp_ok($busy, '>', 4 * $sleeping + 0.1, '--busy takes the processor');
}

# ---- each {key} of the words, and keys in order; a lone daemon says exactly what is left ----
{
    my $client = ($alone[0]->daemons)[0]->client;
    my $full = 100;
    my $rules = join '', map { "  - {id: by-$_, service: holes, by: $_, rate: 1/h, burst: $full, overshoot: $full}\n" }
        qw(user pair);
    is($client->command('RULE', 'SET', "rules:\n$rules"), 'OK', 'two rules');
    my $left = sub { return $client->command('PEEK', @_, 'SERVICE', 'holes')->[2] };
    my @words = ('--prefix', 'hole-', '--keys', '12', '--in-order', '--connections', '1', '--burst');
    ($status, $report) = load('--send', 'CHECK user={key} pair=<{key}/{key}> COST 2 SERVICE holes', @words, 24);
    is(total($report, 'admitted'), 24, 'several keys in one request');
    for my $key (map { sprintf 'hole-%02d', $_ } 0, 1, 9, 11) {
        is_deeply([$left->("user=$key"), $left->("pair=<$key/$key>")], [$full - 4, $full - 4],
                  "$key was asked for, in all its places");
    }
    ($status, $report) = load('--send', 'CHECK user=first-{key} SERVICE holes', @words, 7);
    my @asked = grep { $left->(sprintf 'user=first-hole-%02d', $_) < $full } 0 .. 11;
    is_deeply(\@asked, [0 .. 6], '--in-order: the first ones first');
    ($status, undef, my $why) = Headgate::run(10, Headgate::headgate(), 'load', '--to', $to, '--keys', 2, '--send',
                                              'CHECK ' . join ' ', ('{key}') x 9);
    is($status, 64, 'more places than there are');
    like($why, qr/at most 8 \{key\}/, 'and it says so');
}

# ---- errors alone are no success ----
{
    my $locked = Headgate::cluster(regions => ['here'], password => 'of-a-test')->daemon('here')->spawn;
    my $entered = Headgate::wait_until(10, sub { eval { $locked->client->command('AUTH', 'of-a-test') } });
    ok($entered, 'a daemon with a password');
    my ($failed, undef, $why) = Headgate::run(20, Headgate::headgate(), '--at', "127.0.0.1:$locked->{ports}{clients}",
                                              'load', '--connections', 1, '--burst', 5);
    is($failed, 65, 'every answer an error: status 65');
    like($why, qr/^headgate load: every answer was an error: \S+: NOAUTH Authentication required\.$/m,
         'and a sentence');
}
done_testing();
