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
is($plain->stop(10), 0, 'and so does the other');
done_testing();
