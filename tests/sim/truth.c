#include "tests/sim/truth.h"

#include <assert.h>
#include <stdbool.h>

void truth_init(struct truth *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns)
{
    *truth = (struct truth){
        .high = limit->capacity_units,
        .low = limit->capacity_units,
        .high_tick = fast_ns / limit->tick_ns,
        .low_tick = slow_ns / limit->tick_ns,
        .worst = limit->capacity_units,
    };
}

static void refill(int64_t *units, uint64_t *tick, const struct limit *limit, uint64_t now_tick)
{
    assert(now_tick >= *tick);
    uint64_t ticks = now_tick - *tick;
    uint64_t room = (uint64_t)(limit->capacity_units - *units);
    *tick = now_tick;
    if (ticks > room / (uint64_t)limit->units_per_tick)
        *units = limit->capacity_units;
    else
        *units += (int64_t)(ticks * (uint64_t)limit->units_per_tick);
}

void truth_refill(struct truth *truth, const struct limit *limit, uint64_t fast_ns, uint64_t slow_ns)
{
    refill(&truth->high, &truth->high_tick, limit, fast_ns / limit->tick_ns);
    refill(&truth->low, &truth->low_tick, limit, slow_ns / limit->tick_ns);
}

int64_t truth_refilled_units(const struct limit *limit, uint64_t ns)
{
    const uint64_t ticks = ns / limit->tick_ns + 1, most = 3 * (uint64_t)limit->capacity_units;
    const bool is_long = limit->units_per_tick == 0 || ticks > most / (uint64_t)limit->units_per_tick;
    return (int64_t)(is_long ? most : ticks * (uint64_t)limit->units_per_tick);
}

void truth_spend(struct truth *truth, const struct limit *limit, uint64_t tokens)
{
    assert(tokens <= limit->capacity);
    int64_t units = (int64_t)tokens * limit->units_per_token;
    assert(truth->high > INT64_MIN / 4 && truth->low > INT64_MIN / 4);
    truth->high -= units;
    truth->low -= units;
    if (truth->high < truth->worst)
        truth->worst = truth->high;
    truth->admitted_tokens += tokens;
    truth->admitted_requests++;
}

double truth_tokens(const struct limit *limit, int64_t units)
{
    return (double)units / (double)limit->units_per_token;
}

int64_t truth_rounding_units(const struct limit *limit)
{
    return 3 * limit->units_per_tick;
}

void truth_refund(struct truth *truth, const struct limit *limit, int64_t units)
{
    assert(units >= 0);
    truth->high = units > limit->capacity_units - truth->high ? limit->capacity_units : truth->high + units;
}
