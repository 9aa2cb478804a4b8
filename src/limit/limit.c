#include "limit/limit.h"

#include <assert.h>
#include <sysexits.h>

enum { UNITS_MAX_BITS = 60 };
static const int64_t units_max = (int64_t)1 << UNITS_MAX_BITS;

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* FNV-1a: names come from the operator, so that an unkeyed hash does; collisions are refused with the config. */
static uint32_t name_id(struct bytes name)
{
    uint32_t id = 2166136261u;
    for (size_t i = 0; i < name.size; i++)
        id = (id ^ (uint8_t)name.data[i]) * 16777619u;
    return id;
}

/*
 * rate/period tokens per ns, with a tick of t ns, is (rate * t)/period tokens per tick. Reduced to lowest
 * terms p/q, a token is q units and a tick refills p. Coarser ticks make q smaller; the finest tick whose
 * numbers fit 60 bits is taken. A tick never exceeds 1 ms or the period.
 */
static bool choose_units(struct limit *limit)
{
    for (uint64_t tick = 1; tick <= 1000000 && tick <= limit->period_ns; tick *= 10) {
        uint64_t per_tick, units;
        if (__builtin_mul_overflow(limit->rate, tick, &per_tick))
            return false;
        uint64_t divisor = greatest_divisor(per_tick, limit->period_ns);
        uint64_t p = per_tick / divisor, q = limit->period_ns / divisor;
        uint64_t most = limit->capacity > limit->overshoot ? limit->capacity : limit->overshoot;
        if (__builtin_mul_overflow(q, most, &units) || units > (uint64_t)units_max || p > (uint64_t)units_max)
            continue;
        limit->tick_ns = tick;
        limit->units_per_token = (int64_t)q;
        limit->units_per_tick = (int64_t)p;
        limit->capacity_units = (int64_t)(q * limit->capacity);
        limit->overshoot_units = (int64_t)(q * limit->overshoot);
        return true;
    }
    return false;
}

bool limit_init(struct limit *limit, struct bytes name, uint64_t capacity, uint64_t rate, uint64_t period_ns,
                uint64_t overshoot, struct error *error)
{
    if (name.size == 0 || name.size >= LIMIT_NAME_BYTES)
        return error_set(error, EX_CONFIG, "name has %zu bytes: expected 1 to %d", name.size, LIMIT_NAME_BYTES - 1);
    if (memchr(name.data, 0, name.size))
        return error_set(error, EX_CONFIG, "name contains a zero byte: expected text");
    if (capacity < 1 || capacity > LIMIT_CAPACITY_MAX)
        return error_set(error, EX_CONFIG, "capacity is %llu: expected 1 to %llu tokens",
                         (unsigned long long)capacity, (unsigned long long)LIMIT_CAPACITY_MAX);
    if (rate < 1 || rate > LIMIT_CAPACITY_MAX)
        return error_set(error, EX_CONFIG, "rate is %llu: expected 1 to %llu tokens per period",
                         (unsigned long long)rate, (unsigned long long)LIMIT_CAPACITY_MAX);
    if (period_ns < 1 || period_ns > LIMIT_PERIOD_MAX_NS)
        return error_set(error, EX_CONFIG, "rate's period is %llu ns: expected at most 366 days",
                         (unsigned long long)period_ns);
    if (overshoot > LIMIT_CAPACITY_MAX)
        return error_set(error, EX_CONFIG, "overshoot is %llu: expected 0 to %llu tokens",
                         (unsigned long long)overshoot, (unsigned long long)LIMIT_CAPACITY_MAX);
    memset(limit, 0, sizeof *limit);
    memcpy(limit->name, name.data, name.size);
    limit->capacity = capacity;
    limit->rate = rate;
    limit->period_ns = period_ns;
    limit->overshoot = overshoot;
    limit->id = name_id(name);
    if (!choose_units(limit))
        return error_set(error, EX_CONFIG,
                         "capacity %llu at this rate needs more than 60 bits to count exactly: expected a smaller "
                         "capacity or a rate with a shorter or rounder period",
                         (unsigned long long)capacity);
    return true;
}

int limit_set_find(const struct limit_set *set, struct bytes name)
{
    for (int i = 0; i < set->count; i++)
        if (bytes_equal(bytes_of(set->limit[i].name), name))
            return i;
    return -1;
}

int limit_set_find_id(const struct limit_set *set, uint32_t id)
{
    for (int i = 0; i < set->count; i++)
        if (set->limit[i].id == id)
            return i;
    return -1;
}

uint64_t limit_refill_ns(const struct limit *limit, int64_t units)
{
    if (units <= 0)
        return 0;
    uint64_t ticks = ((uint64_t)units + (uint64_t)limit->units_per_tick - 1) / (uint64_t)limit->units_per_tick;
    uint64_t ns;
    return __builtin_mul_overflow(ticks, limit->tick_ns, &ns) ? UINT64_MAX : ns;
}
