/*
 * bucket_inline: the functions of bucket.h that every decision calls, in line, so that no call is left on the fast
 * path.
 *
 * The one idea: a function whose name ends in `_inline` does what the function of bucket.h without `_inline` does,
 * bit for bit; bucket.c is made of them. Work that only windows and logs need is not in line. Code that is not on the
 * path of every request must use bucket.h.
 */
#ifndef HEADGATE_LIMIT_BUCKET_INLINE_H
#define HEADGATE_LIMIT_BUCKET_INLINE_H

#include "limit/bucket_units.h"

/* bucket_refill and bucket_reset_after_ns for CELLs and LOGs. */
void bucket_refill_window(struct bucket *bucket, const struct limit *limit, uint64_t now_ns);
uint64_t bucket_reset_window_ns(const struct bucket *bucket, const struct limit *limit, uint64_t now_ns,
                                uint64_t window_end_ns);

/*
 * fraction <= SHARE_ONE: see budget_init. The product of the upper half is exact; the remainder of the lower half
 * is cut off. So the result is rounded towards minus infinity, as our compilers' >> of a negative number is.
 */
static inline int64_t units_times_inline(int64_t units, uint64_t fraction)
{
    return (units >> 32) * (int64_t)fraction + (int64_t)(((uint64_t)units & UINT32_MAX) * fraction >> 32);
}

static inline int64_t budget_allowance_inline(const struct budget *budget, int64_t settled)
{
    if (budget->alone)
        return settled;
    /* Wraps only for debts beyond any overshoot, and those allow nothing. */
    int64_t low = 2 * settled, high = (int64_t)(5 * (uint64_t)settled - (uint64_t)budget->reserve_units);
    int64_t part = units_times_inline(low > high ? low : high, budget->spendable) + budget->slack_units;
    return part < settled ? part : settled;
}

static inline void bucket_refill_inline(struct bucket *bucket, const struct limit *limit,
                                        const struct budget *budget, uint64_t now_ns)
{
    if (__builtin_expect(limit->kind != LIMIT_BUCKET, 0)) {
        bucket_refill_window(bucket, limit, now_ns);
        return;
    }
    int64_t spill = bucket_refill_settled(bucket, limit, now_ns);
    if (spill > 0 && bucket->unsettled > 0) {
        int64_t paid = units_times_inline(spill, budget->share);
        bucket->unsettled = paid >= bucket->unsettled ? 0 : bucket->unsettled - paid;
    }
}

/* `settled` less the floor. */
static inline int64_t bucket_settled_above(const struct bucket *bucket, const struct limit *limit,
                                           uint64_t floor_tokens)
{
    return __builtin_expect(floor_tokens > 0, 0) ? bucket->settled - bucket_floor_units(limit, floor_tokens)
                                                 : bucket->settled;
}

/* bucket_allows for a caller that knows the allowance, with the floor taken off. */
static inline bool bucket_allows_of(const struct bucket *bucket, const struct limit *limit, uint64_t cost,
                                    int64_t allowance)
{
    return cost <= limit->capacity && /* so that its product fits 64 bits */
           bucket->unsettled + (int64_t)cost * limit->units_per_token <= allowance;
}

static inline bool bucket_allows_inline(const struct bucket *bucket, const struct limit *limit,
                                        const struct budget *budget, uint64_t cost, uint64_t floor_tokens)
{
    int64_t allowance = budget_allowance_inline(budget, bucket_settled_above(bucket, limit, floor_tokens));
    return bucket_allows_of(bucket, limit, cost, allowance);
}

/* bucket_allows for a caller that knows the allowance without the floor. */
static inline bool bucket_allows_knowing(const struct bucket *bucket, const struct limit *limit,
                                         const struct budget *budget, uint64_t cost, uint64_t floor_tokens,
                                         int64_t allowance)
{
    return __builtin_expect(floor_tokens > 0, 0) ? bucket_allows_inline(bucket, limit, budget, cost, floor_tokens)
                                                 : bucket_allows_of(bucket, limit, cost, allowance);
}

/* `cost` is at most the capacity. */
static inline bool bucket_spend_inline(struct bucket *bucket, const struct limit *limit,
                                       const struct budget *budget, uint64_t cost, uint64_t now_ns)
{
    int64_t units = (int64_t)cost * limit->units_per_token;
    if (__builtin_expect(limit->kind == LIMIT_LOG, 0) &&
        !events_append(limit->events, &bucket->events, (uint32_t)cost, now_ns))
        return false;
    if (budget->alone)
        bucket->settled -= units;
    else
        bucket->unsettled += units;
    return true;
}

/* Whole tokens in `units`; none in a debt. */
static inline uint64_t limit_whole_tokens(const struct limit *limit, int64_t units)
{
    return units > 0 ? limit_quotient((uint64_t)units, (uint64_t)limit->units_per_token, limit->token_reciprocal)
                     : 0;
}

static inline uint64_t bucket_remaining_inline(const struct bucket *bucket, const struct limit *limit,
                                               uint64_t floor_tokens)
{
    return limit_whole_tokens(limit, bucket_settled_above(bucket, limit, floor_tokens) - bucket->unsettled);
}

/* bucket_available for a caller that knows the allowance, with the floor taken off. */
static inline uint64_t bucket_available_of(const struct bucket *bucket, const struct limit *limit,
                                           int64_t allowance)
{
    return limit_whole_tokens(limit, allowance - bucket->unsettled);
}

static inline uint64_t bucket_available_inline(const struct bucket *bucket, const struct limit *limit,
                                               const struct budget *budget, uint64_t floor_tokens)
{
    int64_t allowance = budget_allowance_inline(budget, bucket_settled_above(bucket, limit, floor_tokens));
    return bucket_available_of(bucket, limit, allowance);
}

static inline uint64_t bucket_reset_after_ns_inline(const struct bucket *bucket, const struct limit *limit,
                                                    uint64_t now_ns, uint64_t window_end_ns)
{
    return limit->kind == LIMIT_BUCKET
               ? limit_refill_ns(limit, limit->capacity_units - (bucket->settled - bucket->unsettled))
               : bucket_reset_window_ns(bucket, limit, now_ns, window_end_ns);
}

#endif
