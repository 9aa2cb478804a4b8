#!/usr/bin/perl
# The client protocol on raw sockets: framing, mistakes, limits, slow readers.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Select;
use List::Util qw(sum);
use Test::More;
use Time::HiRes qw(time);

my $places = Headgate::places(1100);
my $cluster = Headgate::cluster(
    regions => ['here'], threads => 1,
    limits => [{name => 'default', capacity => 100, rate => '1/h', default => 'true'},
               {name => 'quick', capacity => 5, rate => '10/s'}],
    max_connections => $places, debug => 'false');
my $daemon = $cluster->start->daemon('here');
$cluster->wait_met or die 'the daemon did not become active';
my $client = $daemon->client;

# Kilobytes of memory that the daemon holds.
sub resident_kb {
    return Headgate::read_file("/proc/$daemon->{pid}/status") =~ /^VmRSS:\s+(\d+)/m ? $1 : die 'no VmRSS';
}

subtest 'framing' => sub {
    is($client->send_raw("PING\r\n")->reply, 'PONG', 'an inline command');
    is($client->send_raw("  can_access \"a user\" 2\n")->reply, 1, 'with quotes, a bare newline, in small letters');
    is($client->command('PEEK', 'a user')->[2], 98, 'is the same as the array');
    $client->send_raw($_) for split //, Headgate::Client::encode('ECHO', "byte\r\nby byte");
    is($client->reply, "byte\r\nby byte", 'byte by byte');
    $client->send_raw("*0\r\n\r\n*-1\r\n*-10\r\nPING\r\n");
    is($client->reply, 'PONG', 'empty frames are passed over');
    my @replies = $client->pipeline(map { ['CAN_ACCESS', 'pipelined'] } 1 .. 1000);
    is(sum(@replies), 100, 'a thousand in one piece: as many as there are tokens');
    is(join('', @replies), '1' x 100 . '0' x 900, 'in order');
    @replies = $client->pipeline(map { ['CAN_ACCESS', 'mixed', 10], ['ECHO', $_], ['PEEK', 'mixed'] } 1 .. 12);
    is_deeply([map { $replies[3 * $_] } 0 .. 11], [(1) x 10, 0, 0], 'mixed commands: decisions');
    is_deeply([map { $replies[3 * $_ + 1] } 0 .. 11], [1 .. 12], 'what is between them');
    is_deeply([map { $replies[3 * $_ + 2][2] } 0 .. 11], [reverse(0, map { $_ * 10 } 1 .. 9), 0, 0],
              'each sees those before it');
};

subtest 'decisions' => sub {
    is_deeply($client->command('CHECK', 'ip=1.2.3.4', 'COST', 40), [1, 100, 60, 0, 40 * 3600_000, 'default'], 'CHECK');
    is($client->command('CHECK', 'user=1.2.3.4')->[2], 99, 'another dimension is another key');
    is($client->command('CAN_ACCESS', 'ip=1.2.3.4', 100), 1, 'CAN_ACCESS takes its key verbatim');
    is($client->command('CHECK', 'x', 'COST', 101)->[3], -1, 'more than the capacity: never');
    my ($peek, $again) = map { $client->command('PEEK', 'ip=1.2.3.4') } 1 .. 2;
    is_deeply([@$peek[0 .. 3]], [1, 100, 60, 0], 'PEEK');
    is($again->[2], 60, 'takes nothing');

    my ($key, $full, $refused) = ('r0');
    Headgate::in_time(0.05, sub {
        $key++;
        $full = $client->command('CHECK', $key, 'COST', 5, 'RULE', 'quick');
        $refused = $client->command('CHECK', $key, 'RULE', 'quick');
        return $refused->[0] == 0;
    });
    is($full->[0], 1, 'another rule');
    my $wait_ms = $refused->[3];
    ok($refused->[0] == 0 && $wait_ms > 0 && $wait_ms <= 100, "refused for $wait_ms ms");
    select undef, undef, undef, $wait_ms / 1000;
    is($client->command('CHECK', $key, 'RULE', 'quick')->[0], 1, 'and not a moment longer');
    like($client->command('EXPLAIN', $key, 'RULE', 'quick'), qr/^user=$key under limit quick: capacity 5, rate 10\/s\n/,
         'EXPLAIN');
};

