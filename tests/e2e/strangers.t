#!/usr/bin/perl
# Strangers at the ports for peers, who know the protocol and not the secret: they hold neither memory nor descriptors
# beyond what is theirs, not for long, and neither peers nor clients miss anything.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Socket::INET;
use Test::More;

$SIG{PIPE} = 'IGNORE';

my ($halves, $handshakes) = (300, 600);
my ($sub, $req) = (0x21, 0x30);
# At each of the two ports strangers get 32 places, and 16 behind one address; so many may be greeting, of all of them.
my ($listeners, $askers, $each, $greeting) = (32, 32, 16, 32);
# Meanwhile the daemon opens some of its own: calls to the peer that is not up yet, connections of clients and peers.
my $own = 12;
my $cluster = Headgate::cluster(interval => '50ms', leave_timeout => '200ms');
my ($one, $two, $three) = $cluster->daemons;
$_->spawn->wait_listening(10) for $one, $two;
my $client = $one->client;

sub of_one { my ($section) = @_; return $client->fields('INFO', $section) }
sub descriptors { return scalar(my @found = glob "/proc/$one->{pid}/fd/*") }
# Where the descriptors lead: what a test says that finds too many.
sub of_descriptors {
    my %leads;
    $leads{(readlink($_) // 'gone') =~ s/\d+/N/gr}++ for glob "/proc/$one->{pid}/fd/*";
    my ($sockets) = (Headgate::read_file("/proc/$one->{pid}/net/tcp"));
    my %inode = map { (readlink($_) // '') =~ /socket:\[(\d+)\]/ ? ($1 => 1) : () } glob "/proc/$one->{pid}/fd/*";
    my @tcp = grep { $inode{(split)[9] // ''} } split /\n/, $sockets;
    return (map({ "$_ $leads{$_}\n" } sort keys %leads), map { "$_\n" } @tcp);
}
sub resident_kb { return Headgate::read_file("/proc/$one->{pid}/status") =~ /VmRSS:\s+(\d+) kB/ ? $1 : die }

sub greeting { my ($protocol) = @_; return "\0SP\0" . pack 'nn', $protocol, 0 }

# Strangers have addresses of their own; at that of a peer they would be taken for one.
my $strangers = 0;
sub stranger {
    my ($port) = @_;
    return IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $one->{ports}{$port},
                                 LocalAddr => '127.0.' . (1 + $strangers++ % 5) . '.66', Timeout => 30);
}

sub heard_ms { return of_one('cluster')->{"peer_$two->{name}"} =~ /heard_ms=(\d+)/ ? $1 : 1e9 }

# How many messages of the other daemon came in while a second one made its way to it and back.
sub goes_on {
    my ($what) = @_;
    my $before = of_one('stats')->{messages_received};
    ok(Headgate::wait_until(10, sub { of_one('stats')->{messages_received} > $before + 5 }), "$what: peers are heard");
    my $asked = $one->client;
    is($asked->command('PING'), 'PONG', "$what: a new client is served");
    return;
}

ok(Headgate::wait_until(10, sub { heard_ms() < 1000 }), 'two daemons hear each other');
my ($fd_before, $rss_before) = (descriptors(), resident_kb());

# ---- half-sent messages ----

my @open;
for my $port ('snapshots', 'gossip') {
    my ($protocol, $size) = $port eq 'gossip' ? ($sub, 1 << 20) : ($req, 128 << 10);
    for (1 .. $halves) {
        my $socket = stranger($port) or next;
        syswrite $socket, greeting($protocol) . pack('Q>', $size) . 'x' x (64 << 10);
        push @open, $socket;
    }
}
goes_on("$halves half-sent messages at each port");
ok(Headgate::wait_until(5, sub { descriptors() - $fd_before <= $listeners + $askers + $greeting }),
   'they have few descriptors') or diag descriptors() - $fd_before;
cmp_ok(resident_kb() - $rss_before, '<', 30_000, 'and hold a few megabytes at most');
ok(Headgate::wait_until(30, sub { descriptors() - $fd_before <= $own }), 'which they keep for some seconds')
    or diag descriptors() - $fd_before, "\n", of_descriptors();
undef @open;

# ---- greetings, finished and not even begun ----

for my $port ('gossip', 'snapshots') {
    for my $i (1 .. $handshakes) {
        my $socket = stranger($port) or next;
        syswrite $socket, greeting($port eq 'gossip' ? $sub : $req) if $i % 2;
        push @open, $socket;
    }
}
goes_on(2 * $handshakes . ' connections that say nothing more');
ok(Headgate::wait_until(5, sub { descriptors() - $fd_before <= $listeners + $askers + $greeting }),
   'have few descriptors') or diag descriptors() - $fd_before;
my $transport = of_one('transport');
cmp_ok($transport->{transport_connections_refused} + $transport->{transport_connections_cut}, '>', $handshakes,
       'what is turned away is counted');

# A daemon that comes now, while they hold all that they may.
$three->spawn->wait_listening(10);
ok($cluster->wait_met(15), 'a peer that starts meanwhile is let in') or diag map { $_->log } $cluster->daemons;

# Those that have greeted the gossip port may listen; of all others none may stay.
ok(Headgate::wait_until(30, sub { descriptors() - $fd_before <= $listeners + $own }),
   'what does not greet, or greets and does not ask, is ended') or diag descriptors() - $fd_before;
undef @open;
ok(Headgate::wait_until(30, sub { descriptors() <= $fd_before + $own }), 'no descriptor of a stranger is left')
    or diag descriptors(), " after $fd_before\n", of_descriptors();
is(of_one('transport')->{transport_connections_stuck}, 0, 'nor does any keep one');

# One address alone, at which nobody of the cluster is.
for (1 .. 2 * $each) {
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $one->{ports}{gossip},
                                       LocalAddr => '127.0.9.66', Timeout => 30) or next;
    syswrite $socket, greeting($sub);
    push @open, $socket;
}
ok(Headgate::wait_until(10, sub { of_one('transport')->{transport_connections_refused}
                                      >= $transport->{transport_connections_refused} + $each }),
   "one address gets $each places");
undef @open;
ok($cluster->stop(15), 'all leave with status 0');
done_testing();
