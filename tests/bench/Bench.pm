# Bench.pm: what measuring programs share: servers on a core of their own, the load generator on another, rounds that
# take turns, ratios within a round, goals that are kept or not.
#
# A measuring program prints what it measured, writes it as JSON if asked to, and says of each goal one line that
# begins with "kept: " or "BROKEN: "; its exit status is 1 if any is broken. tests/bench/run collects those lines.
package Bench;

use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../e2e";
use Getopt::Long;
use Headgate;
use JSON::PP;
use POSIX ();

our %option = (rounds => 5, nice => 0);
our %result;
my @broken;

# The options that all have, and those that one has besides. Everything that is quick is less exact, too. --nice -10:
# where others use the machine as well, what is measured and what measures it go before them (needs root).
sub options {
    my (@more) = @_;
    my $network = own_network();
    GetOptions(\%option, 'quick', 'rounds=i', 'seconds=f', 'json=s', 'nice=i', @more) or exit 64;
    die "at least one round\n" if $option{rounds} < 1;
    $| = 1;
    go_first() if $option{nice};
    my $mode = $option{quick} ? 'quick mode' : 'full mode';
    $mode .= ", $option{seconds} s at a time" if defined $option{seconds};
    $mode .= ", in $network";
    %result = (machine => machine(), commit => commit(), rounds => $option{rounds}, mode => $mode);
    return;
}

# Begins again in a network namespace, where that is allowed: what a firewall of the machine does with each packet is
# not measured. Says in which network that is.
sub own_network {
    return $ENV{HEADGATE_BENCH_NETWORK} if $ENV{HEADGATE_BENCH_NETWORK};
    my @as_user = $> ? ('--map-current-user', '--keep-caps') : ();
    my @in_own = ('unshare', '--net', @as_user, 'sh', '-c', 'ip link set lo up && exec "$@"', 'sh');
    my $can = !system('sh', '-c', 'exec "$@" 2>/dev/null', 'sh', @in_own, 'true');
    $ENV{HEADGATE_BENCH_NETWORK} = $can ? 'a network of its own' : "the machine's network";
    if ($can) { exec(@in_own, $^X, $0, @ARGV) or die "cannot run unshare: $!\n" }
    return $ENV{HEADGATE_BENCH_NETWORK};
}

# Where the kernel shares processors among sessions first, niceness says something only within one.
sub go_first {
    POSIX::setsid();
    open my $group, '>', "/proc/$$/autogroup" or return;
    print $group $option{nice};
    close $group;
    return;
}

# ---- the machine ----

sub cores { return scalar grep { /^processor/ } split /\n/, Headgate::read_file('/proc/cpuinfo') }

