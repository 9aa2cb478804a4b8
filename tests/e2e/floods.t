#!/usr/bin/perl
# Clients that ask for as much as they can: others are answered meanwhile.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Select;
use POSIX qw(:sys_wait_h);
use Test::More;

my $silent_count = Headgate::places(1200) - 200;
my $cluster = Headgate::cluster(regions => ['here'], threads => 1, max_connections => $silent_count + 200,
                                limits => [{name => 'default', capacity => 1000000, rate => '1/h', default => 'true'}]);
my $daemon = $cluster->start->daemon('here');
$cluster->wait_met or die 'the daemon did not become active';
my $good = $daemon->client;
for (1 .. 40) {
    my $rule = "{id: r$_, service: shop, endpoint: /e$_, by: user, rate: $_/s}";
    is($good->command('RULE', 'SET', $rule), 'OK', "rule $_");
}

# A process that pipelines `count` times `line` and takes the answers, each of which has `mark` once.
sub flood {
    my ($line, $count, $mark) = @_;
    my $flood = $daemon->client;
    my $pid = fork // die "fork: $!";
    return $pid if $pid;
    my ($socket, $text, $sent, $marks, $tail) = ($flood->{socket}, $line x $count, 0, 0, '');
    $socket->blocking(0);
    while ($marks < $count) {
        my $size = syswrite $socket, $text, length($text) - $sent, $sent;
        $sent += $size // 0;
        IO::Select->new($socket)->can_read(10 * $Headgate::patience) or POSIX::_exit(1);
        sysread $socket, my $piece, 1 << 20 or POSIX::_exit(1);
        $piece = $tail . $piece;
        $marks += () = $piece =~ /$mark/g;
        $tail = length $mark > 1 ? substr($piece, -(length($mark) - 1)) : '';
    }
    POSIX::_exit(0);
}

# So many answers to the good client before the flood has all of its own.
my %floods = ('INFO' => ["INFO\r\n", 60000, 'headgate_version'],
              'COMMAND DOCS' => ["COMMAND DOCS\r\n", 15000, 'cl.throttle'],
              'RULE LIST' => ["RULE LIST shop\r\n", 15000, 'r17'],
              'EXPLAIN' => ["EXPLAIN joe\r\n", 60000, 'overshoot '],
              'CAN_ACCESS' => ["CAN_ACCESS joe\r\n", 2000000, ':']);
for my $name (sort keys %floods) {
    my $put_off = $good->fields('INFO', 'clients')->{turns_put_off};
    my $pid = flood(@{$floods{$name}});
    ok(Headgate::wait_until(10, sub { $good->fields('INFO', 'clients')->{turns_put_off} > $put_off }),
       "$name: more than a turn has room for");
    my @answers = map { $good->command('CAN_ACCESS', 'ann') } 1 .. 50;
    is(waitpid($pid, WNOHANG), 0, 'fifty answers come while it waits for its own');
    is(scalar(grep { $_ == 1 } @answers), 50, 'and are right');
    ok(Headgate::wait_until(60, sub { waitpid($pid, WNOHANG) == $pid }) && $? == 0, 'in the end it has all of them');
}

subtest 'a thousand that never read' => sub {
    my @silent = map { $daemon->client->{socket} } 1 .. $silent_count;
    my $text = "COMMAND\r\n" x 7000;
    for my $socket (@silent) {
        $socket->blocking(0);
        local $SIG{PIPE} = 'IGNORE';
        syswrite $socket, $text;
    }
    my $begun = time;
    is($good->command('CAN_ACCESS', 'ann'), 1, 'one that reads is answered') for 1 .. 20;
    cmp_ok(time - $begun, '<=', 5 * $Headgate::patience, 'soon');
    ok(Headgate::wait_until(60, sub { $good->fields('INFO', 'clients')->{blocked_clients} == $silent_count }),
       'in the end all of them are blocked');
    my $before = $good->fields('INFO', 'clients');
    is($good->command('PING'), 'PONG', 'and make no work');
    my $after = $good->fields('INFO', 'clients');
    cmp_ok($after->{total_commands_processed} - $before->{total_commands_processed}, '<=', 4, 'any more');
    cmp_ok($after->{buffer_bytes}, '<=', $silent_count * 2 * 128 * 1024, 'they hold two buffers each at most');
};

ok($cluster->stop, 'the daemon ends in peace');
done_testing();