subtest 'mistakes of clients' => sub {
    my @mistakes = (
        [['NONSENSE'], qr/^ERR unknown command 'NONSENSE'/],
        [['CAN_ACCESS'], qr/^ERR wrong number of arguments for 'can_access' command: expected can_access key \[cost\]/],
        [['CAN_ACCESS', 'a', '-1'], qr/^ERR cost '-1' is out of range: expected a whole number/],
        [['CAN_ACCESS', 'a', '1e3'], qr/^ERR cost/],
        [['CAN_ACCESS', 'a', '99999999999999999999'], qr/^ERR cost/],
        [['CAN_ACCESS', ''], qr/^ERR empty key/],
        [['CAN_ACCESS', 'k' x 257], qr/^ERR key of 257 bytes: expected at most 256/],
        [['CHECK', 'd' x 33 . '=x'], qr/^ERR dimension of 33 bytes: expected at most 32/],
        [['CHECK', 'a', 'RULE', 'none'], qr/^ERR unknown rule 'none'/],
        [['CHECK', 'a', 'COSTS', '1'],
         qr/^ERR unknown option 'COSTS': expected one of SERVICE, .*COST, PATIENCE, WAIT, VERBOSE/],
        [['SELECT', '1'], qr/^ERR DB index is out of range/],
        [['HELLO', '9'], qr/^NOPROTO/],
        [['FORGET', 'nobody'], qr/^ERR unknown node 'nobody'/],
        [['DEBUG', 'DROP', 'x'], qr/^ERR DEBUG is off: set `debug: true` in the config/],
    );
    for (@mistakes) {
        my ($words, $expected) = @$_;
        my $reply = $client->command(@$words);
        ok(ref $reply eq 'Headgate::Error', join ' ', map { substr $_, 0, 20 } @$words);
        like("$reply", $expected, 'and why');
    }
    is($client->command('CAN_ACCESS', 'k' x 256), 1, 'the connection goes on; a key of 256 bytes is fine');
};

subtest 'violations of the protocol' => sub {
    my @violations = (
        ["*1\r\n\$61441\r\n", qr/^ERR Protocol error: bulk too long/, 'a bulk beyond its limit'],
        ["*65\r\n", qr/^ERR Protocol error: too many arguments/, 'too many arguments'],
        ["*1\r\nPING\r\n", qr/^ERR Protocol error: expected '\$'/, 'no bulk'],
        ["ECHO \"a\r\n", qr/^ERR Protocol error: unbalanced quotes/, 'an open quote'],
        ['x' x 100_000, qr/^ERR Protocol error: line too long/, 'a line without an end'],
        [Headgate::Client::encode(('x' x 4096) x 16), qr/^ERR Protocol error: request too long/, 'a long frame'],
        ["POST / HTTP/1.1\r\n\r\n", qr/^ERR Protocol error: this is not an HTTP server/, 'a browser'],
    );
    for (@violations) {
        my ($bytes, $expected, $name) = @$_;
        my $bad = $daemon->client->send_raw("PING\r\n" . $bytes);
        is($bad->reply, 'PONG', "$name: what came before is answered");
        like($bad->reply, $expected, 'then one error');
        ok($bad->closed, 'then it is closed');
    }
    my $quits = $daemon->client->send_raw("QUIT\r\nPING\r\n");
    ok($quits->reply eq 'OK' && $quits->closed, 'QUIT is answered, then it is closed');
};

subtest 'sessions' => sub {
    my $other = $daemon->client;
    my $hello = $other->command('HELLO', '3', 'SETNAME', 'tester');
    is_deeply([@$hello[0, 1, 4, 5]], ['server', 'headgate', 'proto', 3], 'HELLO 3');
    is($other->command('CLIENT', 'GETNAME'), 'tester', 'a name');
    is($other->send_raw("NODES\r\n")->line, '*1', 'NODES is an array');
    is($other->line, '%27', 'of maps in version 3');
    $other->reply for 1 .. 54;
    is($other->command('RESET'), 'RESET', 'RESET');
    is($other->send_raw("CLIENT GETNAME\r\n")->line, '$-1', 'forgets the name and the version');
    cmp_ok($other->command('CLIENT', 'ID'), '>', $client->command('CLIENT', 'ID'), 'later clients have higher numbers');
};

