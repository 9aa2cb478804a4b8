#include "base/random.h"
#include "limit/bucket.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

#include <assert.h>

__extension__ typedef __int128 wide;

enum { SLOW = TAP_SLOW ? 20 : 1 }; /* how many times fewer operations */
#define SECOND_NS 1000000000ull

/*
 * The exact model: tokens as a fraction with the denominator period_ns, in 128 bits, unreduced and without
 * ticks: a second derivation of the same numbers.
 */
struct exact {
    wide level; /* tokens * period_ns */
    uint64_t at_ns;
};

static bool exact_take(struct exact *exact, const struct limit *limit, uint64_t cost, uint64_t now_ns)
{
    wide full = (wide)limit->capacity * limit->period_ns;
    exact->level += (wide)limit->rate * (now_ns - exact->at_ns);
    exact->at_ns = now_ns;
    if (exact->level > full)
        exact->level = full;
    wide taken = (wide)cost * limit->period_ns;
    if (exact->level < taken)
        return false;
    exact->level -= taken;
    return true;
}

/* Takes a little faster than the refill, with pauses now and then, against the exact model at every step. */
static bool agrees(const struct limit *limit, uint64_t takes, uint64_t seed)
{
    struct random random;
    struct budget budget;
    struct bucket bucket;
    uint64_t now_ns = 0, wrong = 0, allowed = 0, per_token_ns = limit->period_ns / limit->rate + 1;
    random_seed(&random, seed);
    budget_init(&budget, limit, SHARE_ONE, true);
    bucket_fill(&bucket, limit, 0, 0);
    struct exact exact = {.level = (wide)limit->capacity * limit->period_ns};
    bool took = bucket_take(&bucket, limit, &budget, limit->capacity, 0, 0);
    wrong += !took || !exact_take(&exact, limit, limit->capacity, 0);
    uint64_t full_ns = limit_refill_ns(limit, limit->capacity_units), done = 0;
    for (; done < takes && now_ns < (uint64_t)1 << 62; done++) {
        uint64_t drawn = random_u64(&random), cost = 1 + ((drawn & 31) == 0);
        uint64_t step_ns = (drawn >> 5 & 7) * per_token_ns / 4;
        if (drawn >> 44 == 0 && full_ns < (uint64_t)1 << 60)
            step_ns = 2 * full_ns;
        now_ns += (1 + step_ns / limit->tick_ns) * limit->tick_ns;
        took = bucket_take(&bucket, limit, &budget, cost, 0, now_ns);
        wrong += took != exact_take(&exact, limit, cost, now_ns);
        wrong += (wide)bucket.settled * limit->period_ns != exact.level * limit->units_per_token;
        allowed += took;
    }
    return wrong == 0 && allowed > done / 4 && allowed < done && done > 1000;
}

/*
 * The long run: each take refills by a few ns and, mostly, spends a token. As long as the bucket is never full,
 * the exact level has a closed form: capacity - allowed + rate * elapsed / period.
 */
static bool never_drifts(const struct limit *limit, uint64_t takes)
{
    struct random random;
    struct budget budget;
    struct bucket bucket;
    uint64_t now_ns = 0, wrong = 0, allowed = 0, per_token_ns = limit->period_ns / limit->rate, drawn = 0;
    random_seed(&random, 9);
    budget_init(&budget, limit, SHARE_ONE, true);
    bucket_fill(&bucket, limit, 0, 0);
    allowed += bucket_take(&bucket, limit, &budget, 1, 0, 0);
    for (uint64_t i = 1; i <= takes; i++) {
        drawn = i % 16 == 1 ? random_u64(&random) : drawn >> 4;
        now_ns += per_token_ns / 2 + (drawn & 15) * per_token_ns / 16;
        allowed += bucket_take(&bucket, limit, &budget, 1, 0, now_ns);
        if (i % 65536 != 0 && i != takes)
            continue;
        wide level = ((wide)limit->capacity - allowed) * limit->period_ns + (wide)limit->rate * now_ns;
        wrong += (wide)bucket.settled * limit->period_ns != level * limit->units_per_token;
        wrong += bucket.settled >= limit->capacity_units;
    }
    printf("# %" PRIu64 " refills, %" PRIu64 " spends\n", takes, allowed);
    return wrong == 0 && allowed > takes / 10 * 9;
}

int main(void)
{
    const uint64_t million = 1000000;
    struct limit limit = bucket_limit(1000000, 999983, SECOND_NS, 0);
    OK(never_drifts(&limit, 510 * million / SLOW), "10^9 small refills and spends: not a unit of drift");
    const struct limit limits[] = {
        bucket_limit(100, 100, SECOND_NS, 20),
        bucket_limit(1, 1, 60 * SECOND_NS, 1),
        bucket_limit(1000000, 999983, SECOND_NS, 1000000),
        bucket_limit(10000, 9973, 86400 * SECOND_NS, 500),
        bucket_limit(1000000, 7, 366 * 86400 * SECOND_NS, 0),
    };
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++)
        OK(agrees(&limits[i], 2 * million / SLOW, i),
           "%" PRIu64 " per %" PRIu64 " ns: every decision and level is exact", limits[i].rate,
           limits[i].period_ns);
    return tap_done();
}
