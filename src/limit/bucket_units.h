/*
 * bucket_units: the arithmetic that the files of bucket.h share; nobody else includes it.
 */
#ifndef HEADGATE_LIMIT_BUCKET_UNITS_H
#define HEADGATE_LIMIT_BUCKET_UNITS_H

#include "limit/bucket.h"

#define UNITS_MOST ((uint64_t)1 << 61) /* more than any bucket holds or owes */

/* Buckets live on whole ticks: then refilling in two steps equals refilling in one, and merging is associative. */
static inline uint64_t whole_ticks(const struct limit *limit, uint64_t now_ns)
{
    return limit->tick_ns == 1 ? now_ns : now_ns - now_ns % limit->tick_ns;
}

/* Tokens as units, at most UNITS_MOST. */
int64_t units_of_tokens(const struct limit *limit, uint64_t tokens);

/* BUCKET: refills `settled` and returns what it could not hold. */
int64_t bucket_refill_settled(struct bucket *bucket, const struct limit *limit, uint64_t now_ns);

/* What requests of lower priority leave alone; a floor above the capacity leaves nothing, as the capacity does. */
int64_t bucket_floor_units(const struct limit *limit, uint64_t floor_tokens);

#endif
