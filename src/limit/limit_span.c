#include "limit/limit_span.h"

#include "base/number.h"
#include "limit/bucket_units.h"

#include <assert.h>

static uint64_t token_ns(const struct limit_terms *terms)
{
    return terms->kind == LIMIT_BUCKET ? (terms->period_ns - 1) / terms->rate + 1 : 0;
}

void limit_span_add(struct limit_span *span, const struct limit_terms *terms)
{
    span->narrowest = span->widest == 0 ? terms->capacity : number_least(span->narrowest, terms->capacity);
    const uint64_t least_ns = terms->kind == LIMIT_BUCKET ? terms->period_ns / terms->rate : 0;
    span->fastest_ns = span->widest == 0 ? least_ns : number_least(span->fastest_ns, least_ns);
    span->widest = number_most(span->widest, terms->capacity);
    span->all = number_most(span->all, terms->capacity + terms->overshoot);
    span->slowest_ns = number_most(span->slowest_ns, token_ns(terms));
}

/*
 * `tokens` less the capacity, as units, and `more` units: no more than a bucket may owe, nor than can be told as a
 * time.
 */
static int64_t units_beyond(const struct limit *limit, uint64_t tokens, int64_t more)
{
    uint64_t units, most = UNITS_MOST / 2;
    if (limit->kind == LIMIT_BUCKET && limit_refill_ns(limit, (int64_t)most) > LIMIT_TOLD_NS_MAX)
        most = LIMIT_TOLD_NS_MAX / limit->tick_ns * (uint64_t)limit->units_per_tick;
    if (__builtin_mul_overflow(number_minus(tokens, limit->capacity), (uint64_t)limit->units_per_token, &units))
        return (int64_t)most;
    return (int64_t)number_least(number_sum(units, (uint64_t)more), most);
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

void limit_span_note(const struct limit_span *span, struct limit *limit)
{
    assert(span->widest > 0 && span->narrowest <= limit->capacity);
    const int64_t narrowest_units = (int64_t)span->narrowest * limit->units_per_token;
    limit->fastest_ns = limit->of_tiers ? number_least(limit->fastest_ns, span->fastest_ns) : span->fastest_ns;
    limit->of_tiers = true;
    /* under any of the tiers less than a token may be lent */
    const int64_t lent_units = limit->lent_units > 0 ? limit->units_per_token : 0;
    limit->debt_units = most_of(limit->debt_units, units_beyond(limit, span->all, lent_units));
    limit->wider_units = most_of(limit->wider_units, units_beyond(limit, span->widest, 0));
    limit->narrowest_units = narrowest_units < limit->narrowest_units ? narrowest_units : limit->narrowest_units;
    limit->slowest_ns = number_most(limit->slowest_ns, span->slowest_ns);
}
