/*
 * truth: what really happened to one key, seen by nobody in the cluster.
 *
 * The one idea: two imaginary buckets that hear of every spend at the moment it is made and may go below
 * zero. The high one is refilled by the fastest clock of the cluster and is given back what a crash took
 * with it: below zero by more than E, a law is broken. The low one is refilled by the slowest: what a peer
 * sees below it, beyond its lateness, is a spend that nobody made. Its arithmetic is its own, so that a
 * mistake in the buckets under test cannot hide in it.
 */
#ifndef HEADGATE_TESTS_SIM_TRUTH_H
#define HEADGATE_TESTS_SIM_TRUTH_H

#include "limit/limit.h"

#include <stdint.h>

struct truth {
    int64_t high, low; /* units */
    uint64_t high_tick, low_tick;
    int64_t worst; /* the lowest that `high` ever was */
    uint64_t admitted_tokens, admitted_requests;
};

void truth_init(struct truth *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns);
void truth_refill(struct truth *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns);
/* Spends, after a refill. */
void truth_spend(struct truth *truth, const struct limit *limit, uint64_t tokens);
/* For texts. */
double truth_tokens(const struct limit *limit, int64_t units);
/* Clocks are read in whole ticks, by the truth as by each node: a tick on either side explains no more than this. */
int64_t truth_rounding_units(const struct limit *limit);
/* Gives units back to the high bucket; what exceeds the capacity vanishes. */
void truth_refund(struct truth *truth, const struct limit *limit, int64_t units);

#endif
