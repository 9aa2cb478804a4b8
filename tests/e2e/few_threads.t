#!/usr/bin/perl
# A limit of threads, as ulimit -u, TasksMax or pids.max set it. Whatever it is, a daemon serves, or it ends with a
# sentence that says what is missing: no library ends it by a signal, or has it wait for ever.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use POSIX qw(:sys_wait_h);
use Test::More;

plan skip_all => 'only root can start daemons of users that run nothing else'
    if $> != 0 || system('setpriv --reuid 64000 prlimit --nproc=1 true 2>/dev/null') != 0;

plan skip_all => 'a sanitizer starts threads of its own' if $Headgate::build =~ m{/[at]san$};

# nng takes 3 threads for each processor, and some ten are needed beside them.
my $processors = () = Headgate::read_file('/proc/cpuinfo') =~ /^processor\s/mg;
my $most = 3 * $processors + 20;
my $least = $most > 32 ? $most - 31 : 1;
my $first_user = 64_000;

chmod 0755, Headgate::scratch();
my %daemon;
for my $limit ($least .. $most) {
    my $daemon = Headgate::cluster(regions => ['here'], threads => 2, state_dir => 'none', interval => '20ms',
                                   table => {keys => 65_536, populate => 'true'})->daemon('here');
    my $log = Headgate::write_file($daemon->{log_path}, '');
    chmod 0644, $daemon->{config};
    $daemon->{pid} = Headgate::spawn($log, $log, 'setpriv', '--reuid', $first_user + $limit, '--clear-groups',
                                     'prlimit', "--nproc=$limit", Headgate::headgated(), '--config',
                                     $daemon->{config});
    $daemon{$limit} = $daemon;
}

my ($served, $refused) = (0, 0);
for my $limit ($least .. $most) {
    my $daemon = $daemon{$limit};
    my $up = Headgate::wait_until(20, sub { !$daemon->running || $daemon->log =~ / info here is active/ });
    if ($up && $daemon->running) {
        $served++;
        is($daemon->client->command('CAN_ACCESS', 'alice'), 1, "with $limit threads a daemon serves");
        is($daemon->stop(20), 0, 'and leaves');
        next;
    }
    $refused++;
    is($daemon->{status}, 71, "with $limit threads it ends with status 71");
    like($daemon->log, qr/^headgated: [^\n]*\bthreads?\b[^\n]*\n\z/m, 'and a sentence');
    unlike($daemon->log, qr/panic|abort/i, 'which is the only one') or diag($daemon->log);
}
cmp_ok($served, '>', 0, "$served served");
cmp_ok($refused, '>', 0, "$refused did not");

done_testing();
