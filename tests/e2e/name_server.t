#!/usr/bin/perl
# A name server that takes questions and answers none: whoever asks it for the host of the central store waits for some
# ten seconds. The daemon says so, and waits for nothing when it is to end.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Socket::INET;
use Test::More;
use Time::HiRes qw(time);

# A mount namespace of its own, so that this test can write /etc/resolv.conf.
if (!$ENV{HEADGATE_NAMES_APART}) {
    plan skip_all => 'only root can have a name server of its own' if system('unshare -m true 2>/dev/null') != 0;
    exec 'env', 'HEADGATE_NAMES_APART=1', 'unshare', '-m', $^X, $0 or die;
}
my ($address, $silent);
for (1 .. 100) {
    $address = join '.', 127, map { 2 + int rand 250 } 1 .. 3;
    last if $silent = IO::Socket::INET->new(LocalAddr => $address, LocalPort => 53, Proto => 'udp');
}
plan skip_all => 'nobody may listen at port 53 here' if !$silent;
my $file = Headgate::write_file(Headgate::scratch() . '/resolv.conf', "nameserver $address\noptions timeout:30\n");
plan skip_all => 'no name server can be set here' if system('mount', '--bind', $file, '/etc/resolv.conf') != 0;

# How soon a resolver gives such a server up, in seconds.
use constant GIVES_UP => 30;

sub asked {
    my $seen = '';
    vec($seen, fileno $silent, 1) = 1;
    return select $seen, undef, undef, 0;
}

for my $threads (1, 2) {
    my $daemon = Headgate::cluster(regions => ['here'], threads => $threads,
                                   central => {address => 'store.test:6379', timeout => '1s'})->daemon('here');
    $daemon->start;
    ok(Headgate::wait_until(5, \&asked), "a daemon of $threads threads asks the name server for the store");
    ok(Headgate::wait_until(5, sub {
        $daemon->client->fields('INFO', 'central')->{central_error} eq 'the name server does not answer';
    }), 'and says that it does not answer') or diag($daemon->log);
    my $begun = time;
    is($daemon->stop(20), 0, 'it leaves');
    cmp_ok(time - $begun, '<', GIVES_UP - 2, sprintf 'at once: after %.2f s', time - $begun);
    while (asked()) {
        $silent->recv(my $question, 512);
    }
}

done_testing();
