# table.populate: a daemon's table is there before the first request, and nobody waits for it.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $table_kb = 64 * 1024; # a little more than what a million keys take

sub resident_kb {
    my ($daemon) = @_;
    return Headgate::read_file("/proc/$daemon->{pid}/status") =~ /VmRSS:\s+(\d+) kB/ ? $1 : die 'no VmRSS';
}

my %options = (regions => ['here'], join_timeout => '100ms');
my $plain = Headgate::cluster(%options, table => {keys => 1_048_576})->start->daemon('here');
my $cluster = Headgate::cluster(%options, table => {keys => 1_048_576, populate => 'true'})->start;
my $daemon = $cluster->daemon('here');
is($daemon->client->command('PING'), 'PONG', 'clients are served at once');
ok(Headgate::wait_until(20, sub { $daemon->log =~ /table\.populate: / }), 'the end is logged');
SKIP: {
    skip 'this kernel cannot', 2 if $daemon->log =~ /needs Linux 5\.14/;
    like($daemon->log, qr/table\.populate: 1\d\d(\.\d+)? MiB of memory are there/, 'with what there is');
    cmp_ok(resident_kb($daemon) - resident_kb($plain), '>', $table_kb, 'and it is there');
}
unlike($plain->log, qr/populate/, 'without it nothing is said');
is($daemon->stop(10), 0, 'it leaves with status 0');
my $hasty = Headgate::cluster(%options, table => {keys => 5_000_000, populate => 'true'})->start->daemon('here');
is($hasty->stop(10), 0, 'also while there is more to do');
unlike($plain->log, qr/tables take up to/, 'the machine has room for it');
is($plain->stop(10), 0, 'and so does the other');

# ---- a control group that lets it have less ----

# The file of the group's limit, of either version; undefined: this test may make no group.
my $group;
sub limited_group {
    for (['/sys/fs/cgroup/memory', 'memory.limit_in_bytes'], ['/sys/fs/cgroup', 'memory.max']) {
        my ($tree, $file) = @$_;
        mkdir "$tree/headgate-$$" or next;
        $group = "$tree/headgate-$$";
        return "$group/$file" if -w "$group/$file";
        rmdir $group;
    }
    return;
}
END { rmdir $group if $group }

sub starts_in_group {
    my ($file, $bytes) = @_;
    my $daemon = Headgate::cluster(%options, table => {keys => 1_048_576})->daemon('here');
    Headgate::write_file($file, $bytes);
    $daemon->{program} = Headgate::write_file(Headgate::scratch() . '/in-group',
        "#!/bin/sh\necho \$\$ >$group/cgroup.procs || exit 1\nexec " . Headgate::headgated() . ' "$@"' . "\n");
    chmod 0755, $daemon->{program};
    return $daemon->start;
}
SKIP: {
    my $file = limited_group() // skip 'no control group can be made here', 4;
    my $small = starts_in_group($file, 100 << 20);
    my $seen = Headgate::read_file("/proc/$small->{pid}/cgroup") =~ m{:/headgate-$$\b};
    my $warning = qr/ warning tables take up to 1\d\d(\.\d)? MiB as keys come, and .* process have 100 MiB /;
    ok(!$seen || $small->log =~ $warning, 'tables that outgrow the group are told of at the start')
        or diag($small->log);
    is($small->stop(10), 0, 'it leaves');
    my $large = starts_in_group($file, 400 << 20);
    unlike($large->log, qr/tables take up to/, 'and tables that have room in it are not');
    is($large->stop(10), 0, 'it leaves');
}
done_testing();
