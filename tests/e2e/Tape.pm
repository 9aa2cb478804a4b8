# A wire that remembers: it carries what one daemon publishes to the other, keeps every message, and says all of them
# again when it is told to. It knows the frames of nng, and nothing of what messages say.
package Tape;
use strict;
use warnings;
use Headgate;
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Socket;

my $greeting_bytes = 8;
my $size_bytes = 8;
my $part_messages = 16;

# Carries from `host`:`port` to 127.0.0.1:`port`, in a process of its own.
sub start {
    my ($host, $port) = @_;
    my $listener = IO::Socket::INET->new(LocalAddr => $host, LocalPort => $port, Listen => 32, ReuseAddr => 1)
        or die "$host:$port: $!";
    socketpair my $here, my $there, AF_UNIX, SOCK_STREAM, PF_UNSPEC or die "socketpair: $!";
    defined(my $pid = fork) or die "fork: $!";
    if (!$pid) {
        $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
        $SIG{PIPE} = 'IGNORE';
        close $here;
        eval { carry($listener, $port, $there) };
        print STDERR $@;
        POSIX::_exit(1);
    }
    close $there;
    return bless {pid => $pid, orders => $here}, __PACKAGE__;
}

sub stop { my ($self) = @_; kill 'KILL', $self->{pid}; waitpid $self->{pid}, 0; return }

sub order {
    my ($self, $order) = @_;
    syswrite $self->{orders}, "$order\n" or die "the tape has ended: $!";
    my $answer = readline $self->{orders};
    die 'the tape has ended' if !defined $answer;
    return $answer + 0;
}
# How many messages it has carried.
sub kept { my ($self) = @_; return $self->order('kept') }
# Says all that it has carried so far, the oldest first. How many messages; 0: nobody listens.
sub say_again { my ($self) = @_; return $self->order('all') }
# The same, or `backward` the newest first, a part at a time, each when `heard`, which counts what has come, says that
# the one before came: nng drops what a busy daemon does not read in time. A part is said when somebody listens. Dies
# where a part is not heard.
sub say_in_parts {
    my ($self, $order, $heard) = @_;
    my @numbers = (0 .. $self->kept - 1);
    @numbers = reverse @numbers if $order eq 'backward';
    my $said = 0;
    while (my @part = splice @numbers, 0, $part_messages) {
        my ($before, $count) = ($heard->(), 0);
        Headgate::wait_until(20, sub { $count = $self->order("say @part") }) or die 'nobody listens';
        Headgate::wait_until(20, sub { $heard->() >= $before + $count }) or die 'what is said again is not heard';
        $said += $count;
    }
    return $said;
}
# From now on it carries nothing, and says only what it is told to; and the reverse.
sub cut  { my ($self) = @_; return $self->order('cut') }
sub mend { my ($self) = @_; return $self->order('mend') }

# ---- the process ----

# Both ends of one connection, with what has come from the publisher and is no whole message yet.
my ($select, %wire, @tape, $is_cut);

sub end_of {
    my ($wire) = @_;
    for my $socket (grep { $_ } @{$wire}{qw(listener publisher)}) {
        $select->remove($socket);
        delete $wire{fileno $socket};
        close $socket;
    }
    return;
}

sub connect_wire {
    my ($socket, $port) = @_;
    my $publisher = $is_cut ? undef : IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $port, Timeout => 5);
    return if !$publisher && !$is_cut;
    my $wire = {listener => $socket, publisher => $publisher, came => '', greeted => 0};
    # The publisher is cut off: this process greets in its place.
    $wire->{greeted} = syswrite $socket, "\0SP\0\0\x20\0\0" if !$publisher;
    for my $end (grep { $_ } $socket, $publisher) {
        $wire{fileno $end} = $wire;
        $select->add($end);
    }
    return;
}

sub from_publisher {
    my ($wire, $bytes) = @_;
    $wire->{came} .= $bytes;
    if (!$wire->{greeted} && length $wire->{came} >= $greeting_bytes) {
        $wire->{greeted} = 1;
        syswrite $wire->{listener}, substr $wire->{came}, 0, $greeting_bytes, '';
    }
    while ($wire->{greeted} && length $wire->{came} >= $size_bytes) {
        my $size = $size_bytes + unpack 'Q>', $wire->{came};
        last if length $wire->{came} < $size;
        my $message = substr $wire->{came}, 0, $size, '';
        next if $is_cut;
        push @tape, $message;
        syswrite $wire->{listener}, $message;
    }
    return;
}

sub say {
    my (@messages) = @_;
    my ($said, %seen) = (0);
    for my $wire (grep { $_->{greeted} && !$seen{$_}++ } values %wire) {
        $said = grep { (syswrite($wire->{listener}, $_) // 0) == length } @messages;
    }
    return $said;
}

sub obey {
    my ($order) = @_;
    if ($order =~ /^(?:cut|mend)$/) {
        $is_cut = $order eq 'cut';
        end_of($_) for values %{{map { $_ => $_ } values %wire}}; # whoever listens comes again
    }
    return scalar @tape if $order eq 'kept';
    return say(@tape) if $order eq 'all';
    return say(@tape[split ' ', $1]) if $order =~ /^say (.+)$/;
    return 0;
}

sub carry {
    my ($listener, $port, $orders) = @_;
    $select = IO::Select->new($listener, $orders);
    while (1) {
        for my $socket ($select->can_read) {
            if ($socket == $listener) {
                connect_wire(scalar $listener->accept, $port);
                next;
            }
            if ($socket == $orders) {
                sysread $orders, my $order, 1000 or POSIX::_exit(0);
                chomp $order;
                syswrite $orders, obey($order) . "\n";
                next;
            }
            my $wire = $wire{fileno($socket) // -1} or next;
            if (!sysread $socket, my $bytes, 1 << 16) {
                end_of($wire);
            } elsif ($socket != $wire->{listener}) {
                from_publisher($wire, $bytes);
            } elsif ($wire->{publisher}) {
                syswrite $wire->{publisher}, $bytes;
            }
        }
    }
    return;
}

1;
