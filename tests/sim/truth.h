/*
 * truth: what really happened to one key. No node of the cluster sees it.
 *
 * The one idea: two imaginary buckets hear of every spend at the moment when it is made, and may go
 * below zero. The high bucket is refilled by the fastest clock of the cluster, and gets back the
 * spends that a crash may have taken with it: if it is below zero by more than E, a law is broken.
 * The low bucket is refilled by the slowest clock: if a peer sees less than the low bucket, beyond
 * the peer's lateness, the peer sees a spend that nobody made. The truth has its own arithmetic, so
 * that a mistake in the buckets under test cannot hide in it.
 */
#ifndef HEADGATE_TESTS_SIM_TRUTH_H
#define HEADGATE_TESTS_SIM_TRUTH_H

#include "limit/limit.h"

#include <stdint.h>

struct truth {
    int64_t high, low; /* in units */
    uint64_t high_tick, low_tick;
    int64_t worst;    /* the lowest that `high` ever was */
    int64_t doubtful; /* units of vouchers that may outlive what the high bucket loses by leaps of the fast clock */
    int64_t leapt; /* units that leaps of the fast clock have gained, and that no voucher was there to lose yet */
    /* as doubtful, where the limit has a home: of views at nodes without a share of it, which bound nothing */
    int64_t elsewhere;
    uint64_t admitted_tokens, admitted_requests;
};

void truth_init(struct truth *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns);
/* What a bucket gains in that time, rounded up; three times the capacity at most. */
int64_t truth_refilled_units(const struct limit *limit, uint64_t ns);
void truth_refill(struct truth *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns);
/* Spends `tokens`. The truth must have been refilled to the present time. */
void truth_spend(struct truth *truth, const struct limit *limit, uint64_t tokens);
/* Units as tokens, for texts. */
double truth_tokens(const struct limit *limit, int64_t units);
/*
 * The units that rounding explains: the truth and each node read clocks in whole ticks, so that
 * each may be a tick off.
 */
int64_t truth_rounding_units(const struct limit *limit);
/* Gives units back to the high bucket; what exceeds the capacity vanishes. */
void truth_refund(struct truth *truth, const struct limit *limit, int64_t units);

#endif
