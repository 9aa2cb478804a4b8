/*
 * bucket_units: the arithmetic that the files of bucket.h share. The limiter, whose buckets are plain, needs no more.
 */
#ifndef HEADGATE_LIMIT_BUCKET_UNITS_H
#define HEADGATE_LIMIT_BUCKET_UNITS_H

#include "limit/bucket.h"

#define UNITS_MOST ((uint64_t)1 << 61) /* more than any bucket holds or owes */

/* Buckets live on whole ticks: then refilling in two steps equals refilling in one, and merging is associative. */
static inline uint64_t whole_ticks(const struct limit *limit, uint64_t now_ns)
{
    return __builtin_expect(limit->tick_ns == 1, 1) ? now_ns : now_ns - now_ns % limit->tick_ns;
}

/* Tokens as units, at most UNITS_MOST. */
int64_t units_of_tokens(const struct limit *limit, uint64_t tokens);

/* The same, at most the capacity. */
static inline int64_t units_of_full_at_most(const struct limit *limit, uint64_t tokens)
{
    return (int64_t)(tokens < limit->capacity ? tokens : limit->capacity) * limit->units_per_token;
}

/* BUCKET: refills `settled` and returns the spill. */
static inline int64_t bucket_refill_settled(struct bucket *bucket, const struct limit *limit, uint64_t now_ns)
{
    now_ns = whole_ticks(limit, now_ns);
    if (now_ns <= bucket->last_refill_ns)
        return 0;
    uint64_t ticks = now_ns - bucket->last_refill_ns;
    if (__builtin_expect(limit->tick_ns != 1, 0))
        ticks /= limit->tick_ns;
    bucket->last_refill_ns = now_ns;
    uint64_t gain;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &gain) || gain > (uint64_t)INT64_MAX)
        gain = (uint64_t)INT64_MAX;
    uint64_t room = (uint64_t)limit->capacity_units - (uint64_t)bucket->settled; /* settled may be negative */
    if (gain <= room) {
        bucket->settled += (int64_t)gain;
        return 0;
    }
    bucket->settled = limit->capacity_units;
    return (int64_t)(gain - room);
}

/* The floor in units, at most the capacity. */
int64_t bucket_floor_units(const struct limit *limit, uint64_t floor_tokens);

#endif
