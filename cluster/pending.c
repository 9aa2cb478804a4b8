/* Until src/limit has them: buckets only. Weak, so that the real ones win. */
#include "limit/events.h"
#include "limit/sliding.h"

#include <stddef.h>

#define PENDING __attribute__((weak))

PENDING void bucket_unspend(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                            uint64_t cost)
{
    if (budget->alone)
        bucket->settled += (int64_t)cost * limit->units_per_token;
    else
        bucket->unsettled -= (int64_t)cost * limit->units_per_token;
}

PENDING uint64_t bucket_return(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                               uint64_t tokens, uint64_t now_ns, uint64_t *credit)
{
    bucket_refill(bucket, limit, budget, now_ns);
    uint64_t taken =
        (uint64_t)(limit->capacity_units - bucket->settled + bucket->unsettled) / (uint64_t)limit->units_per_token;
    tokens = tokens < taken ? tokens : taken;
    int64_t units = (int64_t)tokens * limit->units_per_token;
    int64_t paid = units < bucket->unsettled ? units : bucket->unsettled;
    paid -= paid % limit->units_per_token;
    bucket->unsettled -= paid;
    bucket->settled += units - paid;
    if (bucket->settled > limit->capacity_units)
        bucket->settled = limit->capacity_units;
    *credit = (uint64_t)(paid / limit->units_per_token);
    return tokens;
}

PENDING void bucket_apply(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                          uint64_t tokens, uint64_t returned, uint64_t at_ns)
{
    int64_t units;
    if (tokens >= returned) {
        bucket_charge(bucket, limit, budget, tokens - returned, at_ns);
        return;
    }
    bucket_refill(bucket, limit, budget, at_ns);
    if (__builtin_mul_overflow(returned - tokens, limit->units_per_token, &units) ||
        units > limit->capacity_units - bucket->settled)
        bucket->settled = limit->capacity_units;
    else
        bucket->settled += units;
}

PENDING int64_t bucket_level_of(const struct limit *limit, uint64_t number)
{
    uint64_t ticks = number / limit->tick_ns + (number % limit->tick_ns != 0), units;
    const uint64_t most = (uint64_t)1 << 61;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &units) || units > most)
        units = most;
    return limit->capacity_units - (int64_t)units;
}

PENDING void bucket_lower_level(struct bucket *bucket, const struct limit *limit, int64_t level, uint64_t now_ns)
{
    (void)now_ns;
    level = level < -limit->overshoot_units ? -limit->overshoot_units : level;
    bucket->settled = level < bucket->settled ? level : bucket->settled;
}

PENDING void bucket_lower_to(struct bucket *bucket, const struct limit *limit, uint64_t number, uint64_t now_ns)
{
    bucket_lower_level(bucket, limit, bucket_level_of(limit, number), now_ns);
}

PENDING void bucket_convert(struct bucket *bucket, const struct limit *from, const struct limit *to,
                            enum bucket_inherit how, uint64_t now_ns, uint64_t expires_ns)
{
    int64_t used = (from->capacity_units - bucket->settled) / from->units_per_token;
    int64_t unsettled = bucket->unsettled / from->units_per_token * to->units_per_token;
    (void)how;
    bucket_fill(bucket, to, now_ns, expires_ns);
    bucket->unsettled = unsettled;
    bucket_lower_level(bucket, to, to->capacity_units - used * to->units_per_token, now_ns);
}

PENDING struct bucket sliding_level(const struct sliding *sliding, uint64_t now_ns)
{
    (void)now_ns;
    return *sliding->current;
}

PENDING bool sliding_allows(const struct sliding *sliding, uint64_t cost, uint64_t floor_tokens, uint64_t now_ns)
{
    (void)now_ns;
    return bucket_allows(sliding->current, sliding->limit, sliding->budget, cost, floor_tokens);
}

PENDING uint64_t sliding_remaining(const struct sliding *sliding, uint64_t floor_tokens, uint64_t now_ns)
{
    (void)now_ns;
    return bucket_remaining(sliding->current, sliding->limit, sliding->budget, floor_tokens);
}

PENDING uint64_t sliding_retry_after_ns(const struct sliding *sliding, const struct bucket_wait *wait)
{
    return bucket_retry_after_ns(sliding->current, sliding->limit, sliding->budget, wait);
}

PENDING uint64_t sliding_reset_after_ns(const struct sliding *sliding, uint64_t now_ns)
{
    return bucket_reset_after_ns(sliding->current, sliding->limit, now_ns, sliding->window_end_ns);
}

PENDING struct events *events_create(uint32_t room)
{
    (void)room;
    return NULL;
}

PENDING void events_destroy(struct events **events)
{
    *events = NULL;
}
