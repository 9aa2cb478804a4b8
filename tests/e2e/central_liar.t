#!/usr/bin/perl
# A central store that is none: what answers at its address says too much, too little, or what nobody asked. The daemon
# goes on, decides by `when_down`, and asks again once there is a store.
use strict;
use warnings;
use Digest::SHA qw(sha1_hex);
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Select;
use IO::Socket::INET;
use POSIX ();
use Test::More;

my ($port) = Headgate::free_ports(1);
my $mode_file = Headgate::scratch() . '/mode';
my $calls_file = Headgate::scratch() . '/calls';

# What the script answers of one charge: allowed; allowed, left, retry, reset, stamp, taken in advance.
my $good = "*7\r\n:1\r\n:1\r\n:9\r\n:0\r\n:0\r\n:0\r\n:0\r\n";
my %says = (
    'good' => $good,
    'an answer more' => $good . $good,
    'a number more' => "$good:1\r\n",
    'nothing more' => "$good\$-1\r\n",
    'an error more' => "$good-ERR who asked?\r\n",
    'a message' => "*3\r\n\$7\r\nmessage\r\n\$1\r\nx\r\n\$1\r\ny\r\n$good",
    'a push' => ">2\r\n+invalidate\r\n:1\r\n",
    'an array without an end' => "*2147483647\r\n",
    'an array that is longer than numbers are' => "*4611686018427387905\r\n:1\r\n",
    'a text of 2 GiB' => "\$2147483647\r\n" . 'x' x 1_000_000,
    'a line without an end' => '+' . 'x' x 1_000_000,
    'a nest' => "*1\r\n" x 200,
    'numbers beyond all' => "*7\r\n" . ":9223372036854775807\r\n" x 7,
    'numbers below zero' => "*7\r\n" . ":-9223372036854775808\r\n" x 7,
    'a text' => "+OK\r\n",
    'no array' => "*-1\r\n",
    'no script, for ever' => "-NOSCRIPT No matching script. Please use EVAL.\r\n",
    'another place' => "-MOVED 3999 127.0.0.1:1\r\n",
    'half an answer' => "*7\r\n:1\r\n:1",
    'another protocol' => "HTTP/1.1 400 Bad Request\r\n\r\n",
    'an error with a format' => "-ERR %s%n%d\r\n",
);

# Answers commands as the file says; counts calls of the script. Answers AUTH and SCRIPT LOAD as a store does.
sub pretend {
    my ($listener) = @_;
    my ($select, $calls, %buffer) = (IO::Select->new($listener), 0);
    local $SIG{PIPE} = 'IGNORE';
    while (1) {
        for my $socket ($select->can_read) {
            if ($socket == $listener) {
                $select->add(scalar $listener->accept);
                next;
            }
            if (!sysread $socket, $buffer{$socket}, 65536, length($buffer{$socket} // '')) {
                delete $buffer{$socket};
                $select->remove($socket);
                close $socket;
                next;
            }
            while (my $words = command(\$buffer{$socket})) {
                my $asks = $words->[0] =~ /^EVAL/i;
                Headgate::write_file($calls_file, ++$calls) if $asks;
                syswrite $socket, $asks ? $says{Headgate::read_file($mode_file)}
                    : $words->[0] eq 'SCRIPT' ? "\$40\r\n" . sha1_hex($words->[2]) . "\r\n" : "+OK\r\n";
            }
        }
    }
    return;
}

# Takes a command off the front of the buffer; undef: there is none.
sub command {
    my ($buffer) = @_;
    pos($$buffer) = 0;
    $$buffer =~ /\G\*(\d+)\r\n/gc or return undef;
    my @words;
    for (1 .. $1) {
        $$buffer =~ /\G\$(\d+)\r\n/gc or return undef;
        return undef if length($$buffer) < pos($$buffer) + $1 + 2;
        push @words, substr $$buffer, pos $$buffer, $1;
        pos($$buffer) += $1 + 2;
    }
    substr($$buffer, 0, pos $$buffer) = '';
    return \@words;
}

sub set_mode {
    my ($mode) = @_;
    Headgate::write_file("$mode_file.new", $mode);
    rename "$mode_file.new", $mode_file or die "$mode_file: $!";
    return;
}

set_mode('good');
Headgate::write_file($calls_file, 0);
my $listener = IO::Socket::INET->new(Listen => 16, LocalAddr => '127.0.0.1', LocalPort => $port, ReuseAddr => 1)
    or die "listen: $!";
my $pid = fork // die "fork: $!";
if ($pid == 0) {
    $SIG{$_} = 'DEFAULT' for qw(INT TERM HUP);
    pretend($listener);
    POSIX::_exit(0);
}
$Headgate::running{$pid} = 1;
close $listener;

my $daemon = Headgate::cluster(regions => ['here'], threads => 1,
                               central => {address => "127.0.0.1:$port", timeout => '200ms'})->daemon('here');
$daemon->start;
sub central { return $daemon->client->fields('INFO', 'central') }
sub is_up { return Headgate::wait_until(20, sub { central()->{central_state} eq 'up' }) }
ok(is_up(), 'what answers like a store is one') or diag $daemon->log;
my $rule = '{id: calls, service: shop, by: user, rate: 10/h, burst: 10, sync: central, when_down: closed}';
is($daemon->client->command('RULE', 'SET', $rule), 'OK', 'a rule');
sub called { return Headgate::read_file($calls_file) || 0 }
sub check { return $daemon->client->command('CHECK', "user=$_[0]", 'SERVICE', 'shop') }
ok(Headgate::wait_until(20, sub { check('a')->[0] == 1 }), 'is decided there'); # in 200 ms, if nothing else runs

for my $mode (grep { $_ ne 'good' } sort keys %says) {
    my $called = called();
    set_mode($mode);
    my $answered = grep { ref eq 'ARRAY' && @$_ == 6 } map { eval { check("of-$_") } } 1 .. 8;
    is($answered, 8, "$mode: requests are answered");
    ok(Headgate::wait_until(20, sub { (eval { central() } // {})->{central_error} }), "$mode: and it is told");
    ok($daemon->running, "$mode: the daemon runs") or $daemon->start;
    cmp_ok(called() - $called, '<', 100, "$mode: nobody asks again and again");
    set_mode('good');
    ok(is_up(), "$mode: a store that is good again is asked again") or diag $daemon->log;
}
ok(Headgate::wait_until(20, sub { check('b')->[0] == 1 }), 'and decides');

# Each connection to such a store is good for a moment: the log must not go on with two lines a second.
my $lines = sub { return scalar(() = $daemon->log =~ / central store at \S+ (?:is|answers)/g) };
set_mode('an answer more');
ok(Headgate::wait_until(20, sub { central()->{central_state} eq 'down' }), 'a store that is good for a moment is down');
my ($called, $before) = (called(), $lines->());
ok(Headgate::wait_until(30, sub { called() >= $called + 6 }), 'it is tried again and again');
cmp_ok($lines->() - $before, '<=', 1, 'which the log says once') or diag $daemon->log;
set_mode('good');
ok(is_up(), 'it is good again');
ok(Headgate::wait_until(20, sub { $daemon->log =~ / answers\n\z/ }), 'and the log says so') or diag $daemon->log;
like($daemon->log, qr/central store at \S+ is (?:still )?down: it answers what nobody asked, or more than it may;/,
     'the log says what was the matter');
is($daemon->stop(20), 0, 'it leaves');

done_testing();
