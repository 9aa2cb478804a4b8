/*
 * sliding: the sliding window counter, two cells as one.
 *
 * The one idea: spends of the previous window count for the part of it that the sliding window still covers.
 * With `left` of the current window to go, previous * left / window + current + cost must not exceed the capacity:
 * exact on one node, in integers, by rounding the previous part up. Spends go to the current cell alone.
 * Pure; both cells are refilled before; a missing previous one is full. Knows no keys and no clock.
 */
#ifndef HEADGATE_LIMIT_SLIDING_H
#define HEADGATE_LIMIT_SLIDING_H

#include "limit/bucket.h"

#include <stdbool.h>
#include <stdint.h>

struct sliding {
    const struct bucket *current, *previous; /* CELLs of `limit` */
    const struct limit *limit;
    const struct budget *budget;
    uint64_t window_ns;     /* > 0 */
    uint64_t window_end_ns; /* of the current window, on the caller's clock */
};

/* Both cells as one bucket of the limit at now_ns, to be read by bucket_allowance, _remaining and _available. */
struct bucket sliding_level(const struct sliding *sliding, uint64_t now_ns);

bool sliding_allows(const struct sliding *sliding, uint64_t cost, uint64_t floor_tokens, uint64_t now_ns);
uint64_t sliding_remaining(const struct sliding *sliding, uint64_t floor_tokens, uint64_t now_ns);
uint64_t sliding_available(const struct sliding *sliding, uint64_t floor_tokens, uint64_t now_ns);

/* As bucket_retry_after_ns; wait->window_end_ns is not read. */
uint64_t sliding_retry_after_ns(const struct sliding *sliding, const struct bucket_wait *wait);

/* How long until no spend counts any more, if no peer spends meanwhile. */
uint64_t sliding_reset_after_ns(const struct sliding *sliding, uint64_t now_ns);

#endif
