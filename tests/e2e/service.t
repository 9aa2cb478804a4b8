#!/usr/bin/perl
# The daemon as a service of a machine: what it tells the service manager, its unit, its manual pages, and what a shell
# completes.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use IO::Socket::UNIX;
use Socket qw(SOCK_DGRAM);
use Test::More;

my $root = $Headgate::root;

# ---- what the manager hears ----

my $path = Headgate::scratch() . '/notify';
my $manager = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $path) or die "$path: $!";
$manager->blocking(0);
my @heard;
sub hear { while (defined $manager->recv(my $said, 4096)) { push @heard, $said } return scalar @heard }
sub heard { my ($what) = @_; hear(); return scalar grep { /$what/m } @heard }

for my $threads (1, 2) {
    @heard = ();
    my $daemon = Headgate::cluster(regions => ['here'], threads => $threads)->daemon('here');
    {
        local $ENV{NOTIFY_SOCKET} = $path;
        local $ENV{WATCHDOG_USEC} = 100_000;
        $daemon->start;
    }
    ok(Headgate::wait_until(20, sub { heard('^READY=1$') }), "threads: $threads, the manager hears that it is ready");
    my ($ready) = grep { /READY/ } @heard;
    is($ready, "READY=1\nSTATUS=serves clients at 127.0.0.1:$daemon->{ports}{clients}", 'and where clients connect');
    is($daemon->client->command('PING'), 'PONG', 'which is true');
    ok(Headgate::wait_until(20, sub { heard('^WATCHDOG=1$') >= 5 }), 'and again and again that its loop turns');
    is(heard('STOPPING'), 0, 'not that it ends');
    is($daemon->stop, 0, 'it is asked to end');
    is(heard('^STOPPING=1$'), 1, 'and says so');
    is(scalar(grep { /READY/ } @heard), 1, 'it was ready once');
}

@heard = ();
my $silent = Headgate::cluster(regions => ['here'])->daemon('here');
{
    local $ENV{NOTIFY_SOCKET} = $path;
    $silent->start;
}
ok(Headgate::wait_until(20, sub { heard('^READY=1$') }), 'without a watchdog it is ready as well');
is($silent->stop, 0, 'it ends');
is(heard('WATCHDOG'), 0, 'and says nothing between');

@heard = ();
my $taken = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1) or die "cannot listen: $!";
my $refused = Headgate::cluster(regions => ['here'])->daemon('here');
$refused->{settings}{listen}{clients} = '127.0.0.1:' . $taken->sockport;
$refused->write_config;
{
    local $ENV{NOTIFY_SOCKET} = $path;
    $refused->spawn;
}
is($refused->wait_end(20), 69, 'a daemon whose port is in use ends');
is(hear(), 0, 'and was never ready');

# ---- the unit ----

sub run_shell { my ($line) = @_; return Headgate::run(120, 'sh', '-c', $line) }

