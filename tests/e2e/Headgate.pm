# Headgate.pm: what end-to-end tests share: free ports, configs, real daemons, a client, waiting with a deadline.
#
# Everything that is started is killed when the test ends, however it ends. Nothing here sleeps to wait: it
# polls a condition until a deadline. Deadlines are those of a machine that has nothing else to do, and $patience
# multiplies all of them. HEADGATE_BUILD names the build tree (default build/release).
#
#   my $cluster = Headgate::cluster(limits => [{name => 'default', capacity => 100, rate => '100/s'}]);
#   $cluster->start;
#   my $client = $cluster->daemon('us-east')->client;
#   is($client->command('CAN_ACCESS', 'alice'), 1);
#
# A lone daemon is a cluster of one: Headgate::cluster(regions => ['here']).
package Headgate;

use strict;
use warnings;
use Cwd qw(abs_path);
use Fcntl ();
use File::Basename qw(dirname);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use IO::Socket::UNIX;
use JSON::PP ();
use POSIX qw(:sys_wait_h);
use Time::HiRes qw(time sleep);

our $root = abs_path(dirname(__FILE__) . '/../..');
our $build = $ENV{HEADGATE_BUILD} // 'build/release';
$build = "$root/$build" unless $build =~ m{^/};

# For daemons that were built with ASan, and with TSan.
$ENV{LSAN_OPTIONS} //= "suppressions=$root/tests/e2e/lsan.txt:print_suppressions=0";
$ENV{TSAN_OPTIONS} //= "suppressions=$root/tests/e2e/tsan.txt";

# A deadline only ends a test that has failed, so that much of it costs nothing.
our $patience = 6;

# A daemon with a hard limit below that lowers its max_connections, and says so before anything else.
my $few_files = read_file('/proc/self/limits') =~ /^Max open files\s+\d+\s+(\d+)/m && $1 < 11_000;

# ASan writes an eighth of what a daemon asks memory for, used or not: a table of the default size and what is of its
# size double the time of a start. Daemons as released have it.
my $sanitized = $build =~ m{/asan$};

# True: `headgate` is looked at for leaks, too, which takes half of the time of such a short program. The tests of its
# commands do that.
our $leaks_of_headgate = 0;

our ($scratch, %running, @claims);
my $owner = $$;

sub headgated { return "$build/headgated" }
sub headgate  { return "$build/headgate" }

# A directory that goes away with the test.
sub scratch { return $scratch //= tempdir('headgate-XXXXXX', TMPDIR => 1, CLEANUP => 1) }

# Kills what was started, whatever it is doing.
END {
    my $status = $?;
    if ($$ == $owner) {
        kill 'KILL', $_ for keys %running;
        waitpid $_, 0 for keys %running;
        @claims = ();
    }
    $? = $status;
}
$SIG{$_} = sub { exit 1 } for qw(INT TERM HUP);

# Ports that nobody listens on. They lie below the kernel's ephemeral range, so that no outgoing connection
# takes one meanwhile, and an abstract socket claims each against other tests that run at the same time.
sub free_ports {
    my ($count) = @_;
    my @ports;
    for (1 .. 10000) {
        last if @ports == $count;
        my $port = 10000 + int rand 22000;
        my $claim = IO::Socket::UNIX->new(Local => "\0headgate-port-$port", Listen => 1) or next;
        my $probe = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $port, Listen => 1) or next;
        close $probe;
        push @claims, $claim;
        push @ports, $port;
    }
    die "no $count free ports" if @ports != $count;
    return @ports;
}

# So many connections, or as many as a daemon and this process have descriptors for.
sub places {
    my ($wanted) = @_;
    my ($here, $daemon) = read_file('/proc/self/limits') =~ /^Max open files\s+(\d+)\s+(\d+)/m or return $wanted;
    my ($most) = sort { $a <=> $b } $wanted, $here - 100, $daemon - 800;
    die "only $here and $daemon file descriptors are allowed (ulimit -n)" if $most < 50;
    return $most;
}

