/*
 * bucket_take: one decision about one bucket, for tests of buckets and tables.
 *
 * The one idea: the three calls in which the full kernel decides about a key and charges it.
 */
#ifndef HEADGATE_TESTS_LIB_BUCKET_TAKE_H
#define HEADGATE_TESTS_LIB_BUCKET_TAKE_H

#include "limit/bucket.h"

/* True: the rule allows `cost` tokens, and they are spent. */
static inline bool bucket_take(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                               uint64_t cost, uint64_t floor_tokens, uint64_t now_ns)
{
    bucket_refill(bucket, limit, budget, now_ns);
    return bucket_allows(bucket, limit, budget, cost, floor_tokens) &&
           bucket_spend(bucket, limit, budget, cost, now_ns);
}

#endif
