#!/usr/bin/perl
# Two builds that speak to each other: three regions go over to a later release and back, one daemon after the other,
# while they are asked for more than their limit. tests/e2e/peers/later-release.patch is that release: it says one
# field more in each batch, one more in each envelope, and messages of one more kind.
use strict;
use warnings;
use FindBin;
use lib $FindBin::Bin;
use Headgate;
use List::Util qw(sum0);
use Test::More;
use Upgrade;

my $later = "$Headgate::build/peers/later-release/headgated";
my $exact = "$Headgate::build/peers/exact-fields/headgated";
plan skip_all => "$later is not built" if !-x $later || !-x $exact;

my $upgrade = Upgrade::begin(undef);
my $cluster = $upgrade->{cluster};
$upgrade->check('before');
$upgrade->go_over($Upgrade::names[$_], $later, 'upgraded ' . ($_ + 1) . ' of 3') for 0 .. 1;
my $old = $cluster->daemon('ap-south');
ok(Headgate::wait_until(10, sub { Upgrade::stats($old)->{messages_unknown_kind} > 0 }),
   'the one of this release counts messages of a kind that it does not know');
ok(Headgate::wait_until(10, sub { $cluster->daemon('eu-west')->log =~ /a greeting of us-east/ }),
   'and those of the later one understand them');
unlike($old->log, qr/greeting|version/, 'it says nothing of that');
$upgrade->go_over('ap-south', $later, 'upgraded 3 of 3');
is(sum0(map { Upgrade::stats($_)->{messages_unknown_kind} } $cluster->daemons), 0, 'all know all kinds');
$upgrade->go_over($Upgrade::names[$_], undef, 'downgraded ' . ($_ + 1) . ' of 3') for 0 .. 2;
$upgrade->finish;

# ---- a planted bug: a daemon that wants batches of exactly the fields that it knows ----

my @slow = ({name => 'default', capacity => 100, rate => '1/m', default => 'true'}); # refill pays nothing off
my $planted = Headgate::cluster(regions => ['later', 'exact'], limits => \@slow);
$planted->daemon('later')->{program} = $later;
$planted->daemon('exact')->{program} = $exact;
$planted->start;
ok($planted->wait_met(20), 'a daemon that wants the exact number of fields meets a later release');
$planted->daemon('later')->client->pipeline((['CHECK', 'alice']) x 20);
ok(Headgate::wait_until(10, sub { Upgrade::dropped(Upgrade::stats($planted->daemon('exact'))) > 0 }),
   'it calls messages wrong: this test would find it');

done_testing();
