# Clients that connect anew for each request, while daemons at their port end and begin: what they saw.
package Reconnect;
use strict;
use warnings;
use Errno qw(ECONNREFUSED);
use Headgate;
use IO::Socket::INET;
use List::Util qw(sum0);
use POSIX ();
use Time::HiRes qw(time);

# A socket that listens, as a service manager holds one; at a free port if `port` is undefined.
sub listener {
    my ($port) = @_;
    my %at = defined $port ? (LocalPort => $port) : ();
    my @common = (Listen => 4096, LocalAddr => '127.0.0.1', ReuseAddr => 1);
    return IO::Socket::INET->new(@common, %at) // die "listen: $!";
}

# One client, in a process of its own, until the file `stop` is there: `out` gets how often it was refused, answered,
# and left without an answer. Its process.
sub client {
    my ($port, $stop, $out) = @_;
    my $pid = fork // die "fork: $!";
    return $pid if $pid;
    my ($refused, $answered, $cut) = (0, 0, 0);
    while (!-e $stop) {
        my $socket = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$port", Timeout => 20);
        if (!$socket) {
            $refused++ if $! == ECONNREFUSED;
            $cut++ if $! != ECONNREFUSED;
            next;
        }
        local $SIG{PIPE} = 'IGNORE';
        my $connected = time;
        syswrite $socket, "CAN_ACCESS client\r\n";
        my $stood_still = time - $connected > 0.05; # a daemon that leaves does not wait for who says nothing
        my $line = readline $socket;
        defined $line && $line =~ /^:[01]/ ? $answered++ : $stood_still || $cut++;
    }
    Headgate::write_file($out, "$refused $answered $cut");
    POSIX::_exit(0);
}

my $runs = 0;

# What three clients of a daemon saw while it was changed by each of these in turn: (refused, answered, cut).
sub through {
    my ($daemon, @changes) = @_;
    my $place = Headgate::scratch() . '/reconnect-' . $runs++;
    my ($stop, @out) = ("$place.stop", map { "$place.$_" } 1 .. 3);
    my @pids = map { client($daemon->{ports}{clients}, $stop, $_) } @out;
    my $is_busy = sub { $daemon->client->fields('INFO', 'clients')->{total_commands_processed} > 200 };
    for my $change (@changes) {
        Headgate::wait_until(20, $is_busy);
        $change->();
    }
    Headgate::wait_until(20, $is_busy);
    Headgate::write_file($stop, '');
    waitpid $_, 0 for @pids;
    my @seen = map { [split / /, Headgate::read_file($_)] } @out;
    return map { my $what = $_; sum0 map { $_->[$what] } @seen } 0 .. 2;
}

1;
