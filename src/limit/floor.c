#include "limit/floor.h"

#include "base/number.h"

#define FLOOR_UNSETTLED_MAX (((uint64_t)1 << 48) - 1)

/* ns of refill at the whole rate, as units of `limit`, rounded up; at most 2^61. */
static int64_t units_of(const struct limit *limit, uint64_t ns)
{
    const uint64_t most = (uint64_t)1 << 61;
    uint64_t ticks = ns / limit->tick_ns + (ns % limit->tick_ns != 0), units;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &units) || units > most)
        units = most;
    return (int64_t)units;
}

void floor_apply(const struct floor *floor, const struct limit_set *limits, const struct budget *budgets,
                 uint16_t index, struct bucket *bucket)
{
    const struct limit *limit = &limits->limit[index];
    if (floor->full_at_ns == 0 || (floor->limit != index && floor->limit != FLOOR_MIXED))
        return;
    bucket->unsettled = units_of(limit, (uint64_t)floor->unsettled << FLOOR_SHIFT);
    if (floor->full_at_ns >= bucket->last_refill_ns) {
        bucket->settled -= units_of(limit, floor->full_at_ns - bucket->last_refill_ns);
        if (bucket->settled < -limit->debt_units) /* as no key is, whatever others say that it owes */
            bucket->settled = -limit->debt_units;
        return;
    }
    uint64_t spill_ticks = (bucket->last_refill_ns - floor->full_at_ns) / limit->tick_ns, spill;
    if (__builtin_mul_overflow(spill_ticks, (uint64_t)limit->units_per_tick, &spill) || spill > INT64_MAX)
        spill = INT64_MAX;
    int64_t paid = units_times((int64_t)spill, budgets[index].share);
    bucket->unsettled = paid >= bucket->unsettled ? 0 : bucket->unsettled - paid;
}

uint64_t floor_owed_ns(const struct floor *floor, uint64_t now_ns)
{
    uint64_t full_in_ns = floor->full_at_ns > now_ns ? floor->full_at_ns - now_ns : 0;
    return number_sum(full_in_ns, (uint64_t)floor->unsettled << FLOOR_SHIFT);
}

void floor_lower(struct floor *floor, uint64_t owed_ns, uint64_t now_ns)
{
    uint64_t full_at_ns = number_sum(now_ns, owed_ns);
    if (full_at_ns > floor->full_at_ns)
        floor->full_at_ns = full_at_ns;
    floor->limit = FLOOR_MIXED;
}

bool floor_age(struct floor *floor, const struct limit_set *limits, const struct budget *budgets,
               uint64_t share_min, uint64_t now_ns)
{
    uint64_t share = share_min, tick_ns = limits->tick_max_ns;
    if (floor->full_at_ns >= now_ns)
        return false;
    if (limit_set_has(limits, floor->limit)) {
        share = budgets[floor->limit].share;
        tick_ns = limits->limit[floor->limit].tick_ns;
    }
    uint64_t spill_ns = now_ns - floor->full_at_ns;
    spill_ns = spill_ns > tick_ns ? spill_ns - tick_ns : 0; /* the last tick may be unfinished */
    if (spill_ns > INT64_MAX)
        spill_ns = INT64_MAX;
    uint64_t paid = (uint64_t)units_times((int64_t)spill_ns, share) >> FLOOR_SHIFT;
    if (paid >= floor->unsettled)
        return true;
    if (paid > 0) {
        floor->unsettled = (floor->unsettled - paid) & FLOOR_UNSETTLED_MAX;
        floor->full_at_ns = now_ns;
    }
    return false;
}

/* As long as those units take to refill. A key of a rule with tiers may come again under the slowest of these. */
static uint64_t owed_ns(const struct limit *limit, int64_t units)
{
    const uint64_t ns = limit_refill_ns(limit, units);
    uint64_t slowest_ns;
    if (limit->slowest_ns == 0 || units <= 0)
        return ns;
    const uint64_t tokens = ((uint64_t)units - 1) / (uint64_t)limit->units_per_token + 1;
    if (__builtin_mul_overflow(tokens, limit->slowest_ns, &slowest_ns))
        return UINT64_MAX;
    return number_most(ns, slowest_ns);
}

