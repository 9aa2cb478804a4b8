/*
 * bucket_inline: what a decision does to a bucket, in line, for those who decide so often that calls would show.
 *
 * The one idea: functions of bucket.h whose names end in `_here` are those without it, bit for bit; bucket.c is made of
 * them. What only windows and logs need is called. Who is not on the path of every request uses bucket.h.
 */
#ifndef HEADGATE_LIMIT_BUCKET_INLINE_H
#define HEADGATE_LIMIT_BUCKET_INLINE_H

#include "limit/bucket_units.h"

/* Of what is no BUCKET: bucket_refill, and bucket_reset_after_ns. */
void bucket_refill_window(struct bucket *bucket, const struct limit *limit, uint64_t now_ns);
uint64_t bucket_reset_window_ns(const struct bucket *bucket, const struct limit *limit, uint64_t now_ns,
                                uint64_t window_end_ns);

/*
 * fraction <= SHARE_ONE: see budget_init. The upper half times the fraction leaves no remainder, that of the lower half
 * is cut off: so it rounds towards minus infinity, as >> of what is below zero does with the compilers that we use.
 */
static inline int64_t units_times_here(int64_t units, uint64_t fraction)
{
    return (units >> 32) * (int64_t)fraction + (int64_t)(((uint64_t)units & UINT32_MAX) * fraction >> 32);
}

static inline int64_t budget_allowance_here(const struct budget *budget, int64_t settled)
{
    if (budget->alone)
        return settled;
    int64_t part = units_times_here(settled, budget->spendable) + budget->slack_units;
    return part < settled ? part : settled;
}

static inline void bucket_refill_here(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                                      uint64_t now_ns)
{
    if (__builtin_expect(limit->kind != LIMIT_BUCKET, 0)) {
        bucket_refill_window(bucket, limit, now_ns);
        return;
    }
    int64_t spill = bucket_refill_settled(bucket, limit, now_ns);
    if (spill > 0 && bucket->unsettled > 0) {
        int64_t paid = units_times_here(spill, budget->share);
        bucket->unsettled = paid >= bucket->unsettled ? 0 : bucket->unsettled - paid;
    }
}

/* What is settled, as it counts where that floor is left alone. */
static inline int64_t bucket_settled_above(const struct bucket *bucket, const struct limit *limit,
                                           uint64_t floor_tokens)
{
    return __builtin_expect(floor_tokens > 0, 0) ? bucket->settled - bucket_floor_units(limit, floor_tokens)
                                                 : bucket->settled;
}

/* Where that is the allowance. */
static inline bool bucket_allows_of(const struct bucket *bucket, const struct limit *limit, uint64_t cost,
                                    int64_t allowance)
{
    return cost <= limit->capacity && /* so that its product fits 64 bits */
           bucket->unsettled + (int64_t)cost * limit->units_per_token <= allowance;
}

static inline bool bucket_allows_here(const struct bucket *bucket, const struct limit *limit,
                                      const struct budget *budget, uint64_t cost, uint64_t floor_tokens)
{
    int64_t allowance = budget_allowance_here(budget, bucket_settled_above(bucket, limit, floor_tokens));
    return bucket_allows_of(bucket, limit, cost, allowance);
}

/* For whoever knows the allowance, of all that is settled. */
static inline bool bucket_allows_knowing(const struct bucket *bucket, const struct limit *limit,
                                         const struct budget *budget, uint64_t cost, uint64_t floor_tokens,
                                         int64_t allowance)
{
    return __builtin_expect(floor_tokens > 0, 0) ? bucket_allows_here(bucket, limit, budget, cost, floor_tokens)
                                                 : bucket_allows_of(bucket, limit, cost, allowance);
}

/* `cost` is at most the capacity. */
static inline bool bucket_spend_here(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                                     uint64_t cost, uint64_t now_ns)
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

/*
 * `allowance`: what it was when that was decided, of all that is settled. Always in line: whoever decides over many
 * keeps what they have in common in registers.
 */
__attribute__((always_inline)) static inline bool bucket_take_here(struct bucket *bucket, const struct limit *limit,
                                                                   const struct budget *budget, uint64_t cost,
                                                                   uint64_t floor_tokens, uint64_t now_ns,
                                                                   int64_t *allowance)
{
    bucket_refill_here(bucket, limit, budget, now_ns);
    *allowance = budget_allowance_here(budget, bucket->settled);
    return bucket_allows_knowing(bucket, limit, budget, cost, floor_tokens, *allowance) &&
           bucket_spend_here(bucket, limit, budget, cost, now_ns);
}

/* Where that is the allowance. */
static inline uint64_t bucket_remaining_of(const struct bucket *bucket, const struct limit *limit,
                                           int64_t allowance)
{
    if (allowance <= bucket->unsettled)
        return 0;
    return limit_quotient((uint64_t)(allowance - bucket->unsettled), (uint64_t)limit->units_per_token,
                          limit->token_reciprocal);
}

static inline uint64_t bucket_remaining_here(const struct bucket *bucket, const struct limit *limit,
                                             const struct budget *budget, uint64_t floor_tokens)
{
    int64_t allowance = budget_allowance_here(budget, bucket_settled_above(bucket, limit, floor_tokens));
    return bucket_remaining_of(bucket, limit, allowance);
}

static inline uint64_t bucket_reset_after_ns_here(const struct bucket *bucket, const struct limit *limit,
                                                  uint64_t now_ns, uint64_t window_end_ns)
{
    return limit->kind == LIMIT_BUCKET
               ? limit_refill_ns(limit, limit->capacity_units - (bucket->settled - bucket->unsettled))
               : bucket_reset_window_ns(bucket, limit, now_ns, window_end_ns);
}

#endif
