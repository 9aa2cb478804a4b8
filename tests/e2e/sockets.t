#!/usr/bin/perl
# Sockets of a service manager: clients that connect all the time see no refused connection while a daemon restarts.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Reconnect;
use Test::More;

my $daemon = Headgate::cluster(regions => ['here'], threads => 2, listen_http => 1)->daemon('here');

# What clients saw of so many restarts.
sub restarts {
    my ($count) = @_;
    return Reconnect::through($daemon, map { my $round = $_; sub {
        is($daemon->stop(20), 0, "restart $round: it leaves");
        $daemon->start(20);
    } } 1 .. $count);
}

$daemon->start;
my ($refused, $answered, $cut) = restarts(1);
cmp_ok($refused, '>', 0, "without such sockets a restart refuses some: $refused of " . ($refused + $answered + $cut));
is($daemon->stop(20), 0, 'it leaves');

@Headgate::handed = map { Reconnect::listener($daemon->{ports}{$_}) } qw(clients http);
$daemon->start;
like($daemon->log, qr/ info sockets of the service manager: 2$/m, 'it says how many it was given');
is($daemon->client->command('RULE', 'SET', '{id: q, service: s, by: user, algorithm: quota, limit: 9, window: year}'),
   'OK', 'a quota');
is($daemon->client->command('CHECK', qw(user=a SERVICE s COST 4))->[2], 5, 'some of it is used');
($refused, $answered, $cut) = restarts(3);
is($refused, 0, 'with such sockets no connection is refused in three restarts');
cmp_ok($answered, '>', 500, "under load: $answered requests were answered, $cut cut off");
# Each restart finds all three clients between their connection and their answer, mostly: 7 of 9 were cut off once.
cmp_ok($cut, '<=', 2, 'who has connected for one request gets its answer, unless its process has stood still');
is($daemon->client->command('PEEK', qw(user=a SERVICE s))->[2], 5, 'the quota goes on');
my $threads = $daemon->client->fields('INFO', 'clients');
is(scalar(grep { ($threads->{"thread_$_"} // '') =~ /,total_commands_processed=[1-9]/ } 0, 1), 2, 'both threads serve')
    or diag(explain($threads));
is($daemon->stop(20), 0, 'it leaves');

# ---- while a daemon joins ----

# A peer that does not run: so the daemon joins alone, after join_timeout. What it says to a client that came before.
sub first_answer {
    my ($join_timeout) = @_;
    my $pair = Headgate::cluster(regions => [qw(one two)], threads => 2, join_timeout => $join_timeout);
    my $one = $pair->daemon('one');
    local @Headgate::handed = (Reconnect::listener($one->{ports}{clients}));
    my @early = map { $one->client->send_raw(Headgate::Client::encode('CAN_ACCESS', "early$_")) } 1 .. 4;
    $one->spawn;
    my @answers = map { $_->reply } @early;
    my $state = $one->client->fields('INFO', 'cluster')->{state} // '';
    is($one->stop(20), 0, 'it leaves');
    return "@answers $state";
}
is(first_answer('500ms'), '1 1 1 1 active',
   'clients that connect while a daemon joins are answered when it has joined');
is(first_answer('1h'), '0 0 0 0 joining', 'and those of one that does not join are refused, but answered');

# One daemon ends while its clients wait for it to join, the next one joins at once.
sub answers_of_two {
    my ($threads) = @_;
    my $pair = Headgate::cluster(regions => [qw(one two)], threads => $threads, join_timeout => '1h');
    my $one = $pair->daemon('one');
    local @Headgate::handed = (Reconnect::listener($one->{ports}{clients}));
    $one->spawn;
    my $process = "/proc/$one->{pid}";
    my $takes = sub { # before it is the daemon, it is this test, which takes SIGTERM itself
        (readlink("$process/exe") // '') =~ /headgated$/
            && Headgate::read_file("$process/status") =~ /^SigCgt:\s.*[4-7c-f]...$/m;
    };
    ok(Headgate::wait_until(20, $takes), 'it takes SIGTERM');
    my @early = map { $one->client->send_raw(Headgate::Client::encode('CAN_ACCESS', "early$_")) } 1 .. 8;
    is($one->stop(20), 0, 'it leaves');
    my $two = Headgate::cluster(regions => ['one'])->daemon('one');
    $two->{ports}{clients} = $one->{ports}{clients};
    $two->{settings}{listen}{clients} = "127.0.0.1:$one->{ports}{clients}";
    $two->write_config->start;
    my $answers = join '', map { eval { $_->reply } // '-' } @early;
    is($two->stop(20), 0, 'the next one leaves');
    return $answers;
}
for my $threads (1, 4) {
    my $answers = answers_of_two($threads);
    is($answers, '1' x 8, "threads: $threads, SIGTERM while it joins: each client is left to the next, and answered");
}

# ---- mistakes ----
sub start_fails {
    my ($sentence, $what) = @_;
    my $before = length $daemon->log;
    $daemon->spawn;
    is($daemon->wait_end(20), 78, "$what: status 78");
    like(substr($daemon->log, $before), $sentence, 'with a sentence');
    return;
}
my $other = Reconnect::listener();
push @Headgate::handed, $other;
my $address = '127.0.0.1:' . $other->sockport;
start_fails(qr/^headgated: the service manager hands over a socket for \Q$address\E: expected one for an address of /m,
            'a socket that nobody asked for');
open my $file, '<', '/dev/null' or die $!;
@Headgate::handed = ($file);
start_fails(qr/^headgated: descriptor 3, which the service manager hands over, is no TCP socket that listens: /m,
            'something else');

done_testing();
