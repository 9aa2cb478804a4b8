#!/usr/bin/perl
# Peers grant each other rights while links are cut for long, weights change, or rights end by themselves: the laws hold
# all the same. HEADGATE_SIM_COMBINED_SEEDS sets how many worlds of each.
use strict;
use warnings;
use Test::More;

my $seeds = $ENV{HEADGATE_SIM_COMBINED_SEEDS} // 12;
for my $mode ('lonely', 'weights', 'takeover') {
    my $output = `nice -n 19 build/release/tests/sim --$mode --grants --seeds $seeds --jobs 2 2>&1`;
    is($?, 0, "--$mode --grants: $seeds worlds hold every law") or diag $output;
}
done_testing();
