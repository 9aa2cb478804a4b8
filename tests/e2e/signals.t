#!/usr/bin/perl
# Signals: those that ask to leave are obeyed, others are told of in the log and change nothing. SIGHUP: reload.t.
use strict;
use warnings;
use Fcntl qw(O_NONBLOCK O_WRONLY);
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use List::Util qw(first);
use POSIX ();
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

# ---- before it runs ----

# A config that comes through a pipe keeps the process where it is: the pipe has a writer once it has a reader.
my $early = Headgate::cluster(regions => ['here'])->daemon('here');
my $writer;
rename $early->{config}, "$early->{config}.kept" or die $!;
POSIX::mkfifo($early->{config}, 0600) or die $!;
$early->spawn;
ok(Headgate::wait_until(20, sub { sysopen $writer, $early->{config}, O_WRONLY | O_NONBLOCK }),
   'a daemon reads its config');
local $SIG{PIPE} = 'IGNORE';
$early->signal($_) for 'HUP', sort keys %said;
rename "$early->{config}.kept", $early->{config} or die $!;
print {$writer} Headgate::read_file($early->{config});
close $writer;
ok(eval { $early->wait_listening(20) }, 'signals before it has it do not end it') or diag($@);
ok(Headgate::wait_until(20, sub { $early->log =~ / info SIGHUP: .* is read again/ }), 'and are obeyed later: SIGHUP');
for my $signal (sort keys %said) {
    ok(Headgate::wait_until(20, sub { $early->log =~ / info SIG$signal: \Q$said{$signal}\E$/m }), "SIG$signal");
}

# ---- HTTP at the end ----

# The last answer of a connection that asks on until it ends, behind a SIGTERM.
sub last_answer {
    my $daemon = Headgate::cluster(regions => ['here'], listen_http => 1)->daemon('here')->start;
    my $client = Http::connect($daemon);
    $client->get('/check?user=ann');
    $daemon->signal('TERM');
    my ($last, $count) = ({head => {}}, 0);
    $count++ while eval { $last = $client->get('/check?user=ann') };
    is($daemon->wait_end(20), 0, "it leaves, after $count answers");
    return $last;
}
# A process that stands still for 0.1 s has no answer of that time.
ok((first { (last_answer()->{head}{connection} // '') eq 'close' } 1 .. 5), 'the last answer before the end says so');

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