sub machine {
    my ($name) = Headgate::read_file('/proc/cpuinfo') =~ /^model name\s*:\s*(.*)/m;
    return ($name // 'unknown processor') . ', ' . cores() . ' cores';
}

sub commit {
    my $text = `git -C '$Headgate::root' describe --always --dirty --exclude '*' 2>/dev/null`;
    chomp $text;
    return $text || 'unknown';
}

# Measured servers have core 0; the load generator, and peers that only listen, core 1.
sub pinned {
    my ($core, @command) = @_;
    return ('nice', '-n', $option{nice}, 'taskset', '-c', $core % cores(), @command);
}
sub pin { my ($core, $pid) = @_; return capture('taskset', '-acp', $core % cores(), $pid) }

# What runs already becomes what is measured.
sub put_first {
    my ($core, $pid) = @_;
    pin($core, $pid);
    capture('renice', '-n', $option{nice}, '-p', map { m{(\d+)$} } glob "/proc/$pid/task/*") if $option{nice};
    return;
}

# Runs only when nobody else wants the core: peers that stand for other machines do not slow the load generator down.
sub stand_aside { my ($pid) = @_; return capture('chrt', '-a', '-i', '-p', 0, $pid) }

sub capture {
    my (@command) = @_;
    open my $pipe, '-|', @command or die "cannot run $command[0]: $!\n";
    local $/;
    my $text = <$pipe>;
    close $pipe or die "@command failed\n";
    return $text;
}

# ---- servers ----

# Waits until something answers at a port of this machine.
sub wait_port {
    my ($port, $what) = @_;
    Headgate::wait_until(20, sub { return eval { Headgate::Client::connect("127.0.0.1:$port") } })
        or die "$what does not answer\n";
    return $port;
}

sub start_pinned {
    my ($what, $port, @command) = @_;
    my $log = Headgate::scratch() . "/$what.log";
    my $pid = Headgate::spawn($log, $log, pinned(0, @command));
    wait_port($port, $what);
    return {port => $port, pid => $pid};
}

# {port, tls_port, pid, digest}: the digest of bucket.lua. `certs`: as of start_cluster; without, it speaks no TLS.
sub start_redis {
    my ($certs) = @_;
    my ($port, $tls_port) = Headgate::free_ports(2);
    my @tls = $certs ? ('--tls-port', $tls_port, '--tls-cert-file', "$certs/localhost.pem", '--tls-key-file',
                        "$certs/localhost.key", '--tls-ca-cert-file', "$certs/ca.pem", '--tls-auth-clients', 'no') : ();
    my $redis = start_pinned('redis-server', $port, 'redis-server', '--port', $port, '--save', '', '--appendonly',
                             'no', '--bind', '127.0.0.1', @tls);
    $redis->{tls_port} = $tls_port;
    my $script = Headgate::read_file("$FindBin::Bin/bucket.lua");
    $redis->{digest} = Headgate::Client::connect("127.0.0.1:$port")->command('SCRIPT', 'LOAD', $script);
    return $redis;
}

sub start_echo {
    my ($port) = Headgate::free_ports(1);
    return start_pinned('echo', $port, "$Headgate::build/tests/bench/echo", $port, @_);
}

# Has the daemon speak TLS at a port of its own, {ports}{tls}.
sub speak_tls {
    my ($daemon, $certs) = @_;
    ($daemon->{ports}{tls}) = Headgate::free_ports(1);
    $daemon->{settings}{listen}{clients_tls} = "127.0.0.1:$daemon->{ports}{tls}";
    $daemon->{settings}{tls} = {certificate => "$certs/localhost.pem", key => "$certs/localhost.key"};
    return $daemon->write_config;
}

# Daemons of one thread each that have met, the first on core 0, the others on core 1, where they go before nobody and
# after nobody who measures: a load generator that never sleeps leaves them their part. Options as Headgate::cluster's.
sub start_cluster {
    my (%options) = @_;
    my $certs = delete $options{certs}; # a directory of localhost.pem, localhost.key: the first speaks TLS as well
    my $cluster = Headgate::cluster(state_dir => 'none', debug => 'false', threads => 1, %options);
    speak_tls(($cluster->daemons)[0], $certs) if $certs;
    $cluster->start(30)->wait_met(30) or die "the cluster does not come together\n";
    my ($first, @others) = $cluster->daemons;
    put_first(0, $first->{pid});
    put_first(1, $_->{pid}) for @others;
    return $cluster;
}

sub port_of { my ($daemon) = @_; return $daemon->{ports}{clients} }

# Puts rules in force as an operator would.
sub apply_rules {
    my ($daemon, $yaml) = @_;
    my $file = Headgate::write_file(Headgate::scratch() . '/rules.yaml', $yaml);
    capture(Headgate::headgate(), '--at', '127.0.0.1:' . port_of($daemon), 'rules', 'apply', $file);
    return;
}

# Processor time that a program has taken, all its threads together.
sub cpu_ns {
    my ($pid) = @_;
    my $sum = 0;
    $sum += (split ' ', Headgate::read_file($_))[0] // 0 for glob "/proc/$pid/task/*/schedstat";
    return $sum;
}

# "VmRSS" and the like of /proc/PID/status, in bytes.
sub memory_bytes {
    my ($pid, $field) = @_;
    return Headgate::read_file("/proc/$pid/status") =~ /^$field:\s*(\d+) kB/m ? 1024 * $1 : 0;
}

# ---- load ----

# What the load generator is run by, where it goes before everybody else on its core.
our @load_class;

sub can_go_first { return !system('chrt -f 1 true 2>/dev/null') }

# What `headgate load` reports of one run; `words` to one port. Anything but an answer to each request is fatal. With
# --busy peers on its core get their part of it only where it is not of a class that goes before theirs.
sub load_at {
    my ($port, $words, @options) = @_;
    my @load = (@load_class, Headgate::headgate(), 'load', '--at', "127.0.0.1:$port", '--send', $words, @options,
                '--json');
    my $report = decode_json(capture(pinned(1, @load)));
    my $failed = 0;
    $failed += $_->{errors} + $_->{lost} for @{$report->{targets}};
    die "port $port, $words: $failed requests failed: ", $report->{first_error} // '', "\n" if $failed;
    return $report;
}

# Touches what a server will need, so that its first round is like the others.
sub warm_up {
    my ($port, $words, $keys) = @_;
    return load_at($port, $words, '--keys', $keys, '--prefix', 'key:', '--pipeline', 64, '--seconds',
                   $option{quick} ? 0.25 : 0.5);
}

# Daemons touch all huge pages of their tables, which takes a while, and have told their peers of it: of a fifth of each
# key, which no refill pays off before it is told.
sub warm_daemons {
    my (@ports) = @_;
    fill($_, 'CAN_ACCESS {key} 20', 1 << 16, '--prefix', 'key:') for @ports;
    wait_told($_) for @ports;
    return;
}

# Until peers have heard of all that was spent.
sub wait_told {
    my ($port) = @_;
    my $client = Headgate::Client::connect("127.0.0.1:$port");
    my $told = sub { my $stats = $client->fields('INFO', 'stats'); return !$stats->{open_keys} && !$stats->{log_keys} };
    Headgate::wait_until(60, $told) or die "peers hear nothing\n";
    return;
}

# Asks for each of so many keys once.
sub fill {
    my ($port, $words, $keys, @options) = @_;
    my $report = load_at($port, $words, '--keys', $keys, '--in-order', '--burst', $keys, '--connections', 4,
                         '--pipeline', 64, '--seconds', 3600, @options);
    my $answered = $report->{targets}[0]{answered};
    die "only $answered of $keys keys were asked for\n" if $answered != $keys;
    return $report;
}

# ---- figures ----

sub spread {
    my @sorted = sort { $a <=> $b } @_;
    return {min => $sorted[0], median => $sorted[@sorted / 2], max => $sorted[-1]};
}

# Of two lists that were measured in the same rounds.
sub ratio {
    my ($of, $to) = @_;
    return spread(map { $of->[$_] / $to->[$_] } 0 .. $#$of);
}

# "2.31  (2.20 .. 2.40)"
sub shown {
    my ($spread, $format) = @_;
    return sprintf "$format  ($format .. $format)", @$spread{qw(median min max)};
}

# Judges a figure; `how` is '>=' or '<='. A goal that is not kept is said, and the program goes on.
sub goal {
    my ($what, $value, $how, $bound, $unit) = @_;
    my $kept = $how eq '>=' ? $value >= $bound : $value <= $bound;
    push @{$result{goals}}, {what => $what, value => $value, how => $how, bound => $bound, unit => $unit // '',
                             kept => $kept ? JSON::PP::true : JSON::PP::false};
    push @broken, $what if !$kept;
    return;
}

# Writes what was measured, says what became of the goals, and gives the exit status.
sub finish {
    my @said = map {
        sprintf "%s: %s: %.4g%s, %s %g", $_->{kept} ? 'kept' : 'BROKEN', $_->{what}, $_->{value},
            $_->{unit} ? " $_->{unit}" : '', $_->{how} eq '>=' ? 'at least' : 'at most', $_->{bound}
    } @{$result{goals} // []};
    $result{said} = \@said;
    Headgate::write_file($option{json}, JSON::PP->new->canonical->pretty->encode(\%result)) if $option{json};
    print map { "$_\n" } '', @said if @said;
    return @broken ? 1 : 0;
}

1;
