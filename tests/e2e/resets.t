#!/usr/bin/perl
# Connections to the ports for peers that are ended and reset before they greet: nng takes the error of one for the end
# of all, and would not let anybody in any more. The port is opened again, and peers find their way back.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Socket::INET;
use Socket qw(SOL_SOCKET SO_LINGER SHUT_WR);
use Test::More;

my ($resets, $waiting) = (400, 15);
my $cluster = Headgate::cluster(interval => '50ms', leave_timeout => '200ms');
my ($one, $two, $three) = $cluster->daemons;
$_->spawn->wait_listening(10) for $one, $two;
my $client = $one->client;

sub of_one { my ($section) = @_; return $client->fields('INFO', $section) }

# Connections of the strangers below, 127.0.0.66 and .77, for which the daemon has a descriptor. (It opens and keeps
# some more of its own for requests, so that a count of all would say little.)
sub held {
    my %inode = map { (readlink($_) // '') =~ /^socket:\[(\d+)\]/ ? ($1 => 1) : () } glob "/proc/$one->{pid}/fd/*";
    my @rows = map { [split] } map { split /\n/, Headgate::read_file($_) } '/proc/net/tcp', '/proc/net/tcp6';
    return scalar grep { ($_->[2] // '') =~ /(?:42|4D)00007F:/ && $inode{$_->[9]} } @rows;
}
sub heard_ms { my ($peer) = @_; return of_one('cluster')->{"peer_$peer->{name}"} =~ /heard_ms=(\d+)/ ? $1 : 1e9 }

ok(Headgate::wait_until(10, sub { heard_ms($two) < 1000 }), 'two daemons hear each other');

sub reset_some {
    my ($port, $from) = @_;
    for (1 .. $resets) {
        my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $one->{ports}{$port},
                                           LocalAddr => $from, Timeout => 30) or next;
        shutdown $socket, SHUT_WR;
        setsockopt $socket, SOL_SOCKET, SO_LINGER, pack 'ii', 1, 0;
        close $socket;
    }
    return;
}

# They greet at a port that does not listen any more, and are kept waiting.
my @waiting;
sub wait_there {
    my ($port, $protocol) = @_;
    for (1 .. $waiting) {
        my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $one->{ports}{$port},
                                           LocalAddr => '127.0.0.77', Timeout => 30) or next;
        syswrite $socket, "\0SP\0" . pack 'nn', $protocol, 0;
        push @waiting, $socket;
    }
    return;
}

# Who listens greets. On some runs no reset meets nng in the moment that harms it; then the port listens as before.
sub greets {
    my ($port) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $one->{ports}{$port},
                                       LocalAddr => '127.0.0.88', Timeout => 5) or return 0;
    my ($ready, $bytes) = ('', '');
    vec($ready, fileno $socket, 1) = 1;
    return select($ready, undef, undef, 5) > 0 && (sysread($socket, $bytes, 8) // 0) == 8 && $bytes =~ /^\0SP\0/;
}

my $harmed = 0;
for my $port ('gossip', 'snapshots') {
    my $reopened = of_one('transport')->{transport_ports_reopened};
    my $tries = 0;
    do {
        reset_some($port, '127.0.0.66');
        wait_there($port, $port eq 'gossip' ? 0x21 : 0x30);
    } until ++$tries == 5
        || Headgate::for_a_while(10, sub { of_one('transport')->{transport_ports_reopened} > $reopened });
    my $was_harmed = of_one('transport')->{transport_ports_reopened} > $reopened;
    $harmed += $was_harmed;
    ok(Headgate::wait_until(10, sub { greets($port) }),
       "the $port port listens after $tries times $resets connections" . ($was_harmed ? ', being opened again' : ''));
}
my $said = $one->log =~ / warning a port for peers did not listen any more and was opened again; /;
is($said ? 'said' : 'not', $harmed ? 'said' : 'not', 'the log says so');

$three->spawn->wait_listening(10);
ok($cluster->wait_met(20), 'a peer that comes then is let in') or diag map { $_->log } $cluster->daemons;
ok(Headgate::wait_until(10, sub { heard_ms($two) < 1000 }), 'and the one before is heard');
undef @waiting;
ok(Headgate::wait_until(60, sub { held() == 0 }), 'nothing keeps its descriptor') or diag held();
is(of_one('transport')->{transport_connections_stuck}, 0, 'nor hangs');
ok($cluster->stop(15), 'all leave with status 0');
done_testing();
