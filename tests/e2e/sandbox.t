#!/usr/bin/perl
# A daemon that serves is in its sandbox, with all its threads, unless its config says otherwise.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use File::Temp ();
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
Headgate::wait_until(10, sub { $daemon->log =~ /sandbox: (?:what|there is none)/ });
plan skip_all => 'a build with a sanitizer has no sandbox' if $daemon->log =~ /sandbox: there is none/;
my ($threads, $states) = threads_in($daemon->{pid});
cmp_ok($threads, '>', 5, 'there are several threads');
is($states, '12', 'each has no new privileges, and a filter');
like($daemon->log, qr/ debug sandbox: what the daemon has no use for, the kernel refuses it now\n/, 'the log says so');
is($daemon->client->command('CAN_ACCESS', 'alice'), 1, 'it serves');
my $info = $daemon->client->fields('INFO', 'server');
is($info->{sandbox_calls}, 'on', 'INFO says so');

# Landlock: what is beside the config can be read, what is elsewhere cannot.
SKIP: {
    my $why = qr/ sandbox: (?:this kernel keeps no|the kernel does not keep) files from the daemon/;
    skip 'this kernel has no Landlock', 7 if $daemon->log =~ $why;
    is($info->{sandbox_files}, 'on', 'and that files are kept from it');
    my $elsewhere = File::Temp::tempdir('headgate-XXXXXX', TMPDIR => 1, CLEANUP => 1);
    my $users = sub { return [{name => 'u', roles => 'check', secret_file => "$_[0]/secret"}] };
    for my $place ($elsewhere, Headgate::scratch()) {
        Headgate::write_file("$place/secret", "s\n");
        chmod 0600, "$place/secret";
    }
    my $reload = sub {
        $daemon->{settings}{users} = $users->($_[0]);
        $daemon->write_config;
        return $daemon->client->command('RELOAD');
    };
    my $said = '' . $reload->($elsewhere);
    like($said, qr/secret_file.*Permission denied/, 'a secret elsewhere cannot be read by a reload');
    ok(Headgate::wait_until(10, sub { $daemon->log =~ / info RELOAD: the sandbox lets a running daemon read only / }),
       'and the log says what to do');
    is_deeply($reload->(Headgate::scratch())->[3], ['users'], 'one beside the config can');
    is($daemon->client->command('CAN_ACCESS', 'alice'), 1, 'it serves on');
    delete $daemon->{settings}{users};
    $daemon->write_config;

    # A config that is a link to a file elsewhere, as tools of deployment make it.
    my $linked = Headgate::cluster(regions => ['here'])->daemon('here');
    rename $linked->{config}, "$elsewhere/config" or die $!;
    symlink "$elsewhere/config", $linked->{config} or die $!;
    $linked->start;
    unlike('' . $linked->client->command('RELOAD'), qr/Permission denied/, 'a config behind a link is read again');
    is($linked->stop, 0, 'and its daemon leaves');
}
$daemon->signal('HUP');
ok(Headgate::wait_until(10, sub { $daemon->log =~ / info SIGHUP: .* is read again/ }), 'reads its config again,');
is($daemon->stop, 0, 'and leaves');

$daemon->{settings}{sandbox} = 'false';
$daemon->write_config->start;
(undef, $states) = threads_in($daemon->{pid});
is($states, '00', 'sandbox: false leaves it out');
$info = $daemon->client->fields('INFO', 'server');
is("$info->{sandbox_calls} $info->{sandbox_files}", 'off off', 'and INFO says so');
is($daemon->stop, 0, 'it leaves as well');
done_testing();
