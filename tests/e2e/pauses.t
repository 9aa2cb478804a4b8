#!/usr/bin/perl
# A daemon that does not run for a while, twenty times, under gossip: connections that look quiet then are full of what
# came meanwhile. None is closed in the middle of a message, which nng would never get over: each descriptor comes back.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use List::Util qw(max);
use Test::More;

my ($pauses, $restarts) = (20, 4);
my $cluster = Headgate::cluster(interval => '50ms', silent_after => '300ms', leave_timeout => '200ms');
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my @daemons = $cluster->daemons;
my %client = map { $_->{name} => $_->client } @daemons;

sub entries { my ($daemon, $what) = @_; return scalar(my @found = glob "/proc/$daemon->{pid}/$what/*") }

sub state_of {
    my ($client, $peer) = @_;
    return ($client->fields('INFO', 'cluster')->{"peer_$peer->{name}"} // '') =~ /state=(\w+)/ ? $1 : 'unknown';
}

# Others spend, so that there is always something to tell, and look at one: true if all see it in that state.
my $key = 0;
sub others_see {
    my ($one, $state, @others) = @_;
    for my $other (@others) {
        $client{$other->{name}}->pipeline(map { ['CAN_ACCESS', 'key-' . $key++ % 5000] } 1 .. 200);
    }
    return !grep { state_of($client{$_->{name}}, $one) ne $state } @others;
}

my %before = map { $_->{name} => {fd => entries($_, 'fd'), task => entries($_, 'task')} } @daemons;
my $missed = 0;
for my $round (1 .. $pauses) {
    my $one = $daemons[$round % @daemons];
    my @others = grep { $_ != $one } @daemons;
    $one->signal('STOP');
    $missed += !Headgate::wait_until(10, sub { others_see($one, 'silent', @others) });
    $one->signal('CONT');
    $missed += !Headgate::wait_until(10, sub { others_see($one, 'active', @others) });
}
is($missed, 0, "$pauses pauses: each time the others call it silent, and hear it again");
ok($cluster->wait_met(10), 'then all see each other');
# Connections for requests are new, and stay: at most eight that a daemon makes to each of two peers, and eight that
# each of them makes. Beyond that a descriptor is of a connection that has ended; fewer of those are counted below.
my $slack = 4 * 8;
for my $daemon (@daemons) {
    my $was = $before{$daemon->{name}};
    ok(Headgate::wait_until(10, sub { entries($daemon, 'fd') <= $was->{fd} + $slack }),
       "$daemon->{name} has no more descriptors than before: $was->{fd}, now " . entries($daemon, 'fd'));
    is(entries($daemon, 'task'), $was->{task}, 'nor other threads');
}

# What a hung closing would keep is seen when connections end for good.
my ($leaver, @stayers) = @daemons;
delete $client{$leaver->{name}};
for (1 .. $restarts) {
    $leaver->stop;
    $leaver->start;
}
ok($cluster->wait_met(20), "one restarts $restarts times");
for my $daemon (@stayers) {
    my $was = $before{$daemon->{name}};
    ok(Headgate::wait_until(10, sub { entries($daemon, 'fd') <= $was->{fd} + $slack }),
       "$daemon->{name} has let go of its connections: $was->{fd}, now " . entries($daemon, 'fd'));
}
for my $daemon (@stayers) {
    my $transport = $daemon->client->fields('INFO', 'transport');
    is($transport->{transport_connections_stuck}, 0, "$daemon->{name} says so, too");
    cmp_ok($transport->{transport_connections}, '<=', 2 * (2 + 2 * 8), 'and has few connections');
}
ok($cluster->stop(15), 'all leave with status 0');
done_testing();