# The system calls of a set of systemd, or a call itself.
sub calls {
    my ($name) = @_;
    return $name if $name !~ /^@/;
    my (undef, $out) = run_shell("systemd-analyze syscall-filter '$name'");
    return map { calls($_) } grep { $_ ne $name && !/^#/ } $out =~ /^ +(\S.*?)\s*$/mg;
}

subtest 'unit' => sub {
    plan skip_all => 'there is no systemd-analyze here' if system('command -v systemd-analyze >/dev/null 2>&1') != 0;
    my $text = Headgate::read_file("$root/config/systemd/headgated.service");
    my $unit = Headgate::write_file(Headgate::scratch() . '/headgated.service',
                                    $text =~ s{/usr/bin/headgated}{Headgate::headgated()}egr);
    my ($status, $out) = run_shell("systemd-analyze verify --man=no '$unit' 2>&1");
    is("$status: $out", '0: ', 'systemd finds nothing wrong with it');
    ($status, $out) = run_shell("systemd-analyze security --offline=yes --threshold=20 '$unit' 2>&1");
    my ($exposure) = $out =~ /exposure level for headgated.service: ([\d.]+)/;
    is($status, 0, 'it is exposed by 2.0 at most: ' . ($exposure // $out));

    # The daemon's own sandbox is made of calls that the unit must leave it.
    my %allowed;
    for my $line ($text =~ /^SystemCallFilter=(.*)$/mg) {
        my $denies = $line =~ s/^~//;
        for my $call (map { calls($_) } split ' ', $line) {
            $denies ? delete $allowed{$call} : ($allowed{$call} = 1);
        }
    }
    ok($allowed{$_}, "the unit allows $_")
        for qw(seccomp landlock_create_ruleset landlock_add_rule landlock_restrict_self);
    ok($allowed{epoll_wait} && !$allowed{mount} && !$allowed{setuid}, 'and not what only an intruder needs');
};

# ---- manual pages ----

sub page { my ($name) = @_; return Headgate::read_file("$root/docs/man/$name") =~ s/\\-/-/gr =~ s/\\~/ /gr }

my ($status, $help) = Headgate::run(60, Headgate::headgate(), '--help');
my $operator = page('headgate.1');
for my $line (grep { /^  \S/ } split /\n/, $help) {
    my ($word) = $line =~ /^  (\S+)/;
    ok($operator =~ /^\.BI? \Q$word\E(?: |$)/m, "headgate(1) has $word");
}
my @described = $operator =~ /^\.TP\n\.BI? ([a-z-]+)(?: |$)/mg;
like($help, qr/^  \Q$_\E /m, "headgate has $_, as its page says") for @described;

($status, $help) = Headgate::run(60, Headgate::headgated(), '--help');
my $daemon_page = page('headgated.8');
like($daemon_page, qr/\Q$_\E/, "headgated(8) has $_") for $help =~ /(--[a-z-]+)/g;

# ---- completion ----

# What bash offers for these words, the last of which is begun.
sub offers {
    my (@words) = @_;
    my $program = Headgate::headgate();
    my $script = 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _headgate; echo "${COMPREPLY[@]}"';
    my $file = "$root/config/completion/headgate.bash";
    my ($status, $out) = Headgate::run(60, 'bash', '-c', $script, 'bash', $file, $program, @words);
    return $out =~ s/\s+$//r;
}
is(offers('che'), 'check', 'a command');
like(offers(''), qr/^check peek explain .*\bload$/s, 'all commands');
is(offers('rules', 'ro'), 'rollback', 'an action');
is(offers('check', '--en'), '--endpoint', 'an option of a command');
is(offers('check', '--cost', '5', 'alice', '--ti'), '--timeout --tier', 'options, wherever they stand');
is(offers('nodes', '--en'), '', 'not those of other commands');
is(offers('--at', 'localhost', ':', '7070', 'rules', 'ro'), 'rollback', 'the value of an option is no command');
is(offers('rules', '--at', 'localhost', ':', '7070', 'ro'), 'rollback', 'and no action');

# What zsh offers: the function of the completion, with what it calls in its place.
subtest 'zsh' => sub {
    plan skip_all => 'there is no zsh here' if system('command -v zsh >/dev/null') != 0;
    my $script = Headgate::write_file(Headgate::scratch() . '/offers.zsh', <<'END');
file=$1; shift
compadd() { [[ $1 == -a ]] && print -r -- ${(P)2} }
_files() { print files }
offers() { local -a words; local CURRENT; words=("$@"); CURRENT=$#words; source $file }
offers "$@"
END
    my $zsh_offers = sub {
        my @command = ('zsh', '-f', $script, "$root/config/completion/headgate.zsh", Headgate::headgate());
        my ($status, $out, $err) = Headgate::run(60, @command, @_);
        return "$err$out" =~ s/\s+$//r;
    };
    like($zsh_offers->(''), qr/^check peek explain .*\bload$/, 'all commands');
    is($zsh_offers->('rules', 'ro'), 'check lint test apply diff export list get delete history rollback', 'actions');
    like($zsh_offers->('check', '--cost', '5', 'alice', '--ti'), qr/ --tier\b/, 'options of a command');
    is($zsh_offers->('check', 'ali'), 'files', 'and files');
    like($zsh_offers->('rules', '--at', 'localhost:7070', 'ro'), qr/^check lint /,
         'the value of an option is no action');
};

done_testing();
