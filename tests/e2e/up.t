#!/usr/bin/perl
# `make up` and `make down`, on ports of their own: a copy of config/ with other ports, the binaries as built.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Socket::INET;
use Test::More;

my @regions = qw(us-east eu-west ap-south);
my $place = Headgate::scratch() . '/up';
mkdir $_ or die "$_: $!" for $place, "$place/config";
my %port;
for my $file (map { "$_.yaml" } @regions) {
    my $text = Headgate::read_file("$Headgate::root/config/$file");
    $text =~ s{(127\.0\.0\.1:)(\d+)}{$1 . ($port{$2} //= (Headgate::free_ports(1))[0])}ge;
    Headgate::write_file("$place/config/$file", $text);
}
for my $script (qw(local-cluster.sh demonstrate.sh)) {
    Headgate::write_file("$place/config/$script", Headgate::read_file("$Headgate::root/config/$script"));
    chmod 0755, "$place/config/$script";
}
$ENV{HEADGATE_BUILD} = $Headgate::build;

sub cluster { return Headgate::run(60, "$place/config/local-cluster.sh", @_) }
sub pid { my ($region) = @_; return Headgate::read_file("$place/run/$region.pid") =~ /^(\d+) / ? $1 : undef }
sub alive { my ($pid) = @_; return Headgate::read_file("/proc/$pid/stat") =~ /\) [^ZX]/ ? 1 : 0 }
END { kill 'KILL', grep { defined } map { pid($_) } @regions }

my ($status, $out, $err) = cluster('up');
is($status, 0, 'up') or diag($out, $err);
is(() = $out =~ /^.*  holds$/mg, 4, 'four times it shows that the limit holds');
unlike($out, qr/DOES NOT/, 'and never that it does not') or diag($out);
like($out, qr/redis-cli -p $port{"7070"} CAN_ACCESS alice/, 'it says how to go on');
my %first = map { $_ => pid($_) } @regions;

($status, $out, $err) = cluster('up');
is($status, 0, 'up again');
like($out, qr/already up.*  holds\n.*  holds\n/s, 'it is up already, and the limit still holds');
is_deeply({map { $_ => pid($_) } @regions}, \%first, 'by the same processes');

kill 'KILL', $first{'eu-west'};
Headgate::wait_until(10, sub { !alive($first{'eu-west'}) });
($status, $out, $err) = cluster('up');
is($status, 0, 'up when one was killed') or diag($out, $err);
isnt(pid('eu-west'), $first{'eu-west'}, 'starts that one');
is(pid('us-east'), $first{'us-east'}, 'and leaves the others alone');

# One that was killed and started again by hand, in the words of the README: it is one of the three as well.
sub by_hand {
    my ($region, @config) = @_;
    my $old = pid($region);
    kill 'KILL', $old;
    Headgate::wait_until(10, sub { my @threads = glob "/proc/$old/task/*"; !alive($old) && @threads < 2 });
    my $pid = Headgate::spawn("$place/run/$region.log", "$place/run/$region.log", 'sh', '-c', 'cd "$0" && exec "$@"',
                              $place, Headgate::headgated(), @config);
    ok(Headgate::wait_until(10, sub {
        return (Headgate::run(10, Headgate::headgate(), 'nodes', '--at', address($region)))[0] == 0;
    }), "$region is killed, and started by hand with @config");
    return $pid;
}
sub address {
    my ($region) = @_;
    return (Headgate::read_file("$place/config/$region.yaml") =~ /clients: (\S+)/)[0];
}
my $hand = by_hand('eu-west', '--config', 'config/eu-west.yaml');
($status, $out, $err) = cluster('up');
is($status, 0, 'up after that') or diag($out, $err);
like($out, qr/already up/, 'it is up already');
like($out, qr/eu-west .*, pid $hand$/m, 'by the process that was started by hand');
is(pid('eu-west'), $hand, 'whose pid file is right');
$hand = by_hand('ap-south', "--config=$place/config/ap-south.yaml");
isnt(pid('ap-south'), $hand, 'a pid file that names the killed one');
my $other = Headgate::cluster(regions => ['elsewhere'])->daemon('elsewhere')->start;

my @pids = ($hand, map { pid($_) } qw(us-east eu-west));
($status, $out) = cluster('down');
like($out, qr/^Stopped us-east eu-west ap-south\.$/m, 'down stops all three, also one that was started by hand');
ok($other->running, 'and no daemon of another config');
is($status, 0, 'down');
is(scalar(grep { alive($_) } @pids), 0, 'nothing is left running');
($status, $out) = cluster('down');
is("$status $out", "0 Headgate is not up: nothing to stop.\n", 'down again');

# A pid file that outlived its process: its number may be anybody's now.
Headgate::write_file("$place/run/us-east.pid", "$$ 1\n");
($status, $out) = cluster('down');
is("$status $out", "0 Headgate is not up: nothing to stop.\n", 'nobody else is stopped for a stale pid file');

my %wanted = (LocalAddr => '127.0.0.1', LocalPort => $port{7171}, ReuseAddr => 1);
my $busy = IO::Socket::INET->new(%wanted, Listen => 1) or die $!;
($status, $out, $err) = cluster('up');
is($status, 69, 'a busy port: status 69');
like($err, qr/^headgate: port $wanted{LocalPort}, which eu-west needs, is in use by \S+, pid $$: .* was started\.\n\z/,
     'one sentence names the port and who has it');
is(scalar(grep { defined pid($_) } @regions), 0, 'nothing was started');
close $busy;

# A config that cannot be used: what was started is stopped again.
my $good = Headgate::read_file("$place/config/ap-south.yaml");
Headgate::write_file("$place/config/ap-south.yaml", "$good\nnonsense: 1\n");
($status, $out, $err) = cluster('up');
is($status, 69, 'a daemon that does not start: status 69');
like($err, qr/ap-south ended by itself.*nonsense.*has been stopped again/s, 'it says why');
is(scalar(grep { defined pid($_) } @regions), 0, 'and nothing is left running');
Headgate::write_file("$place/config/ap-south.yaml", $good);

($status, $out, $err) = cluster('up');
is($status, 0, 'up works after all that') or diag($out, $err);
cluster('down');
done_testing();
