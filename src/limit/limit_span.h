/*
 * limit_span: the limits that a key of one rule may have in turn, as its requests change their tier.
 *
 * The one idea: a key may have used, under one of them, what any of them allows. If its debt stopped at its own limit's
 * overshoot, a peer that hears of what was spent under a wider tier would forget some of it, and requests of that tier
 * would spend it again. So each limit of the rule knows the extremes of all, and a debt, a key that was evicted and a
 * key that comes again under another tier are held to these. Together, requests of all tiers get what the widest
 * capacity, overshoot and rate would give. It decides nothing: a request is decided under the limit of its own tier.
 */
#ifndef HEADGATE_LIMIT_LIMIT_SPAN_H
#define HEADGATE_LIMIT_LIMIT_SPAN_H

#include "limit/limit.h"

/* Begins as all zero. */
struct limit_span {
    uint64_t widest, narrowest; /* the largest and the smallest capacity, in tokens */
    uint64_t all;               /* the largest sum of capacity and overshoot, in tokens */
    uint64_t slowest_ns;        /* the longest refill of a token, rounded up; of windows and logs 0 */
    uint64_t fastest_ns;        /* the shortest one, rounded down */
};

void limit_span_add(struct limit_span *span, const struct limit_terms *terms);

/*
 * Notes in a limit of the rule what the span has. A limit that several rules have keeps the extremes of all spans, for
 * as long as it is in its set.
 */
void limit_span_note(const struct limit_span *span, struct limit *limit);

#endif
