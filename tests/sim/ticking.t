#!/usr/bin/perl
# Time passes while a node works: the clock by which vouchers age goes on from one look to the next. The laws hold all
# the same, and no voucher is given back for it: about as much is given back as where the clock stands.
# HEADGATE_SIM_TICKING_SEEDS sets how many worlds of each mode.
use strict;
use warnings;
use Test::More;

my $seeds = $ENV{HEADGATE_SIM_TICKING_SEEDS} // 20;
for my $mode ('--grants', '--windows') {
    my %given_back;
    for my $clock ('', ' --ticking') {
        my $output = `nice -n 19 build/release/tests/sim $mode$clock --seeds $seeds --jobs 2 2>&1`;
        is($?, 0, "$mode$clock: $seeds worlds hold every law") or diag $output;
        ($given_back{$clock}) = $output =~ /(\d+) given back/;
    }
    cmp_ok($given_back{' --ticking'}, '<', 1.25 * $given_back{''}, "$mode: a clock that goes on gives nothing back");
}
done_testing();
