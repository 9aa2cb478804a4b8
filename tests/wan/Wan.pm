package Wan;

# A cluster whose regions are network namespaces, with delays, losses and cuts between them (relay.c), and a judge of
# what it admits (ask.c). Usage:
#
#   my $wan = Wan::world(regions => ['us', 'eu', 'ap'], limits => [...]);   undef where it is not allowed: $Wan::why
#   $wan->links(delay_ms => 40, jitter_ms => 5, loss => 0.05);             all links, one way
#   $wan->start;
#   my $judged = $wan->ask(key => 'k', capacity => 100, rate => 100, seconds => 5, asks => {us => 100, eu => 100});
#
# Each daemon listens for its clients inside its region, and for peers at the address of the region. `ask` returns
# what ask.c prints, as fields; its second and later calls may run while links are cut: see `ask_begin`.
use strict;
use warnings;
use FindBin;
use lib "$FindBin::Bin/../e2e";
use Headgate;
use IPC::Open2;
use POSIX qw(:sys_wait_h);

our $why = '';
my $asked_count = 0;
my $build = $ENV{HEADGATE_BUILD} // "$FindBin::Bin/../../build/release";
# What carries packets and judges is the same whatever the flavour of the daemons.
my $tools = "$FindBin::Bin/../../build/release/tests/wan";

