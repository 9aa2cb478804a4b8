#!/usr/bin/perl
# A daemon that serves is in its sandbox, with all its threads, unless its config says otherwise.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $daemon = Headgate::cluster(regions => ['here'], threads => 2, log_level => 'debug')->daemon('here');

# What the kernel says of each thread.
sub threads_in {
    my ($pid) = @_;
    my @states = map { Headgate::read_file($_) =~ /^NoNewPrivs:\s+(\d)\nSeccomp:\s+(\d)/m ? "$1$2" : '?' }
        glob "/proc/$pid/task/*/status";
    my %count;
    $count{$_}++ for @states;
    return (scalar @states, join ' ', sort keys %count);
}

$daemon->start;
plan skip_all => 'a build with a sanitizer has no sandbox' if $daemon->log =~ /sandbox: there is none/;
Headgate::wait_until(10, sub { $daemon->log =~ /sandbox: what/ });
my ($threads, $states) = threads_in($daemon->{pid});
cmp_ok($threads, '>', 5, 'there are several threads');
is($states, '12', 'each has no new privileges, and a filter');
like($daemon->log, qr/ debug sandbox: what the daemon has no use for, the kernel refuses it now\n/, 'the log says so');
is($daemon->client->command('CAN_ACCESS', 'alice'), 1, 'it serves');
$daemon->signal('HUP');
ok(Headgate::wait_until(10, sub { $daemon->log =~ / info SIGHUP: .* is read again/ }), 'reads its config again,');
is($daemon->stop, 0, 'and leaves');

$daemon->{settings}{sandbox} = 'false';
$daemon->write_config->start;
(undef, $states) = threads_in($daemon->{pid});
is($states, '00', 'sandbox: false leaves it out');
is($daemon->stop, 0, 'it leaves as well');
done_testing();