subtest 'a slow reader' => sub {
    my $before_kb = resident_kb();
    my @slow = map { $daemon->client } 1 .. 20;
    for my $slow (@slow) {
        $slow->{socket}->blocking(0);
        my $written = syswrite $slow->{socket}, "COMMAND DOCS\r\n" x 20000;
        cmp_ok($written // 0, '>', 14 * 100, 'asks for much') if $slow == $slow[0];
    }
    ok(Headgate::wait_until(10, sub { $client->fields('INFO', 'clients')->{blocked_clients} == 20 }),
       'who does not read is not read from');
    is($client->command('PING'), 'PONG', 'others are served');
    my $grown_kb = resident_kb() - $before_kb;
    cmp_ok($grown_kb, '<', 20 * 2 * 140 + 3000, "twenty of them cost $grown_kb KiB");
    my $slow = $slow[0];
    $slow->{socket}->blocking(1);
    my ($count, $bytes) = (0, 0);
    # What has come is enough: then a second in which nothing comes is the end.
    while (IO::Select->new($slow->{socket})->can_read($bytes > 500_000 && $count > 100 ? 1 : $slow->{seconds})) {
        my $size = sysread $slow->{socket}, my $piece, 1 << 20 or last;
        $bytes += $size;
        $count += () = $piece =~ /can_access/g;
    }
    cmp_ok($bytes, '>', 500_000, "when it reads, everything comes ($bytes bytes)");
    cmp_ok($count, '>', 100, 'all answers');
    $_->close for @slow;
    ok(Headgate::wait_until(10, sub { my $info = $client->fields('INFO', 'clients');
                                      $info->{buffer_bytes} == 0 && $info->{connected_clients} == 1 }),
       'gone, they hold nothing');
};

subtest 'many connections' => sub {
    my $before_kb = resident_kb();
    my @idle = map { $daemon->client } 1 .. $places - 100;
    is($idle[-1]->command('CAN_ACCESS', 'idle'), 1, 'a thousand clients');
    my $each = (resident_kb() - $before_kb) / @idle;
    cmp_ok($each, '<', 8, "cost $each KiB each");
    push @idle, map { $daemon->client } 1 .. 99;
    ok(Headgate::wait_until(10, sub { $client->fields('INFO', 'clients')->{connected_clients} == $places }),
       'up to the limit');
    $_->command('PING') for @idle; # else the silent ones would make room
    my @refused = map { $daemon->client } 1 .. 20;
    my $told = grep { ($_->reply // '') eq 'ERR max number of clients reached' && $_->closed } @refused;
    is($told, 20, 'more are told so, and closed');
    is($client->fields('INFO', 'clients')->{rejected_connections}, 20, 'and counted');
    is($idle[7]->command('PING'), 'PONG', 'the others are served');
    $_->close for @idle;
    ok(Headgate::wait_until(10, sub { $client->fields('INFO', 'clients')->{connected_clients} == 1 }), 'they go');
    is($daemon->client->command('PING'), 'PONG', 'and there is room again');
};

subtest 'a password' => sub {
    my $locked = Headgate::cluster(regions => ['locked'], password => 'sesame');
    my $own = $locked->daemon('locked');
    $own->start;
    my $guest = $own->client;
    like($guest->command('CAN_ACCESS', 'x'), qr/^NOAUTH/, 'nothing without it');
    like($guest->command('AUTH', 'wrong'), qr/^WRONGPASS/, 'nor with another');
    is($guest->command('AUTH', 'sesame'), 'OK', 'with it');
    ok(Headgate::wait_until(5, sub { $guest->command('CAN_ACCESS', 'x') eq 1 }), 'everything');
    is($own->client->command('HELLO', 3, 'AUTH', 'default', 'sesame')->[1], 'headgate', 'HELLO takes it too');
    unlike($guest->command('INFO') . $own->log, qr/sesame/, 'and it is shown nowhere');
    is($own->stop, 0, 'ends in peace');
};

subtest 'the end' => sub {
    my $waiting = $daemon->client;
    is($daemon->stop, 0, 'SIGTERM ends the daemon with status 0');
    ok($waiting->closed, 'clients are closed');
};

done_testing();