void floor_deepen(struct floor *floor, const struct limit_set *limits, uint16_t index, const struct bucket *bucket)
{
    const struct limit *limit = &limits->limit[index];
    uint64_t full_at_ns =
        number_sum(bucket->last_refill_ns, owed_ns(limit, limit->capacity_units - bucket->settled));
    uint64_t unsettled_ns = owed_ns(limit, bucket->unsettled);
    uint64_t unsettled = (unsettled_ns >> FLOOR_SHIFT) + (unsettled_ns % (1u << FLOOR_SHIFT) != 0);
    if (unsettled > FLOOR_UNSETTLED_MAX)
        unsettled = FLOOR_UNSETTLED_MAX;
    bool fresh = floor->full_at_ns == 0;
    floor->limit = limit->of_tiers || (!fresh && floor->limit != index) ? FLOOR_MIXED : index;
    if (full_at_ns > floor->full_at_ns)
        floor->full_at_ns = full_at_ns > 0 ? full_at_ns : 1;
    if (unsettled > floor->unsettled)
        floor->unsettled = unsettled & FLOOR_UNSETTLED_MAX;
}

/* ---- CELLs and LOGs ---- */

uint64_t window_over_ns(const struct bucket *bucket, const struct limit *limit)
{
    if (limit->kind == LIMIT_CELL)
        return bucket->expires_ns;
    uint32_t newest = bucket->events.newest;
    return newest ? events_at(limit->events, newest)->at_ns + limit->period_ns : 0;
}

/*
 * Unsettled spends are charged here as settled ones. A settled token lowers the allowance by two parts of
 * `spendable` at least, so an unsettled one weighs 1 / (2 spendable).
 */
uint32_t window_used(const struct bucket *bucket, const struct limit *limit, const struct budget *budget)
{
    uint64_t spendable = budget->alone ? SHARE_ONE : 2 * budget->spendable;
    uint128 used = (uint64_t)(limit->capacity_units - bucket->settled);
    if (bucket->unsettled > 0 && spendable == 0)
        return UINT32_MAX;
    if (bucket->unsettled > 0)
        used += (((uint128)(uint64_t)bucket->unsettled << 32) + spendable - 1) / spendable;
    /* a key of a rule with tiers may come again under a wider one, and must not have used less then */
    const uint128 of = (uint64_t)limit->narrowest_units;
    uint128 part = (used * FLOOR_USED_ONE + of - 1) / of;
    return part < UINT32_MAX ? (uint32_t)part : UINT32_MAX;
}

int64_t window_floor_level(const struct window_floor *floor, const struct limit *limit, uint16_t index,
                           uint64_t now_ns)
{
    if (floor->until_ns <= now_ns || (floor->limit != index && floor->limit != FLOOR_MIXED))
        return limit->capacity_units;
    uint128 used = ((uint128)(uint64_t)limit->capacity_units * floor->used + FLOOR_USED_ONE - 1) / FLOOR_USED_ONE;
    uint128 most = (uint128)(uint64_t)limit->capacity_units + (uint64_t)limit->debt_units;
    return limit->capacity_units - (int64_t)(used < most && floor->used < UINT32_MAX ? used : most);
}

void window_floor_deepen(struct window_floor *floor, uint16_t index, uint32_t used, uint64_t until_ns,
                         uint64_t now_ns)
{
    if (until_ns <= now_ns || used == 0)
        return;
    if (floor->until_ns <= now_ns)
        *floor = (struct window_floor){.limit = index};
    if (floor->limit != index)
        floor->limit = FLOOR_MIXED;
    if (used > floor->used)
        floor->used = used;
    if (until_ns > floor->until_ns)
        floor->until_ns = until_ns;
}
