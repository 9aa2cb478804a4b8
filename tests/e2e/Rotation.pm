# The secret of peers is rotated at one daemon after the other, while all are asked for more than their limit: nobody
# may lose a message, call another silent, or exceed the limit.
package Rotation;
use strict;
use warnings;
use Headgate;
use POSIX ();
use Test::More;

# Options of a cluster whose secret is to be rotated.
our %options = (interval => '50ms', limits => [{name => 'default', capacity => 100, rate => '100/s', overshoot => 0,
                                                default => 'true'}]);

# A figure of INFO stats, of each daemon.
sub figures {
    my ($name, @daemons) = @_;
    return map { $_->client->fields('INFO', 'stats')->{$name} } @daemons;
}

# True once each daemon has read these secrets; `put` writes them where the daemon reads them.
sub give {
    my ($put, $daemons, @secrets) = @_;
    for my $one (@$daemons) {
        $put->($one, @secrets);
        my $before = length $one->log;
        $one->signal('HUP');
        Headgate::wait_until(10, sub { substr($one->log, $before) =~ /is read again, changed: .*secrets/ })
            or diag($one->log), return 0;
    }
    return 1;
}

# How many messages each daemon has heard of each other one.
sub heard {
    my (@daemons) = @_;
    my @counts;
    for my $one (@daemons) {
        push @counts, map { $one->node_of($_->{name})->{received_messages} } grep { $_ != $one } @daemons;
    }
    return @counts;
}

# Each daemon has heard 20 messages more of each other one, and none was sealed with the former secret. (Of one alone
# many may come, while an old one of another waits on its way. And two daemons have two connections: on a busy machine
# one of them may wait.)
sub nobody_uses_former {
    my (@daemons) = @_;
    my @before = figures('messages_former_secret', @daemons);
    my @heard = heard(@daemons);
    Headgate::wait_until(10, sub {
        my @now = heard(@daemons);
        return !grep { $now[$_] < $heard[$_] + 20 } 0 .. $#heard;
    }) or return 0;
    return "@before" eq join ' ', figures('messages_former_secret', @daemons);
}

# All steps from the secret `old` to `new`. `put` gets a daemon and its secrets, first the one that seals.
sub under_load {
    my ($cluster, $old, $new, $put) = @_;
    my @daemons = $cluster->daemons;
    my $to = join ',', map { "127.0.0.1:$_->{ports}{clients}" } @daemons;
    my $out = Headgate::scratch() . '/rotation';
    my @stalls = figures('stalls', @daemons);
    my $load = Headgate::spawn($out, $out, Headgate::headgate(), 'load', '--to', $to, '--rate', '900', '--seconds', '6',
                               '--expect-bound');
    ok(give($put, \@daemons, $old, $new), 'all take the new one');
    is_deeply([figures('messages_former_secret', @daemons)], [(0) x @daemons], 'which nobody uses yet');
    ok(give($put, \@daemons, $new, $old), 'all use it');
    ok(Headgate::wait_until(10, sub { nobody_uses_former(@daemons) }), 'after a while nobody uses the old one');
    ok(give($put, \@daemons, $new), 'all forget the old one');
    ok(Headgate::wait_until(20, sub { waitpid($load, POSIX::WNOHANG()) == $load }), 'the load ends');
    is($?, 0, 'the bound held all the time') or diag(Headgate::read_file($out));
    delete $Headgate::running{$load};
    is_deeply([figures('messages_unsealed', @daemons)], [(0) x @daemons], 'no message was lost');
    my @stalled = figures('stalls', @daemons);
    for my $at (grep { $stalled[$_] == $stalls[$_] } 0 .. $#daemons) { # who stood still was silent
        is(scalar(grep { $_->log =~ / $daemons[$at]{name} is silent/ } @daemons), 0,
           "nobody called $daemons[$at]{name} silent");
    }
    return ok($cluster->wait_met(20), 'all are active');
}

1;
