#!/usr/bin/perl
# Peers that the config names by host name. A peer that starts again at another address is found there, once its name
# says so: nobody restarts or changes the daemons that know it by its name.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

# A mount namespace of its own, so that this test can write /etc/hosts.
if (!$ENV{HEADGATE_NAMES_APART}) {
    plan skip_all => 'only root can have hosts of its own' if system('unshare -m true 2>/dev/null') != 0;
    exec 'env', 'HEADGATE_NAMES_APART=1', 'unshare', '-m', $^X, $0 or die;
}
my $hosts = Headgate::scratch() . '/hosts';
sub say_where {
    my (%address) = @_;
    Headgate::write_file($hosts, join '', map { "$address{$_} $_\n" } sort keys %address);
}
say_where('west.test' => '127.0.0.2', localhost => '127.0.0.1');
plan skip_all => '/etc/hosts cannot be replaced here' if system('mount', '--bind', $hosts, '/etc/hosts') != 0;

my @ports = Headgate::free_ports(6);
my %ports = (east => [@ports[0 .. 2]], west => [@ports[3 .. 5]]);
sub daemon {
    my ($name, $listens_at, $advertised, $other) = @_;
    my ($clients, $gossip, $snapshots) = @{$ports{$name}};
    return Headgate::Daemon::new($name, {
        node => $name, region => $name, interval => '50ms', secret => 'of-a-test', leave_timeout => '200ms',
        listen => {clients => "127.0.0.1:$clients", gossip => "$listens_at:$gossip",
                   snapshots => "$listens_at:$snapshots"},
        advertise => $advertised,
        regions => [{name => 'east', weight => '0.5'}, {name => 'west', weight => '0.5'}],
        limits => [{name => 'default', capacity => 100, rate => '100/s'}],
        peers => [{node => $other, region => $other, gossip => "$other.test:$ports{$other}[1]",
                   snapshots => "$other.test:$ports{$other}[2]"}],
    }, {clients => $clients, gossip => $gossip, snapshots => $snapshots});
}
sub state_of {
    my ($daemon, $peer) = @_;
    return ($daemon->client->fields('INFO', 'cluster')->{"peer_$peer"} // '') =~ /state=(\w+)/ ? $1 : 'unknown';
}

say_where('west.test' => '127.0.0.2', 'east.test' => '127.0.0.1', localhost => '127.0.0.1');
my $east = daemon('east', '127.0.0.1', 'east.test', 'west')->start;
my $west = daemon('west', '127.0.0.2', 'west.test', 'east')->start;
ok(Headgate::wait_until(20, sub { state_of($east, 'west') eq 'active' && state_of($west, 'east') eq 'active' }),
    'they hear each other by their names') or diag($east->log, $west->log);

$west->kill9;
say_where('west.test' => '127.0.0.3', 'east.test' => '127.0.0.1', localhost => '127.0.0.1');
$west = daemon('west', '127.0.0.3', 'west.test', 'east')->start;
ok(Headgate::wait_until(30, sub { state_of($east, 'west') eq 'active' && state_of($west, 'east') eq 'active' }),
    'and again, when one has moved and its name says where') or diag($east->log, $west->log);
is($east->stop, 0, 'one ends well');
is($west->stop, 0, 'so does the other');
done_testing();
