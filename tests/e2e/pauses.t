#!/usr/bin/perl
# A daemon that does not run for a while, twenty times, under gossip: connections that look quiet then are full of what
# came meanwhile. None is closed in the middle of a message, which nng would never get over: each descriptor comes back.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my ($pauses, $restarts) = (20, 4);
my $cluster = Headgate::cluster(interval => '50ms', silent_after => '300ms', leave_timeout => '200ms');
$cluster->start;
ok($cluster->wait_met(10), 'three daemons see each other') or diag map { $_->log } $cluster->daemons;
my @daemons = $cluster->daemons;
my %client = map { $_->{name} => $_->client } @daemons;

sub entries { my ($daemon, $what) = @_; return scalar(my @found = glob "/proc/$daemon->{pid}/$what/*") }

# Sockets for which the daemon has a descriptor, although they neither listen nor are connected.
sub ended {
    my ($daemon) = @_;
    my @inodes = map { (readlink($_) // '') =~ /^socket:\[(\d+)\]/ ? $1 : () } glob "/proc/$daemon->{pid}/fd/*";
    my @rows = map { [split] } map { split /\n/, Headgate::read_file($_) } '/proc/net/tcp', '/proc/net/tcp6';
    my %lives = map { ($_->[3] // '') =~ /^(?:01|0A)$/ ? ($_->[9] => 1) : () } @rows; # ESTABLISHED, LISTEN
    return scalar grep { !$lives{$_} } @inodes;
}

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
    last if $missed;
}
is($missed, 0, "$pauses pauses: each time the others call it silent, and hear it again");
ok($cluster->wait_met(10), 'then all see each other');
# Connections for requests are new, and stay: at most eight that a daemon makes to each of two peers, with three
# descriptors each, and eight that each of them makes. So their number says little of a single one that is kept; but
# each of those that have ended must go, and a hang would keep all that end from then on.
my $connections = 2 * (2 + 2 * 8);
my $slack = 2 * (8 * 3 + 8);
sub has_let_go {
    my ($daemon) = @_;
    my $name = $daemon->{name};
    my $transport;
    ok(Headgate::wait_until(10, sub { ended($daemon) == 0 }), "$name has no descriptor of a connection that has ended")
        or diag ended($daemon);
    ok(Headgate::wait_until(10, sub {
           $transport = $daemon->client->fields('INFO', 'transport');
           return $transport->{transport_connections_stuck} == 0 && $transport->{transport_connections} <= $connections;
       }), 'says so, and has few connections') or diag map { "$_: $transport->{$_}\n" } sort keys %$transport;
    my $most = $before{$name}{fd} + $slack;
    ok(Headgate::wait_until(10, sub { entries($daemon, 'fd') <= $most }), "and at most $most descriptors")
        or diag entries($daemon, 'fd');
    return;
}
for my $daemon (@daemons) {
    has_let_go($daemon);
    my $tasks = $before{$daemon->{name}}{task};
    ok(Headgate::wait_until(10, sub { entries($daemon, 'task') == $tasks }), "nor other threads than before, $tasks")
        or diag entries($daemon, 'task');
}

# What a hung closing would keep is seen when connections end for good.
my ($leaver, @stayers) = @daemons;
delete $client{$leaver->{name}};
for (1 .. $restarts) {
    $leaver->stop;
    $leaver->start;
}
ok($cluster->wait_met(20), "one restarts $restarts times");
has_let_go($_) for @stayers;
ok($cluster->stop(15), 'all leave with status 0');
done_testing();