sub world {
    my (%options) = @_;
    my @names = @{$options{regions} //= ['us', 'eu', 'ap']};
    my $pid = open2(my $out, my $in, "$tools/relay", scalar @names, delete $options{seed} // 1);
    my @spaces = map { scalar readline $out } @names;
    if (grep { !defined } @spaces) {
        waitpid $pid, 0;
        $why = 'no network namespaces or no TUN devices here';
        return;
    }
    chomp @spaces;
    my %number = map { $names[$_] => $_ } 0 .. $#names;
    my $self = bless {names => \@names, number => \%number, space => \@spaces, in => $in, out => $out, relay => $pid,
                      cluster => Headgate::cluster(%options)}, 'Wan';
    $self->place($_) for $self->{cluster}->daemons;
    return $self;
}

# Moves a daemon into its region: its program, and the addresses of all for peers.
sub place {
    my ($self, $daemon) = @_;
    my $of = sub { my ($region, $address) = @_; return $address =~ s/^[^:]*/10.77.$self->{number}{$region}.1/r };
    my $settings = $daemon->{settings};
    for my $port (qw(gossip snapshots)) {
        $settings->{listen}{$port} = $of->($daemon->{name}, $settings->{listen}{$port});
        $_->{$port} = $of->($_->{region}, $_->{$port}) for @{$settings->{peers}};
    }
    my $program = Headgate::scratch() . "/in-$daemon->{name}-$daemon->{ports}{clients}";
    Headgate::write_file($program, "#!/bin/sh\nexec nsenter --net=" . $self->space($daemon->{name}) . ' '
                                       . Headgate::headgated() . " \"\$@\"\n");
    chmod 0755, $program;
    $daemon->{program} = $program;
    $daemon->write_config;
    return;
}

sub space { my ($self, $region) = @_; return $self->{space}[$self->{number}{$region}] }

# ---- links ----

sub order {
    my ($self, @words) = @_;
    print {$self->{in}} "@words\n";
    $self->{in}->flush;
    my $answer = readline $self->{out};
    die "the relay answered '" . ($answer // 'nothing') . "' to '@words'" if ($answer // '') ne "ok\n";
    return;
}

# One direction. loss: a part of 1.
sub link {
    my ($self, $from, $to, %of) = @_;
    return $self->order('link', $self->{number}{$from}, $self->{number}{$to}, int(($of{delay_ms} // 0) * 1000),
                        int(($of{jitter_ms} // 0) * 1000), int(($of{loss} // 0) * 1e6));
}

sub each_link {
    my ($self, $do) = @_;
    for my $from (@{$self->{names}}) {
        $do->($from, $_) for grep { $_ ne $from } @{$self->{names}};
    }
    return;
}

sub links { my ($self, %of) = @_; return $self->each_link(sub { $self->link(@_, %of) }) }

# Both directions of all links of a region, or with one => 1 only what it sends.
sub cut { my ($self, $region, %how) = @_; return $self->turn('cut', $region, %how) }
sub heal { my ($self, $region, %how) = @_; return $self->turn('heal', $region, %how) }

sub turn {
    my ($self, $word, $region, %how) = @_;
    return $self->each_link(sub {
        my ($from, $to) = @_;
        return if $from ne $region && ($how{one} || $to ne $region);
        $self->order($word, $self->{number}{$from}, $self->{number}{$to});
    });
}

# ---- daemons ----

# A command of headgate at a region's daemon: its output.
sub headgate {
    my ($self, $region, @words) = @_;
    my $port = $self->{cluster}->daemon($region)->{ports}{clients};
    my ($status, $out) = Headgate::run(20, 'nsenter', '--net=' . $self->space($region), Headgate::headgate(), '--at',
                                       "127.0.0.1:$port", @words);
    return ($status // -1) == 0 ? $out : '';
}

# Starts all daemons, and waits until each sees all others.
sub start {
    my ($self, $seconds) = @_;
    $_->spawn for $self->{cluster}->daemons;
    Headgate::wait_until($seconds // 20, sub { $self->are_met })
        or die join '', "daemons do not meet:\n", map { $_->log } $self->{cluster}->daemons;
    return $self;
}

sub are_met {
    my ($self) = @_;
    for my $region (@{$self->{names}}) {
        my $info = $self->headgate($region, 'info', 'cluster');
        return 0 if $info !~ /^state\W+active\b/m;
        return 0 if grep { $info !~ /^peer_\Q$_\E\W+.*state=active,/m } @{$self->{names}};
    }
    return 1;
}

sub stop {
    my ($self) = @_;
    my $fine = $self->{cluster}->stop(20);
    close $self->{in};
    waitpid $self->{relay}, 0;
    return $fine && $? == 0;
}

# ---- the judge ----

# Begins to ask; `asks` has requests a second for each region, `at_once` those that come first.
sub ask_begin {
    my ($self, %of) = @_;
    my @regions = map {
        my $port = $self->{cluster}->daemon($_)->{ports}{clients};
        join ',', $self->space($_), $port, $of{asks}{$_} // 0, $of{at_once}{$_} // 0
    } @{$self->{names}};
    my $out = Headgate::scratch() . '/asked-' . ++$asked_count;
    my $pid = Headgate::spawn($out, "$out.errors", "$tools/ask", $of{capacity}, $of{rate}, $of{seconds}, $of{seed} // 1,
                              $of{key}, @regions);
    return {pid => $pid, out => $out, seconds => $of{seconds}};
}

sub ask_end {
    my ($self, $asking) = @_;
    my $status;
    my $ended = Headgate::wait_until($asking->{seconds} + 30, sub {
        waitpid($asking->{pid}, WNOHANG) == $asking->{pid} and ($status = $?, 1)[1] });
    delete $Headgate::running{$asking->{pid}} if $ended;
    my $said = Headgate::read_file($asking->{out});
    die 'ask: ' . Headgate::read_file("$asking->{out}.errors") if !$ended || $status != 0 || $said !~ /^excess/m;
    my %judged = $said =~ /^(asked|admitted|one_bucket|excess) (\S+)$/mg;
    $judged{region} = {map { $self->{names}[$_->[0]] => {asked => $_->[1], admitted => $_->[2]} }
                       map { [split] } $said =~ /^region (.*)$/mg};
    for (map { [split] } $said =~ /^second \d+ (.*)$/mg) {
        my ($asked, $admitted, $one_bucket, @of) = @$_;
        my %region = map { $self->{names}[$_] => $of[$_] } 0 .. $#of;
        push @{$judged{second}},
            {asked => $asked, admitted => $admitted, one_bucket => $one_bucket, region => \%region};
    }
    my %early = $said =~ /^early (\d+) (\d+)$/mg;
    $judged{early} = \%early;
    return \%judged;
}

sub ask { my ($self, %of) = @_; return $self->ask_end($self->ask_begin(%of)) }

# Of what one bucket would have admitted, the part that was.
sub part { my ($judged) = @_; return $judged->{admitted} / ($judged->{one_bucket} || 1) }

1;
