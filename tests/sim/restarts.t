#!/usr/bin/perl
# Nodes leave and come back while clients hold reservations, which go on in their next lives: the laws hold all the
# same.
# HEADGATE_SIM_RESTARTS_SEEDS sets how many worlds.
use strict;
use warnings;
use Test::More;

my $seeds = $ENV{HEADGATE_SIM_RESTARTS_SEEDS} // 30;
my $fewer = int($seeds / 4) + 1;
for my $world ([$seeds, ''], [$fewer, '--grants '], [$fewer, '--homes --leases ']) {
    my ($count, $modes) = @$world;
    my $output = `nice -n 19 build/release/tests/sim $modes--restarts --seeds $count --jobs 2 2>&1`;
    is($?, 0, "$modes--restarts: $count worlds hold every law") or diag $output;
}
# Once failed: a return that paid off unsettled tokens was credited after they had settled, and what came back in
# between found room that the truth had not; a reservation of before the clock began gave back tokens of a newer
# spend; one of three nodes with a config of its own decided while one of the two others was away; a law gave clients
# that came back for what they held, after all faults, no time of their own, and none to a start that asks for what
# nobody has; clients were given what a reservation had held of a window that was over; a law forgot windows when a
# clock went back; a law did not know that a start alone forgets what it granted of a log without a home.
for my $once ([249, ''], [181, '--grants '], [87, '--limits '], [141178, '--disks '], [174021, '--disks --tiers '],
    [200050, '--tiers --fast '], [200157, '--tiers --fast '], [400173, '--grants '])
{
    my ($seed, $modes) = @$once;
    my $output = `build/release/tests/sim $modes--restarts --seed $seed 2>&1`;
    is($?, 0, "and that of seed $seed of $modes--restarts") or diag $output;
}
done_testing();
