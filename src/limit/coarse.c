#include "limit/coarse.h"

enum { COARSE_BITS = 53, TICK_MAX_US = 1000 };

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

bool coarse_units(const struct limit *limit, struct coarse *coarse)
{
    const uint64_t most = UINT64_C(1) << COARSE_BITS;
    assert(limit->kind == LIMIT_BUCKET);
    for (uint64_t tick_us = 1; tick_us <= TICK_MAX_US; tick_us *= 10) {
        uint64_t per_tick, units;
        if (__builtin_mul_overflow(limit->rate, 1000 * tick_us, &per_tick))
            return false;
        const uint64_t divisor = greatest_divisor(per_tick, limit->period_ns);
        const uint64_t p = per_tick / divisor, q = limit->period_ns / divisor;
        if (__builtin_mul_overflow(q, limit->capacity, &units) || units > most || p > most)
            continue;
        *coarse = (struct coarse){.units_per_token = q, .units_per_tick = p, .tick_us = tick_us};
        return true;
    }
    return false;
}
