#include "limit/bucket.h"

#include <assert.h>

__extension__ typedef unsigned __int128 wide;

int64_t units_times(int64_t units, uint64_t fraction)
{
    assert(fraction <= SHARE_ONE);
    if (units >= 0)
        return (int64_t)(((wide)(uint64_t)units * fraction) >> 32);
    wide product = (wide)(0 - (uint64_t)units) * fraction;
    return -(int64_t)((product + (SHARE_ONE - 1)) >> 32);
}

void budget_init(struct budget *budget, const struct limit *limit, uint64_t share, bool alone)
{
    assert(share <= SHARE_ONE);
    budget->share = share;
    bool split = limit->flags & LIMIT_SPLIT;
    budget->spendable = split ? share : share - (share + 3) / 4;
    budget->slack_units = split ? 0 : units_times(limit->overshoot_units, share);
    budget->alone = alone;
}

/* Buckets live on whole ticks: then refilling in two steps equals refilling in one, and merging is associative. */
static uint64_t whole_ticks(const struct limit *limit, uint64_t now_ns)
{
    return limit->tick_ns == 1 ? now_ns : now_ns - now_ns % limit->tick_ns;
}

void bucket_fill(struct bucket *bucket, const struct limit *limit, uint64_t now_ns, uint64_t expires_ns)
{
    assert(limit->kind == LIMIT_BUCKET);
    (void)expires_ns;
    bucket->settled = limit->capacity_units;
    bucket->unsettled = 0;
    bucket->last_refill_ns = whole_ticks(limit, now_ns);
}

/* Refills `settled` and returns what it could not hold. */
static int64_t refill_settled(struct bucket *bucket, const struct limit *limit, uint64_t now_ns)
{
    now_ns = whole_ticks(limit, now_ns);
    if (now_ns <= bucket->last_refill_ns)
        return 0;
    uint64_t ticks = now_ns - bucket->last_refill_ns;
    if (limit->tick_ns != 1)
        ticks /= limit->tick_ns;
    bucket->last_refill_ns = now_ns;
    uint64_t refill;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &refill) || refill > (uint64_t)INT64_MAX)
        refill = (uint64_t)INT64_MAX;
    uint64_t room = (uint64_t)limit->capacity_units - (uint64_t)bucket->settled; /* settled may be negative */
    if (refill <= room) {
        bucket->settled += (int64_t)refill;
        return 0;
    }
    bucket->settled = limit->capacity_units;
    return (int64_t)(refill - room);
}

void bucket_refill(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t now_ns)
{
    int64_t spill = refill_settled(bucket, limit, now_ns);
    if (spill > 0 && bucket->unsettled > 0) {
        int64_t paid = units_times(spill, budget->share);
        bucket->unsettled = paid >= bucket->unsettled ? 0 : bucket->unsettled - paid;
    }
}

int64_t budget_allowance(const struct budget *budget, int64_t settled)
{
    if (budget->alone)
        return settled;
    int64_t part = units_times(settled, budget->spendable) + budget->slack_units;
    return part < settled ? part : settled;
}

int64_t bucket_allowance(const struct bucket *bucket, const struct budget *budget)
{
    return budget_allowance(budget, bucket->settled);
}

/* A floor above the capacity leaves nothing, as the capacity does. */
static int64_t floor_units(const struct limit *limit, uint64_t floor_tokens)
{
    return floor_tokens >= limit->capacity ? limit->capacity_units : (int64_t)floor_tokens * limit->units_per_token;
}

int64_t bucket_allowance_above(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                               uint64_t floor_tokens)
{
    return budget_allowance(budget, bucket->settled - floor_units(limit, floor_tokens));
}

uint64_t bucket_remaining(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                          uint64_t floor_tokens)
{
    int64_t free_units = bucket_allowance_above(bucket, limit, budget, floor_tokens) - bucket->unsettled;
    return free_units <= 0 ? 0 : (uint64_t)(free_units / limit->units_per_token);
}

bool bucket_allows(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                   uint64_t cost, uint64_t floor_tokens)
{
    if (cost > limit->capacity) /* so that its product fits 64 bits */
        return false;
    int64_t needed = bucket->unsettled + (int64_t)cost * limit->units_per_token;
    return needed <= (floor_tokens == 0 ? bucket_allowance(bucket, budget)
                                        : bucket_allowance_above(bucket, limit, budget, floor_tokens));
}

bool bucket_spend(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t cost,
                  uint64_t now_ns)
{
    int64_t units = (int64_t)cost * limit->units_per_token;
    (void)now_ns;
    if (budget->alone)
        bucket->settled -= units;
    else
        bucket->unsettled += units;
    return true;
}

bool bucket_take(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t cost,
                 uint64_t floor_tokens, uint64_t now_ns)
{
    bucket_refill(bucket, limit, budget, now_ns);
    return bucket_allows(bucket, limit, budget, cost, floor_tokens) &&
           bucket_spend(bucket, limit, budget, cost, now_ns);
}

/*
 * The law keeps the ground truth at or above -E. A view is never higher than the truth plus what it has not heard
 * of; so is one that stops at -E. Without the stop, spends of a long partition, told late and all at once,
 * would leave a debt that nobody has, and starve the key until it is "repaid".
 */