# Calls `condition` until it is true and returns its value; after `seconds`, with patience, returns false.
sub wait_until {
    my ($seconds, $condition) = @_;
    return for_a_while($patience * $seconds, $condition);
}

# The same for exactly so many seconds: for what may well not become true, or is tried again if it does not.
sub for_a_while {
    my ($seconds, $condition) = @_;
    my $deadline = time + $seconds;
    while (1) {
        my $value = $condition->();
        return $value if $value;
        return '' if time >= $deadline;
        sleep 0.01;
    }
}

# For what holds for a short time only: calls `attempt`, which says whether it found that, and returns its value. What
# it did not find is looked for again if that took `seconds` or longer, because others had the processor.
sub in_time {
    my ($seconds, $attempt) = @_;
    my ($begun, $value);
    for (1 .. 100) {
        $begun = time;
        $value = $attempt->();
        last if $value || time - $begun < $seconds;
    }
    return $value;
}

sub write_file {
    my ($path, $text) = @_;
    open my $file, '>', $path or die "$path: $!";
    print $file $text;
    close $file or die "$path: $!";
    return $path;
}

sub read_file {
    my ($path) = @_;
    open my $file, '<', $path or return '';
    local $/;
    my $text = <$file>;
    return $text // '';
}

# What `headgate` asks a daemon for. Of itself it waits for two seconds, which a daemon on a slow machine may need.
my %asks = map { $_ => 1 } qw(check peek explain nodes info forget reload weights key hot fingerprint);
my %asks_of_rules = map { $_ => 1 } qw(apply list export get history delete diff rollback);
my $own_options = qr/^(?:--timeout|--help|--version|help|load|top)$/;

