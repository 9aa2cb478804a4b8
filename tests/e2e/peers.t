#!/usr/bin/perl
# Whatever talks to the ports of peers, and whatever a peer talks: no crash, no memory taken, clients go on.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Select;
use IO::Socket::INET;
use Test::More;

$SIG{PIPE} = 'IGNORE';

my ($pub, $sub, $req, $rep) = (0x20, 0x21, 0x30, 0x31);
my ($fake_gossip, $fake_snapshots) = Headgate::free_ports(2);
my $publisher = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $fake_gossip, Listen => 5) or die $!;
my $replier = IO::Socket::INET->new(LocalAddr => '127.0.0.1', LocalPort => $fake_snapshots, Listen => 5) or die $!;

my $cluster = Headgate::cluster(
    regions => ['here'], join_timeout => '100ms',
    peers => [{node => 'fake', region => 'here', gossip => "127.0.0.1:$fake_gossip",
               snapshots => "127.0.0.1:$fake_snapshots"}]);
my $daemon = $cluster->daemon('here')->start;
my $client = $daemon->client;

# In kB: VmPeak of addresses, VmHWM of memory.
sub peak {
    my ($what) = @_;
    return Headgate::read_file("/proc/$daemon->{pid}/status") =~ /$what:\s+(\d+) kB/ ? $1 : die "no $what";
}
my %peak = map { $_ => peak($_) } qw(VmPeak VmHWM);

# The greeting of nng's TCP transport, and a frame.
sub greeting { my ($protocol) = @_; return "\0SP\0" . pack 'nn', $protocol, 0 }
sub frame { my ($payload) = @_; return pack('Q>', length $payload) . $payload }

# Sends bytes and returns when the daemon has closed or has had time for a turn; its PING tells.
sub throw {
    my ($port, $bytes) = @_;
    my $socket = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 30) or return 0;
    syswrite $socket, $bytes;
    return $socket;
}

srand 1;
sub noise { my ($size) = @_; return join '', map { chr int rand 256 } 1 .. $size }

for my $which ('gossip', 'snapshots') {
    my $port = $daemon->{ports}{$which};
    my @open = map { throw($port, noise(1 + int rand 300)) } 1 .. 50;
    push @open, map { throw($port, greeting($_) . noise(200)) } ($pub, $sub, $req, $rep, 0x10, 0xffff) x 5;
    push @open, map { throw($port, greeting($_) . pack('Q>', 2 ** 33) . 'x') } ($sub, $req) x 25;
    push @open, throw($port, greeting($req) . frame('')), throw($port, greeting($req) . frame('abc'));
    is($client->command('PING'), 'PONG', "noise on the port for $which: clients are served");
    undef @open;
}

# What it dropped as no message of this cluster.
sub dropped {
    my $stats = $client->fields('INFO', 'stats');
    return $stats->{messages_invalid} + $stats->{messages_unsealed};
}

# Well-formed requests whose content is nonsense: each is answered or dropped, none is believed.
my $asker = throw($daemon->{ports}{snapshots}, greeting($req));
syswrite $asker, frame(pack('N', 0x80000000 + $_) . noise(int rand 400)) for 1 .. 500;
ok(Headgate::wait_until(10, sub { dropped() >= 500 }), 'nonsense in requests is counted');

# A peer that the config names and that publishes nonsense.
sub accept_from {
    my ($listener, $seconds) = @_;
    return IO::Select->new($listener)->can_read($seconds * $Headgate::patience) ? $listener->accept : undef;
}
my $dropped = dropped();
my $listening;
# A call that nobody took in time was given up and made anew: each one in the queue is answered.
ok(Headgate::wait_until(20, sub {
    if (my $call = accept_from($publisher, 0)) {
        syswrite $call, greeting($pub);
        syswrite $call, frame(noise(int rand 2000)) for 1 .. 500;
        $listening = $call;
    }
    return dropped() >= $dropped + 500;
}), 'the daemon listens to the peer of its config, and nonsense that is published is counted');
syswrite $listening, pack('Q>', 2 ** 40);
ok(IO::Select->new($listening)->can_read(10 * $Headgate::patience), 'a frame of a terabyte: the daemon hangs up');
ok(accept_from($publisher, 10), 'and calls again');

# ... and answers requests with nonsense.
my $asked = accept_from($replier, 10);
ok($asked, 'the daemon asks that peer');
syswrite $asked, greeting($rep) . frame(noise(100)) . frame(noise(3)) . pack('Q>', 2 ** 33);

is($client->command('PING'), 'PONG', 'clients are served');
ok(Headgate::wait_until(10, sub { $client->command('CAN_ACCESS', 'alice') == 1 }),
   'and get answers, of the share that does not depend on that peer');
# Threads' arenas take addresses of their own, but no eight gigabytes each.
cmp_ok(peak('VmPeak') - $peak{VmPeak}, '<', 2_000_000, 'no addresses were taken for what was only announced');
cmp_ok(peak('VmHWM') - $peak{VmHWM}, '<', 100_000, 'and no memory');
is(scalar(() = $daemon->log =~ /\n/g) < 20, 1, 'and no line was logged per packet') or diag $daemon->log;
is($daemon->stop(10), 0, 'it leaves with status 0');
unlike($daemon->log, qr/Sanitizer|Assertion|runtime error/, 'no sanitizer or assert had anything to say');

# ---- a daemon that did not run ----

my $three = Headgate::cluster();
$three->start;
ok($three->wait_met(10), 'three daemons');
my @three = $three->daemons;
my $begun = length $three[0]->log; # one that starts late was silent at first
$three[0]->signal('STOP');
ok(Headgate::wait_until(20, sub { 2 == grep { $_->log =~ /us-east is silent/ } @three[1, 2] }),
   'one is stopped: the others call it silent');
$three[0]->signal('CONT');
ok(Headgate::wait_until(20, sub { 2 == grep { $_->log =~ /us-east is heard again/ } @three[1, 2] }),
   'it goes on: they hear it again');
ok($three->wait_met(10), 'all see all');
unlike(substr($three[0]->log, $begun), qr/ is silent/,
       'it calls nobody silent for the time in which it did not run itself');
cmp_ok($three[0]->client->fields('INFO', 'stats')->{stalls}, '>=', 1, 'and says that it did not');
$three->stop;

# ---- a second signal ----

my $pair = Headgate::cluster(regions => ['one', 'two'], leave_timeout => '60s', silent_after => '60s');
$pair->start;
ok($pair->wait_met(10), 'two daemons');
my ($one, $two) = $pair->daemons;
$two->signal('STOP');
$one->signal('TERM');
ok(Headgate::wait_until(10, sub { $one->log =~ /SIGTERM: leaving/ }), 'one leaves and waits for the other');
ok($one->running, 'which sleeps');
is($one->signal('TERM')->wait_end(2), 128 + 15, 'a second signal ends it at once');
$two->signal('CONT')->kill9;

done_testing();
