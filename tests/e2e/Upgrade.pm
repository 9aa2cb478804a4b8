# Three regions that go over to another release, one daemon after the other, while they are asked for more than their
# limit: one bucket that sees each admission says what is too much.
package Upgrade;
use strict;
use warnings;
use Headgate;
use List::Util qw(sum0 max min);
use Test::More;
use Time::HiRes qw(time);

our @names = ('us-east', 'eu-west', 'ap-south');
our ($capacity, $rate) = (100, 100);
my @limits = ({name => 'default', capacity => $capacity, rate => "$rate/s", overshoot => 0, default => 'true'});

# `program`: what all begin with; further options are settings of all.
sub begin {
    my ($program, %options) = @_;
    my $cluster = Headgate::cluster(limits => \@limits, %options);
    $_->{program} = $program for $cluster->daemons;
    my $self = bless {cluster => $cluster, level => $capacity, touched => time, worst => 0, admitted => 0,
                      slowest => 0}, 'Upgrade';
    $cluster->start(20);
    return $self;
}

sub daemons { my ($self) = @_; return $self->{cluster}->daemons }

sub stats { my ($daemon) = @_; return $daemon->client->fields('INFO', 'stats') }

sub dropped {
    my ($stats) = @_;
    return sum0 map { $stats->{"messages_$_"} } qw(invalid unreadable unsealed);
}

# One limit, asked for at these daemons.
sub load {
    my ($self, $seconds, @daemons) = @_;
    my @clients = map { $_->client } @daemons;
    my $end = time + $seconds;
    while (time < $end) {
        for my $client (@clients) {
            my $asked = time;
            my $taken = sum0 map { $_->[0] } $client->pipeline(map { ['CHECK', 'upgraded'] } 1 .. 4);
            $self->{slowest} = max($self->{slowest}, time - $asked);
            $self->{level} = min($capacity, $self->{level} + ($asked - $self->{touched}) * $rate) - $taken;
            $self->{touched} = $asked;
            $self->{worst} = max($self->{worst}, -$self->{level});
            $self->{admitted} += $taken;
        }
    }
    return;
}

# Each daemon's own key is spent, so that batches of both releases reach both releases.
sub settle {
    my ($self, $what) = @_;
    my %before = map { $_->{name} => stats($_) } $self->daemons;
    $_->client->pipeline((['CHECK', "of-$what-$_->{name}"]) x 5) for $self->daemons;
    return Headgate::wait_until(20, sub {
        return 3 == grep {
            my $now = stats($_);
            $now->{settled_tokens} >= $before{$_->{name}}{settled_tokens} + 5
                && $now->{applied_tokens} >= $before{$_->{name}}{applied_tokens} + 10
        } $self->daemons;
    });
}

sub check {
    my ($self, $what) = @_;
    ok($self->{cluster}->wait_met(20), "$what: all are active and hear each other")
        or diag map { $_->log } $self->daemons;
    $self->load(0.5, $self->daemons);
    ok($self->settle($what =~ s/\W+/-/gr), "$what: all apply and acknowledge each other's batches");
    is(sum0(map { dropped(stats($_)) } $self->daemons), 0, "$what: no message is called wrong");
    return;
}

sub go_over {
    my ($self, $name, $program, $what) = @_;
    my $daemon = $self->{cluster}->daemon($name);
    is($daemon->stop(20), 0, "$what: $name leaves");
    $self->load(0.2, grep { $_ != $daemon } $self->daemons);
    $daemon->{program} = $program;
    $daemon->start(20);
    return $self->check($what);
}

# The slowest answer blurs the figure, and each daemon that leaves may be told late of what refills.
sub finish {
    my ($self) = @_;
    cmp_ok($self->{worst}, '<=', 1 + $rate * $self->{slowest},
           sprintf 'the limit holds all the while: %.1f beyond it at most', $self->{worst});
    cmp_ok($self->{admitted}, '>=', $capacity, "and the load goes on: $self->{admitted} admitted");
    ok($self->{cluster}->stop(20), 'all leave with status 0');
    unlike(join('', map { $_->log } $self->daemons), qr/Sanitizer|Assertion|runtime error/,
           'no sanitizer or assert had anything to say');
    return;
}

1;