static void lower(struct bucket *bucket, const struct limit *limit, uint64_t tokens)
{
    int64_t units;
    if (__builtin_mul_overflow(tokens, limit->units_per_token, &units) ||
        __builtin_sub_overflow(bucket->settled, units, &bucket->settled) ||
        bucket->settled < -limit->overshoot_units)
        bucket->settled = -limit->overshoot_units;
}

/* A spend made at a moment that this bucket has not been refilled to yet is charged at that moment: what the
 * bucket could not hold before it must not be lost twice. */
void bucket_charge(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t tokens,
                   uint64_t at_ns)
{
    bucket_refill(bucket, limit, budget, at_ns);
    lower(bucket, limit, tokens);
}

void bucket_settle(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                   const struct settlement *settlement)
{
    int64_t later;
    bucket_charge(bucket, limit, budget, settlement->tokens, settlement->at_ns);
    if (!__builtin_mul_overflow(settlement->later, limit->units_per_token, &later) && later < bucket->unsettled)
        bucket->unsettled = later;
}

bool bucket_is_full(const struct bucket *bucket, const struct limit *limit)
{
    return bucket->settled == limit->capacity_units && bucket->unsettled == 0;
}

/*
 * The spill up to the later moment pays nothing off: what one side took for spill the other may know to be
 * spent, and the order of three merges would matter. Whoever wants it paid refills before merging.
 */
void bucket_merge(struct bucket *bucket, const struct bucket *other, const struct limit *limit,
                  const struct budget *budget)
{
    (void)budget;
    struct bucket peer = *other;
    (void)refill_settled(bucket, limit, peer.last_refill_ns);
    (void)refill_settled(&peer, limit, bucket->last_refill_ns);
    assert(peer.last_refill_ns == bucket->last_refill_ns);
    if (peer.settled < bucket->settled)
        bucket->settled = peer.settled;
    if (peer.unsettled > bucket->unsettled)
        bucket->unsettled = peer.unsettled;
}

uint64_t bucket_number(const struct bucket *bucket, const struct limit *limit)
{
    return limit_refill_ns(limit, limit->capacity_units - (bucket->settled - bucket->unsettled));
}

/* The least settled units at which `needed` unsettled units are allowed; above capacity: not even when full. */
static int64_t settled_for(int64_t needed, const struct budget *budget)
{
    if (budget->alone)
        return needed;
    int64_t beyond_slack = needed - budget->slack_units;
    if (beyond_slack <= 0)
        return needed;
    if (budget->spendable == 0)
        return INT64_MAX;
    wide settled = (((wide)(uint64_t)beyond_slack << 32) + budget->spendable - 1) / budget->spendable;
    int64_t part = settled > (wide)INT64_MAX ? INT64_MAX : (int64_t)settled;
    return part > needed ? part : needed;
}

/* Nobody acknowledges: settled refills up to capacity, then the spill pays off unsettled at this peer's share. */
static uint64_t wait_for_refill(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                                int64_t needed, int64_t floor)
{
    int64_t settled = settled_for(needed, budget);
    if (settled <= limit->capacity_units - floor)
        return limit_refill_ns(limit, settled + floor - bucket->settled);
    int64_t paid_off = needed - budget_allowance(budget, limit->capacity_units - floor);
    if (paid_off > bucket->unsettled || budget->share == 0)
        return UINT64_MAX;
    wide spill = (((wide)(uint64_t)paid_off << 32) + budget->share - 1) / budget->share;
    wide refill = spill + ((uint64_t)limit->capacity_units - (uint64_t)bucket->settled);
    return refill > (wide)INT64_MAX ? UINT64_MAX : limit_refill_ns(limit, (int64_t)refill);
}

/* Everything unsettled becomes settled after settle_ns; until then the refill may spill, then it may not. */
static uint64_t wait_for_settling(const struct bucket *bucket, const struct limit *limit,
                                  const struct budget *budget, int64_t cost, int64_t floor, uint64_t settle_ns)
{
    int64_t needed = settled_for(cost, budget);
    if (needed > limit->capacity_units - floor)
        return UINT64_MAX;
    struct bucket then = {.settled = bucket->settled};
    (void)refill_settled(&then, limit, settle_ns);
    uint64_t refill_ns = limit_refill_ns(limit, needed + floor - (then.settled - bucket->unsettled));
    return refill_ns > UINT64_MAX - settle_ns ? UINT64_MAX : settle_ns + refill_ns;
}

uint64_t bucket_retry_after_ns(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                               const struct bucket_wait *wait)
{
    if (wait->cost > limit->capacity)
        return UINT64_MAX;
    if (bucket_allows(bucket, limit, budget, wait->cost, wait->floor_tokens))
        return 0;
    int64_t units = (int64_t)wait->cost * limit->units_per_token;
    int64_t floor = floor_units(limit, wait->floor_tokens);
    uint64_t refilled_ns = wait_for_refill(bucket, limit, budget, bucket->unsettled + units, floor);
    if (budget->alone || refilled_ns <= wait->settle_ns)
        return refilled_ns;
    return wait_for_settling(bucket, limit, budget, units, floor, wait->settle_ns);
}

uint64_t bucket_reset_after_ns(const struct bucket *bucket, const struct limit *limit, uint64_t now_ns,
                               uint64_t window_end_ns)
{
    (void)now_ns, (void)window_end_ns;
    return limit_refill_ns(limit, limit->capacity_units - (bucket->settled - bucket->unsettled));
}