sub with_patience {
    my ($program, @words) = @_;
    my ($is_rules) = grep { $words[$_] eq 'rules' } 0 .. $#words;
    my $asked = defined $is_rules ? $asks_of_rules{$words[$is_rules + 1] // ''} : grep { $asks{$_} } @words;
    return ($program, @words) if $program ne headgate() || !$asked || grep { /$own_options/ } @words;
    return ($program, '--timeout', '60s', @words);
}

# Runs a program to its end: (exit status, stdout, stderr); -1 when it outlived `seconds`, with patience, and was
# killed.
sub run {
    my ($seconds, @command) = @_;
    @command = with_patience(@command);
    my ($out, $err) = map { scratch() . "/run-$_-$$" } qw(out err);
    unlink $out, $err;
    my $pid = spawn($out, $err, @command);
    my $status;
    my $ended = wait_until($seconds, sub { waitpid($pid, WNOHANG) == $pid and ($status = $?, 1)[1] });
    if (!$ended) {
        kill 'KILL', $pid;
        waitpid $pid, 0;
    }
    delete $running{$pid};
    return ($ended ? ($status & 127 ? 128 + ($status & 127) : $status >> 8) : -1, read_file($out), read_file($err));
}

# Sockets that the next programs get as of a service manager (LISTEN_FDS), from descriptor 3 on.
our @handed;

sub hand_over {
    my @copies = map { fcntl($_, Fcntl::F_DUPFD(), 64) // POSIX::_exit(126) } @handed;
    POSIX::dup2($copies[$_], 3 + $_) for 0 .. $#copies;
    POSIX::close($_) for @copies;
    @ENV{qw(LISTEN_FDS LISTEN_PID)} = (scalar @handed, $$);
    return;
}

# Starts a program with its output in files; it is killed when the test ends.
sub spawn {
    my ($out, $err, @command) = @_;
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
        hand_over() if @handed;
        $ENV{ASAN_OPTIONS} = join ':', $ENV{ASAN_OPTIONS} // (), 'detect_leaks=0'
            if $sanitized && !$leaks_of_headgate && $command[0] eq headgate();
        open STDIN, '<', '/dev/null' and open STDOUT, '>>', $out and open STDERR, '>>', $err
            and exec { $command[0] } @command;
        POSIX::_exit(127);
    }
    $running{$pid} = 1;
    return $pid;
}

# A value as YAML: scalars, arrays and hashes; hashes keep no order.
sub yaml {
    my ($value, $indent) = @_;
    $indent //= '';
    if (ref $value eq 'HASH') {
        return " {}\n" if !%$value;
        return "\n" . join '', map { "$indent$_:" . yaml($value->{$_}, "$indent  ") } sort keys %$value;
    }
    if (ref $value eq 'ARRAY') {
        return " []\n" if !@$value;
        return "\n" . join '', map {
            my $entry = yaml($_, "$indent    ");
            $entry =~ s/^\n\s*/ /;
            "$indent  -$entry";
        } @$value;
    }
    return " $value\n";
}

# Daemons that know each other, one per region. Options:
#   regions => [names]          default us-east, eu-west, ap-south
#   weights => {region => w}    default even
#   limits  => [{...}]          default one: capacity 100, rate 100/s
#   nodes   => {name => {...}}  settings of one node that differ
#   listen_http => 1            each serves HTTP as well, at the port {http}
#   listen_grpc => 1            and gRPC, at the port {grpc}
#   anything else               a top-level setting of every node, e.g. interval => '50ms'
sub cluster {
    my (%options) = @_;
    my @names = @{delete $options{regions} // ['us-east', 'eu-west', 'ap-south']};
    my $weights = delete $options{weights} // even_weights(@names);
    my $limits = delete $options{limits} // [{name => 'default', capacity => 100, rate => '100/s', default => 'true'}];
    my $own = delete $options{nodes} // {};
    my @listens = (qw(clients gossip snapshots), delete $options{listen_http} ? 'http' : (),
                   delete $options{listen_grpc} ? 'grpc' : ());
    my @ports = free_ports(@listens * @names);
    my %address = map { my $name = $_; $name => {map { $_ => shift @ports } @listens} } @names;
    my $self = bless {names => \@names, daemons => {}}, 'Headgate::Cluster';
    for my $name (@names) {
        my %listen = map { $_ => "127.0.0.1:$address{$name}{$_}" } @listens;
        my @peers = map {
            {node => $_, region => $_, gossip => "127.0.0.1:$address{$_}{gossip}",
             snapshots => "127.0.0.1:$address{$_}{snapshots}"}
        } grep { $_ ne $name } @names;
        my @room = $few_files ? (max_connections => places(10_000)) : ();
        push @room, table => {keys => 65_536} if $sanitized;
        my %settings = (@room, node => $name, region => $name, listen => \%listen,
                        regions => [map { {name => $_, weight => $weights->{$_}} } @names],
                        limits => $limits, debug => 'true', secret => 'of-a-test', %options, %{$own->{$name} // {}});
        $settings{peers} = \@peers if @peers && !exists $settings{peers};
        $self->{daemons}{$name} = Headgate::Daemon::new($name, \%settings, $address{$name});
    }
    return $self;
}

# Decimals that sum to exactly 1.
sub even_weights {
    my (@names) = @_;
    my $part = int(1000 / @names);
    my %weights = map { $_ => sprintf('%.3f', $part / 1000) } @names;
    $weights{$names[0]} = sprintf '%.3f', (1000 - $part * (@names - 1)) / 1000;
    return \%weights;
}

package Headgate::Cluster;
use strict;
use warnings;

sub daemons { my ($self) = @_; return map { $self->{daemons}{$_} } @{$self->{names}} }
sub daemon { my ($self, $name) = @_; return $self->{daemons}{$name} // die "no daemon $name" }

# Starts all and waits until each accepts clients; dies with the log of one that does not.
sub start {
    my ($self, $seconds) = @_;
    $_->spawn for $self->daemons;
    $_->wait_listening($seconds // 10) for $self->daemons;
    return $self;
}

# Waits until every daemon that runs sees all of them active and holds a share itself.
sub wait_met {
    my ($self, $seconds) = @_;
    my @daemons = grep { $_->{pid} } $self->daemons;
    my @clients = map { $_->client } @daemons;
    return Headgate::wait_until($seconds // 10, sub {
        for my $client (@clients) {
            my $info = $client->fields('INFO', 'cluster');
            return 0 if $info->{state} ne 'active' || $info->{config_differs} ne 'no' && !$self->{may_differ};
            return 0 if grep { ($info->{"peer_$_->{name}"} // '') !~ /state=active,/ } @daemons;
        }
        return 1;
    });
}

# SIGTERM to all, then waits: true when every one ended with status 0.
sub stop {
    my ($self, $seconds) = @_;
    my @daemons = grep { $_->{pid} } $self->daemons;
    $_->signal('TERM') for @daemons;
    my @bad = grep { ($_->wait_end($seconds // 10) // -1) != 0 } @daemons;
    return !@bad;
}

package Headgate::Daemon;
use strict;
use warnings;
use POSIX qw(:sys_wait_h);

sub new {
    my ($name, $settings, $ports) = @_;
    my $base = Headgate::scratch() . "/$name-$ports->{clients}";
    my $self = bless {name => $name, settings => $settings, ports => $ports, config => "$base.yaml",
                      log_path => "$base.log", state_dir => "$base.state", pid => undef}, 'Headgate::Daemon';
    $settings->{state_dir} //= $self->{state_dir};
    $self->write_config;
    return $self;
}

sub write_config {
    my ($self) = @_;
    my $text = Headgate::yaml($self->{settings});
    $text =~ s/^\n//;
    Headgate::write_file($self->{config}, $text);
    return $self;
}

sub log { my ($self) = @_; return Headgate::read_file($self->{log_path}) }

sub spawn {
    my ($self) = @_;
    die "$self->{name} runs already" if $self->{pid};
    $self->{pid} = Headgate::spawn($self->{log_path}, $self->{log_path}, $self->{program} // Headgate::headgated(),
                                   '--config', $self->{config});
    return $self;
}

# The kernel accepts connections before the daemon does: only an answer counts.
sub wait_listening {
    my ($self, $seconds) = @_;
    my $up = Headgate::wait_until($seconds, sub {
        die "$self->{name} ended:\n" . $self->log if !$self->running;
        return eval { $self->client->command('PING') };
    });
    die "$self->{name} does not listen:\n" . $self->log if !$up;
    return $self;
}

sub start { my ($self, $seconds) = @_; return $self->spawn->wait_listening($seconds // 10) }

sub running {
    my ($self) = @_;
    return 0 if !$self->{pid};
    return 1 if waitpid($self->{pid}, WNOHANG) == 0;
    $self->ended($?);
    return 0;
}

sub ended {
    my ($self, $status) = @_;
    delete $Headgate::running{$self->{pid}};
    $self->{pid} = undef;
    $self->{status} = $status & 127 ? 128 + ($status & 127) : $status >> 8;
    return $self->{status};
}

sub signal {
    my ($self, $signal) = @_;
    die "$self->{name} does not run" if !$self->{pid};
    kill $signal, $self->{pid};
    return $self;
}

# The exit status (128 + signal), or undef when it still runs after `seconds`.
sub wait_end {
    my ($self, $seconds) = @_;
    return $self->{status} if !$self->{pid};
    Headgate::wait_until($seconds, sub { !$self->running }) or return undef;
    return $self->{status};
}

sub stop { my ($self, $seconds) = @_; return $self->signal('TERM')->wait_end($seconds // 10) }
sub kill9 { my ($self) = @_; return $self->signal('KILL')->wait_end(10) }

sub client { my ($self) = @_; return Headgate::Client::connect("127.0.0.1:$self->{ports}{clients}") }

# Runs headgate, which asks this daemon. Returns its status, what it said, and its complaints.
sub headgate {
    my ($self, @words) = @_;
    return Headgate::run(20, Headgate::headgate(), '--at', "127.0.0.1:$self->{ports}{clients}", @words);
}

# What this daemon knows of the daemon of that name, as `headgate nodes` tells it.
sub node_of {
    my ($self, $name) = @_;
    my (undef, $out) = $self->headgate('--json', 'nodes');
    my ($node) = grep { $_->{node} eq $name } @{JSON::PP::decode_json($out)};
    return $node;
}

# A client of the daemon: RESP2 and RESP3, with a deadline on everything.
package Headgate::Client;
use strict;
use warnings;
use IO::Select;

sub connect {
    my ($address) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => $address, Timeout => 5 * $Headgate::patience)
        or die "connect $address: $!";
    binmode $socket;
    return bless {socket => $socket, buffer => '', seconds => 10 * $Headgate::patience}, 'Headgate::Client';
}

sub encode { return join '', '*' . @_ . "\r\n", map { '$' . length($_) . "\r\n$_\r\n" } @_ }

sub send_raw {
    my ($self, $bytes) = @_;
    local $SIG{PIPE} = 'IGNORE';
    my $sent = 0;
    while ($sent < length $bytes) {
        my $count = syswrite $self->{socket}, $bytes, length($bytes) - $sent, $sent;
        die "write: $!" if !defined $count;
        $sent += $count;
    }
    return $self;
}

# Sends one command and returns its reply; errors are Headgate::Error objects (they print as their text).
sub command { my ($self, @words) = @_; return $self->send_raw(encode(@words))->reply }

# Sends all commands at once and returns all replies.
sub pipeline {
    my ($self, @commands) = @_;
    $self->send_raw(join '', map { encode(@$_) } @commands);
    return map { $self->reply } @commands;
}

# A text reply (INFO, EXPLAIN, ...) with "name:value" lines as a hash.
sub fields {
    my ($self, @words) = @_;
    my $text = $self->command(@words);
    return {map { /^([^:#\s]+):\s*(.*?)\r?$/ ? ($1 => $2) : () } split /\n/, $text};
}

# True when the server has closed and everything it sent was read.
sub closed {
    my ($self) = @_;
    return 0 if length $self->{buffer};
    return 0 if !IO::Select->new($self->{socket})->can_read($self->{seconds});
    return !$self->fill;
}

sub close { my ($self) = @_; close $self->{socket}; return }

sub fill {
    my ($self) = @_;
    IO::Select->new($self->{socket})->can_read($self->{seconds}) or die "no reply within $self->{seconds} s";
    my $count = sysread $self->{socket}, $self->{buffer}, 65536, length $self->{buffer};
    return $count;
}

sub need { my ($self) = @_; $self->fill or die 'connection closed'; return }

sub line {
    my ($self) = @_;
    $self->need while ($self->{buffer} !~ /\r\n/);
    $self->{buffer} =~ s/^(.*?)\r\n//s;
    return $1;
}

sub exactly {
    my ($self, $size) = @_;
    $self->need while length $self->{buffer} < $size + 2;
    my $value = substr $self->{buffer}, 0, $size;
    substr($self->{buffer}, 0, $size + 2) = '';
    return $value;
}

# One reply: scalars, array references, flattened maps, undef for null.
sub reply {
    my ($self) = @_;
    my $line = $self->line;
    my ($type, $rest) = (substr($line, 0, 1), substr $line, 1);
    return bless {text => $rest}, 'Headgate::Error' if $type eq '-';
    return $rest if $type =~ /[+:,(]/;
    return $rest eq 't' ? 1 : 0 if $type eq '#';
    return undef if $type eq '_' or $rest eq '-1';
    return $self->exactly($rest) if $type eq '$';
    return substr $self->exactly($rest), 4 if $type eq '=';
    return [map { $self->reply } 1 .. $rest] if $type =~ /[*~>]/;
    return [map { $self->reply } 1 .. 2 * $rest] if $type eq '%';
    die "unknown reply: $line";
}

package Headgate::Error;
use overload '""' => sub { return $_[0]{text} }, fallback => 1;

1;
