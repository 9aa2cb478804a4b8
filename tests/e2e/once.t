#!/usr/bin/perl
# A request that comes again with its idempotency key: charged once by the daemon that has seen it, on whatever
# connection and in whatever protocol, also after an orderly restart; taken for new by another daemon, and by the same
# after a crash. Tokens are counted.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Http;
use IO::Select;
use IO::Socket::INET;
use Test::More;

my @limits = ({name => 'default', capacity => 100, rate => '1/h', overshoot => '100%', default => 'true'});
my $cluster = Headgate::cluster(regions => ['near', 'far'], limits => \@limits, interval => '50ms', listen_http => 1,
                                threads => 2, users => [
    {name => 'ann', roles => 'check', secret => 'of-ann'}, {name => 'bob', roles => 'check', secret => 'of-bob'},
    {name => 'all', roles => 'check, read, rules, admin', secret => 'of-all'}])->start;
my ($near, $far) = $cluster->daemons;

sub client {
    my ($daemon, $user) = @_;
    my $client = $daemon->client;
    $client->command('AUTH', $user, "of-$user");
    return $client;
}
ok(Headgate::wait_until(20, sub {
    !grep { (client($_, 'all')->command('CHECK', 'probe', 'COST', 0)->[0] // 0) != 1 } $near, $far
}), 'two daemons decide');

# What both daemons have admitted of a key, in tokens, once each has heard of the other's.
sub used {
    my ($key) = @_;
    my $left = sub { client($_[0], 'all')->command('PEEK', "user=$key")->[2] };
    my ($one, $other) = (-1, -2);
    Headgate::wait_until(20, sub { ($one, $other) = map { $left->($_) } $near, $far; $one == $other });
    return 100 - $one;
}
sub once { my ($client, $key, $cost, $name) = @_;
    return $client->command('CHECK', "user=$key", 'COST', $cost, 'IDEMPOTENCY_KEY', $name) }

# ---- the same daemon ----

my $first = once(client($near, 'ann'), 'a', 7, 'k');
is($first->[0], 1, 'a request is allowed');
is_deeply(once(client($near, 'ann'), 'a', 7, 'k'), $first, 'and comes again on another connection') for 1 .. 8;
my $answer = Http::connect($near)->post('/v1/check', '{"identifiers":{"user":"a"},"cost":7}',
                                        'Authorization: Bearer ann:of-ann', 'Idempotency-Key: k');
is("$answer->{status} $answer->{json}{remaining}", "200 $first->[2]", 'and over HTTP');
is(used('a'), 7, 'it is charged once');
like('' . once(client($near, 'ann'), 'a', 8, 'k'), qr/^ERR IDEMPOTENCY_KEY was used for another /,
     'another is wrong');
is(once(client($near, 'bob'), 'a', 7, 'k')->[0], 1, 'a key of another user is another key');
is(used('a'), 14, 'which is charged');
is(client($near, 'all')->fields('INFO', 'clients')->{replayed_answers}, 9,
   'INFO counts the answers that were given again');

# Many connections that bring one request at the same time.
my @crowd = map { client($near, 'ann') } 1 .. 30;
$_->send_raw(Headgate::Client::encode('CHECK', 'user=b', 'COST', 3, 'IDEMPOTENCY_KEY', 'crowd')) for @crowd;
my %said = map { (join(' ', @{$_->reply}) => 1) } @crowd;
is(scalar keys %said, 1, 'thirty connections bring one request, and get one answer');
is(used('b'), 3, 'which is charged once');

# ---- the library ----

# A way to the near daemon that loses the answers of its first connection, after the daemon has served them.
my $lossy = IO::Socket::INET->new(Listen => 16, LocalAddr => '127.0.0.1') or die;
my $way = fork // die;
if ($way == 0) {
    $SIG{PIPE} = 'IGNORE';
    for my $loses (1, 0, 0) {
        my $from = $lossy->accept or last;
        my $to = IO::Socket::INET->new(PeerAddr => "127.0.0.1:$near->{ports}{clients}") or last;
        my $select = IO::Select->new($from, $to);
        my $ends = 0;
        while (!$ends) {
            for my $socket ($select->can_read(20)) {
                my $got = sysread $socket, my $bytes, 65536;
                if (!$got) { $ends = 1; last }
                my $is_answer = $loses && $socket == $to && $bytes =~ /^\*6\r\n/;
                if ($is_answer) { $ends = 1; last }
                syswrite $socket == $to ? $from : $to, $bytes;
            }
        }
        close $from;
        close $to;
    }
    POSIX::_exit(0);
}
$Headgate::running{$way} = 1;
my $root = "$FindBin::Bin/../..";
my $build = $ENV{HEADGATE_BUILD} // "$root/build/release";
my $scratch = Headgate::scratch();
Headgate::write_file("$scratch/ask.c", <<'END');
#include <headgate/daemons.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words)
{
    const char *addresses[] = {words[1], words[2]}, *ask[] = {"CHECK", words[3], "COST", "5"};
    struct headgate_daemons_options options = {.addresses = addresses, .address_count = 2, .user = "ann",
                                               .password = "of-ann", .resend = atoi(words[4]) != 0,
                                               .connect_timeout_ms = 60000};
    options.client.timeout_ms = 120000;
    char error[256] = "";
    struct headgate_daemons_answer answer;
    struct headgate_daemons *daemons = headgate_daemons_create(&options, error, sizeof error);
    if (count != 5 || daemons == NULL || headgate_daemons_ask(daemons, 4, ask, &answer) != HEADGATE_CLIENT_OK)
        return 1;
    printf("decided %d by %zu, allowed %d, maybe_charged %d\n", answer.decided, answer.daemon, answer.verdict.allowed,
           answer.maybe_charged);
    headgate_daemons_destroy(&daemons);
    return 0;
}
END
SKIP: {
    my @cc = ('cc', '-Wall', '-Werror', "-I$root/include", '-o', "$scratch/ask", "$scratch/ask.c",
              "$build/libheadgate.a", qw(-lsodium -lssl -lcrypto));
    skip 'the library has sanitizers', 4 if $build =~ /san/;
    my ($status, $out, $err) = Headgate::run(60, @cc);
    is("$status$err", '0', 'a program with the library');
    my $lossy_at = '127.0.0.1:' . $lossy->sockport;
    my @ask = ("$scratch/ask", $lossy_at, "127.0.0.1:$far->{ports}{clients}");
    ($status, $out, $err) = Headgate::run(60, @ask, 'user=c', 1);
    is("$status$err$out", "0decided 1 by 0, allowed 1, maybe_charged 0\n",
       'gets the answer that was lost by asking again');
    is(used('c'), 5, 'and its request is charged once');
    is(client($near, 'all')->fields('INFO', 'clients')->{replayed_answers}, 9 + 29 + 1, 'since the daemon knew it');
}
kill 'KILL', $way;
waitpid $way, 0;
delete $Headgate::running{$way};

# ---- what keys are not ----

is(once(client($far, 'ann'), 'a', 7, 'k')->[0], 1, 'another daemon takes the request for new');
is(used('a'), 21, 'and charges it');

# ---- restarts ----

sub starts {
    $near->spawn;
    ok(Headgate::wait_until(20, sub { eval { client($near, 'all')->command('CHECK', 'probe', 'COST', 0)->[0] } }),
       'and starts');
    return;
}
is($near->stop, 0, 'the near daemon ends');
is(sprintf('%o', (stat "$near->{state_dir}/headgate.once")[2] & 07777), '600', 'what it keeps is its own');
starts();
like($near->log, qr/ info idempotency keys: \d+ answers of before are remembered\n/, 'and remembers');
is_deeply(once(client($near, 'ann'), 'a', 7, 'k'), $first, 'the request comes again, and has its answer');
like('' . once(client($near, 'ann'), 'a', 8, 'k'), qr/^ERR IDEMPOTENCY_KEY was used for another /,
     'another is wrong, as before');
is(used('a'), 21, 'nothing is charged');
is(once(client($near, 'ann'), 'a', 7, 'late')->[0], 1, 'a request of this start');
is(used('a'), 28, 'is charged');
$near->kill9;
starts();
is_deeply(once(client($near, 'ann'), 'a', 7, 'k'), $first, 'what was kept is there after a crash as well');
is(once(client($near, 'ann'), 'a', 7, 'late')->[0], 1, 'what came later is taken for new');
is(used('a'), 35, 'and charged, as the documents say');
is($near->stop, 0, 'it ends');
Headgate::write_file("$near->{state_dir}/headgate.once", 'scribbled');
starts();
like($near->log, qr/ warning headgate.once is of no use \(it is not as this release writes it/, 'the log says so');
is(once(client($near, 'ann'), 'a', 7, 'k')->[0], 1, 'without what was kept a request is new');
is(used('a'), 42, 'and charged');
my $kept = "$near->{state_dir}/headgate.once";
unlink $kept;
mkdir $kept or die "$kept: $!";
is($near->stop, 0, 'it ends where nothing can be kept');
like($near->log, qr/ warning headgate.once is not written \(it cannot be written: Is a directory\): requests of /,
     'and says so in a sentence of its own');
rmdir $kept or die "$kept: $!";
starts();
is(scalar(() = $near->log =~ / headgate.once is of no use /g), 1, 'not in that of reading');
is(once(client($near, 'ann'), 'a', 7, 'k')->[0], 1, 'what was not kept is new');
is(used('a'), 49, 'and charged');

subtest 'a daemon that is alone' => sub {
    my $alone = Headgate::cluster(regions => ['here'], limits => \@limits, listen_http => 1)->daemon('here')->start;
    my $http = sub { return Http::connect($alone)->post($_[0], $_[1], "Idempotency-Key: $_[2]") };
    my $body = '{"identifiers":{"user":"a"},"cost":7}';
    my $checked = $http->('/v1/check', $body, 'k');
    is($checked->{status}, 200, 'a request is allowed');
    my $reserve = '{"identifiers":{"user":"a"},"cost":7,"ttl_ms":60000}';
    my $held = $http->('/v1/reserve', $reserve, 'r')->{json}{reservation};
    ok($held, 'and another one reserved');
    is($alone->stop, 0, 'it ends');
    $alone->start;
    is_deeply($http->('/v1/check', $body, 'k')->{json}, $checked->{json}, 'the request has the answer that it had');
    is($http->('/v1/reserve', $reserve, 'r')->{json}{reservation}, $held, 'and so has the reservation');
    is($alone->kill9 != 0, 1, 'a crash');
    $alone->start;
    my $anew = $http->('/v1/reserve', $reserve, 'r')->{json}{reservation};
    isnt($anew, $held, 'after which a reservation has ended: whoever asks again has another one');
    is($http->('/v1/commit', "{\"reservation\":\"$anew\",\"cost\":1}", 'c')->{status}, 200, 'which is there');
    is($alone->stop, 0, 'it ends');
    delete $alone->{settings}{listen}{http};
    $alone->write_config->start;
    my @again = map { $alone->client->command(qw(CHECK user=b COST 7 IDEMPOTENCY_KEY b))->[2] } 1, 2;
    is("@again", '93 93', 'without HTTP, CHECK has keys all the same');
    is($alone->stop, 0, 'it ends');
};
ok($cluster->stop, 'they end');
done_testing();
