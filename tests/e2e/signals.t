#!/usr/bin/perl
# Signals: those that ask to leave are obeyed, others are told of in the log and change nothing. SIGHUP: reload.t.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my %said = (
    USR1 => 'nothing is opened again: the log is the standard error stream',
    USR2 => 'it asks for nothing here',
);

for my $threads (1, 2) {
    my $daemon = Headgate::cluster(regions => ['here'], threads => $threads)->daemon('here')->start;
    my $client = $daemon->client;
    for my $signal (sort keys %said) {
        $daemon->signal($signal);
        ok(Headgate::wait_until(10, sub { $daemon->log =~ / info SIG$signal: \Q$said{$signal}\E$/m }),
           "threads: $threads, SIG$signal: a line in the log says what it does not do");
        is($client->command('PING'), 'PONG', 'and clients stay connected');
    }
    $daemon->signal($_) for qw(PIPE XFSZ);
    is($client->command('PING'), 'PONG', 'SIGPIPE and SIGXFSZ: nothing');
    is($daemon->stop, 0, 'SIGTERM: it leaves');
    like($daemon->log, qr/SIGTERM: leaving the cluster\n.*here has left\n\z/s, 'with a goodbye');
}

# A shell has its background jobs ignore SIGQUIT, and so would the daemon.
local $SIG{QUIT} = 'DEFAULT';
my $stuck = Headgate::cluster(regions => ['here'])->daemon('here')->start;
is($stuck->signal('QUIT')->wait_end(10), 131, 'SIGQUIT ends it at once');

# As long as it starts, and when it ends, nothing of that kills it either.
my $pair = Headgate::cluster(regions => ['here', 'there'], leave_timeout => '500ms')->start;
my ($here, $there) = $pair->daemons;
ok($pair->wait_met, 'two have met');
$there->signal('STOP');
$here->signal('TERM');
ok(Headgate::wait_until(10, sub { $here->log =~ /SIGTERM: leaving/ }), 'one leaves, and waits for the other');
$here->signal($_) for sort keys %said;
is($here->wait_end(10), 0, 'other signals do not end it before');
like($here->log, qr/here has left\n\z/, 'with a goodbye');
$there->signal('CONT');
is($there->stop, 0, 'the other one ends as well');

# ---- standard streams that are closed: nothing else has their numbers ----

my $closed = Headgate::cluster(regions => ['here'])->daemon('here');
$closed->write_config;
my $pid = Headgate::spawn('/dev/null', '/dev/null', 'sh', '-c', 'exec "$@" <&- >&- 2>&-', 'sh',
                          Headgate::headgated(), '--config', $closed->{config});
my $talks;
ok(Headgate::wait_until(20, sub { $talks = eval { $closed->client->command('PING') } }), 'a daemon without streams');
is(join(' ', map { readlink("/proc/$pid/fd/$_") // 'none' } 0 .. 2), '/dev/null /dev/null /dev/null', 'has empty ones');
kill 'USR2', $pid;
is($closed->client->command('PING'), 'PONG', 'and what it logs goes nowhere');
kill 'TERM', $pid;
my $left;
ok(Headgate::wait_until(20, sub { waitpid($pid, 1) == $pid && ($left = "ended with $?") }), 'it ends');
is($left, 'ended with 0', 'in order');
my ($status, undef, $err) = Headgate::run(10, 'sh', '-c', 'exec "$@" >&-', 'sh', Headgate::headgated(), '--version');
is("$status $err", "74 headgated: the standard output did not take all that there is to say\n", 'it is told');
my $one = Headgate::cluster(regions => ['here'])->daemon('here')->start;
($status, undef, $err) = Headgate::run(10, 'sh', '-c', 'exec "$@" >&-', 'sh', Headgate::headgate(), 'check', 'ann',
                                       '--at', "127.0.0.1:$one->{ports}{clients}");
is("$status $err", "74 headgate: cannot write the output\n", 'by the command as well');

done_testing();
