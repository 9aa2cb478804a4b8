#!/usr/bin/perl
# Another hash_seed: counters of quotas are kept, are told of and counted, and are used again under the old seed.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use Test::More;

my $daemon = Headgate::cluster(regions => ['here'], secret => 'one', hash_seed => 'the old one')->daemon('here');

sub under {
    my ($seed) = @_;
    $daemon->{settings}{hash_seed} = $seed;
    my $before = length $daemon->log;
    $daemon->write_config->start;
    return substr $daemon->log, $before;
}

sub left { return $daemon->client->command('PEEK', "user=$_[0]", qw(SERVICE shop))->[2] }
sub aside { return $daemon->client->fields('INFO', 'store')->{store_counters_aside} }

under('the old one');
my $rule = '{id: q, service: shop, by: user, algorithm: quota, limit: 100, window: year}';
is($daemon->client->command('RULE', 'SET', $rule), 'OK', 'a quota of a year');
is($daemon->client->command('CHECK', "user=$_", qw(SERVICE shop COST 100))->[0], 1, "$_ uses it up") for qw(ann bob);
is(aside(), 0, 'no counter is under another seed');
is($daemon->stop, 0, 'it ends');

my $log = under('a new one');
my $told = qr/ warning \S+headgate\.db: 2 counters are under another secret: they are kept until their time is over/;
is(scalar(() = $log =~ /$told/g), 1, 'another seed: one line says how many counters are not used, and why')
    or diag($log);
is(aside(), 2, 'INFO counts them');
is(left('ann'), 100, 'which is what it means: a fresh year');
is($daemon->client->command('CHECK', 'user=ann', qw(SERVICE shop COST 30))->[2], 70, 'some of it is used');
ok(Headgate::wait_until(20, sub { $daemon->client->fields('INFO', 'store')->{store_counters_written} > 0 }),
   'the store has it');
is($daemon->kill9, 137, 'kill -9');
like(under('a new one'), $told, 'each start says it');
is(left('ann'), 70, 'and goes on from where the last one ended');
is($daemon->stop, 0, 'it ends');

$log = under('the old one');
like($log, qr/ info \S+headgate\.db: 2 counters are under this secret again, and used$/m, 'back to the old seed');
is_deeply([left('ann'), left('bob')], [0, 0], 'the quota is still used up');
is(aside(), 1, 'and the counter of the other seed is the one that waits');
is($daemon->stop, 0, 'it ends as usual');

done_testing();
