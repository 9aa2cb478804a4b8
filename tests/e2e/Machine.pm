# A machine: a tree of Debian that systemd boots, in namespaces of its own (systemd-nspawn), with no network but
# loopback.
#
# The one idea: who starts one gets a handle, through which commands run as root inside. The machine is not registered
# anywhere, so nothing but its processes must be ended; an END of the test ends what is left.
package Machine;

use strict;
use warnings;
use Headgate;
use POSIX qw(WNOHANG setsid);

my @calls = qw(seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self); # that nspawn would refuse
my %running;

sub text { my ($path) = @_; open my $file, '<', $path or return ''; local $/; return scalar(<$file>) // '' }

# Why no machine can run here; "": one can.
sub lacks {
    return 'only root starts another system' if $> != 0;
    return 'there is no systemd-nspawn' if system('command -v systemd-nspawn nsenter >/dev/null') != 0;
    return '';
}

# Boots the tree. (machine, ''), or (undef, why it does not come up).
sub start {
    my ($tree, $name, $log) = @_;
    my $pid = fork // die "fork: $!";
    if ($pid == 0) {
        setsid();
        open STDIN, '<', '/dev/null' and open STDOUT, '>', $log and open STDERR, '>&', \*STDOUT or POSIX::_exit(126);
        exec 'systemd-nspawn', '--quiet', '--boot', '--register=no', '--keep-unit', "--directory=$tree",
            "--machine=$name", '--private-network', '--link-journal=no', '--resolv-conf=off', '--timezone=off',
            "--system-call-filter=@calls" or POSIX::_exit(127);
    }
    $running{$pid} = 1;
    my $self = bless {pid => $pid, log => $log}, 'Machine';
    my $is_up = Headgate::wait_until(90, sub {
        return 1 if $self->has_ended;
        # Its first child makes the namespaces, and goes; the one that stays is the first process of the machine.
        $self->{leader} = (split ' ', text("/proc/$pid/task/$pid/children"))[0] // return 0;
        my (undef, $state) = $self->run(10, 'systemctl is-system-running');
        return $state =~ /^(?:running|degraded)$/m;
    });
    return ($self, '') if $is_up && !$self->has_ended;
    my ($why) = reverse grep { /\S/ } split /\n/, text($log);
    $self->stop;
    return (undef, $why // 'it says nothing');
}

sub has_ended {
    my ($self) = @_;
    $self->{ended} ||= waitpid($self->{pid}, WNOHANG) == $self->{pid};
    delete $running{$self->{pid}} if $self->{ended};
    return $self->{ended};
}

# A command inside: (status, what it said).
sub run {
    my ($self, $seconds, $command) = @_;
    my @clean = qw(env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C SYSTEMD_PAGER= SYSTEMD_COLORS=0 sh -c);
    my @enter = ('nsenter', "--target=$self->{leader}", qw(--all --root --wd));
    my ($status, $out, $err) = Headgate::run($seconds, @enter, @clean, $command);
    return ($status, "$out$err");
}

# A program of this system in the network of the machine, beside what runs in it: its process.
sub beside {
    my ($self, $log, @command) = @_;
    return Headgate::spawn($log, $log, qw(nsenter), "--net=/proc/$self->{leader}/ns/net", @command);
}

# Shuts it down, as its operator would; else it is killed with all that runs in it. True: it went by itself.
sub stop {
    my ($self) = @_;
    kill 'TERM', $self->{pid} if !$self->has_ended;
    my $went = Headgate::wait_until(60, sub { $self->has_ended });
    kill 'KILL', $self->{leader} // (), $self->{pid} if !$went;
    Headgate::wait_until(10, sub { $self->has_ended });
    return $went;
}

END {
    my $status = $?;
    for my $pid (keys %running) {
        kill 'KILL', split(' ', text("/proc/$pid/task/$pid/children")), $pid;
        waitpid $pid, 0;
    }
    $? = $status;
}

1;
