#!/usr/bin/perl
# log_level: each level writes what the one before it does, and more; debug says what a daemon works with.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my @levels = qw(error warning info debug);

# Which levels stand in the log of a daemon that ran with `level`, and its log without the times.
sub levels {
    my ($level, %settings) = @_;
    my $cluster = Headgate::cluster(regions => ['here'], log_level => $level, password => 'open-sesame', %settings);
    my ($daemon) = $cluster->daemons;
    $daemon->spawn;
    Headgate::wait_until(10, sub {
        return eval { my $client = $daemon->client; $client->command('AUTH', 'open-sesame') eq 'OK'
            && $client->fields('INFO', 'cluster')->{state} eq 'active' };
    }) or die 'it does not become active: ' . $daemon->log;
    is($daemon->stop, 0, "log_level $level: it ran");
    my $log = $daemon->log;
    my %seen = map { $_ => 1 } $log =~ /^\S+Z (\w+) /mg;
    return (join(' ', grep { $seen{$_} } @levels), $log =~ s/^\S+Z //mgr, $daemon);
}

my ($error) = levels('error');
is($error, '', 'error: nothing, when nothing goes wrong');
my ($warning) = levels('warning');
is($warning, 'warning', 'warning: what an operator should look at (here: debug is true)');
my ($info, $calm) = levels('info');
is($info, 'warning info', 'info: what changed as well');
my ($debug, $log, $daemon) = levels('debug', secret => 'seven-seals', state_sync => 'full', peers => [
    {node => 'there', region => 'here', gossip => '127.0.0.1:9', snapshots => '127.0.0.1:10'}],
    join_timeout => '50ms', leave_timeout => '50ms');
is($debug, 'warning info debug', 'debug: what it works with as well');

like($log, qr/^debug config read from \Q$daemon->{config}\E; with its defaults:$/m, 'debug: which config');
my ($status, $printed) = Headgate::run(10, Headgate::headgated(), '--config', $daemon->{config}, '--print-config');
my @expected = map { s/^(secret|password): \K.*/(given)/r } split /\n/, $printed;
is_deeply([$log =~ /^debug config: (.*)$/mg], \@expected, 'debug: every setting, as --print-config has it');
unlike($log, qr/seven-seals|open-sesame/, 'but no secret and no password');
like($log, qr/^debug peer there of region here: gossip from 127\.0\.0\.1:9, snapshots from 127\.0\.0\.1:10$/m,
     'debug: its peers and their addresses');
like($log, qr/^debug listening to the peer at 127\.0\.0\.1:9 from now on$/m, 'debug: when it listens to one');
like($log, qr{^debug state is written to \Q$daemon->{state_dir}\E/headgate\.db, state_sync full$}m,
     'debug: its store');
like($log, qr/^debug digest of weights, limits and interval: [0-9a-f]{16}; incarnation: \d+$/m,
     'debug: the digest that peers compare');
done_testing();
