#include "limit/bucket.h"
#include "base/random.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOW = TAP_SLOW ? 20 : 1 }; /* how many times fewer operations */
#define SECOND_NS 1000000000ull

static struct limit limits[LIMITS_OF_BUCKETS];
enum { LIMITS = LIMITS_OF_BUCKETS };

/* ---- examples ---- */

static void examples_alone(void)
{
    const struct limit *limit = &limits[0];
    struct budget budget;
    struct bucket bucket;
    budget_init(&budget, limit, SHARE_ONE, true);
    static const struct {
        uint64_t at_ms, cost;
        bool allowed;
        uint64_t remaining, retry_ms, reset_ms;
    } steps[] = {
        {0, 60, true, 40, 0, 600},
        {0, 41, false, 40, 10, 600},
        {0, 40, true, 0, 0, 1000},
        {0, 1, false, 0, 10, 1000},
        {9, 1, false, 0, 1, 991},
        {10, 1, true, 0, 0, 1000},
        {510, 50, true, 0, 0, 1000},
        {10000, 100, true, 0, 0, 1000},
        {10000, 0, true, 0, 0, 1000},
        {9000, 1, false, 0, 10, 1000},
        {20000, 101, false, 100, UINT64_MAX, 0},
    };
    bucket_fill(&bucket, limit, 0, 0);
    OK(bucket_is_full(&bucket, limit), "a fresh bucket is full");
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        uint64_t ns = 1000000;
        OK(bucket_take(&bucket, limit, &budget, steps[i].cost, 0, steps[i].at_ms * ns) == steps[i].allowed,
           "at %" PRIu64 " ms, %" PRIu64 " tokens are %s", steps[i].at_ms, steps[i].cost,
           steps[i].allowed ? "allowed" : "refused");
        OK_U64(bucket_available(&bucket, limit, &budget, 0), steps[i].remaining, "... leaving %" PRIu64,
               steps[i].remaining);
        if (!steps[i].allowed)
            OK_U64(bucket_retry_after_ns(&bucket, limit, &budget,
                                         &(struct bucket_wait){.cost = steps[i].cost, .settle_ns = UINT64_MAX}),
                   steps[i].retry_ms == UINT64_MAX ? UINT64_MAX : steps[i].retry_ms * ns, "... to retry when said");
        OK_U64(bucket_reset_after_ns(&bucket, limit, 0, 0), steps[i].reset_ms * ns, "... full in %" PRIu64 " ms",
               steps[i].reset_ms);
    }
}

static void examples_shared(void)
{
    struct budget budget;
    struct bucket bucket;
    budget_init(&budget, &limits[0], SHARE_ONE / 2, false);
    bucket_fill(&bucket, &limits[0], 0, 0);
    OK_U64(bucket_available(&bucket, &limits[0], &budget, 0), 46,
           "half a share, nothing declared: w (C - C / 16) = 46.9");
    OK(bucket_take(&bucket, &limits[0], &budget, 46, 0, 0), "... 46 can be taken");
    OK(!bucket_take(&bucket, &limits[0], &budget, 1, 0, 0), "... and no 47th");
    OK_U64(bucket_retry_after_ns(&bucket, &limits[0], &budget,
                                 &(struct bucket_wait){.cost = 1, .settle_ns = UINT64_MAX}),
           2500000, "... until a spill of 1/4 of a token pays 1/8 unsettled off: 2.5 ms");
    OK_U64(bucket_retry_after_ns(&bucket, &limits[0], &budget,
                                 &(struct bucket_wait){.cost = 1, .settle_ns = 2000000}),
           2000000, "... or until they are settled, if that is sooner");
    bucket_settle(&bucket, &limits[0], &budget, &(struct settlement){.tokens = 46, .later = 0, .at_ns = 0});
    OK_I64(bucket.unsettled, 0, "settled: nothing is unsettled");
    OK_I64(bucket.settled, 54 * limits[0].units_per_token, "... 54 are left");
    OK_U64(bucket_available(&bucket, &limits[0], &budget, 0), 18,
           "... of which half a share of 36.25 may be spent: 18.1");
    bucket_apply(&bucket, &limits[1], &budget, 71, 0, 0, 0);
    OK_I64(bucket.settled, -17 * limits[1].units_per_token, "spends of others may leave a debt");
    OK_U64(bucket_available(&bucket, &limits[1], &budget, 0), 0, "... nothing can be spent");
    OK(!bucket_take(&bucket, &limits[1], &budget, 0, 0, 0), "... not even nothing");
    OK_U64(bucket_retry_after_ns(&bucket, &limits[1], &budget,
                                 &(struct bucket_wait){.cost = 0, .settle_ns = UINT64_MAX}),
           170000000, "... until it is repaid");

    budget_init(&budget, &limits[1], SHARE_ONE / 2, false);
    bucket_fill(&bucket, &limits[1], 0, 0);
    OK_U64(bucket_available(&bucket, &limits[1], &budget, 0), 56, "20 declared: half of them are added");
    budget_init(&budget, &limits[1], 0, false);
    OK_U64(bucket_available(&bucket, &limits[1], &budget, 0), 0, "no share: nothing can be spent");
    OK(bucket_take(&bucket, &limits[1], &budget, 0, 0, 0), "... but nothing, while nobody is owed");
    OK_U64(bucket_retry_after_ns(&bucket, &limits[1], &budget, &(struct bucket_wait){.cost = 1, .settle_ns = 1}),
           UINT64_MAX, "... never");
}

static void examples_late_charges(void)
{
    const struct limit *limit = &limits[0];
    struct budget budget;
    struct bucket bucket;
    budget_init(&budget, limit, SHARE_ONE / 2, false);
    bucket_fill(&bucket, limit, 0, 0);
    bucket_apply(&bucket, limit, &budget, 50, 0, SECOND_NS, 0);
    bucket_refill(&bucket, limit, &budget, SECOND_NS + 100000000);
    OK_I64(bucket.settled, 60 * limit->units_per_token, "a spend counts from the moment it was made");
    bucket_apply(&bucket, limit, &budget, 10, 0, SECOND_NS - 1, 0);
    OK_I64(bucket.settled, 50 * limit->units_per_token, "... or from the last refill, when that is later");
    bucket_apply(&bucket, limit, &budget, UINT64_MAX, 0, SECOND_NS, 0);
    bucket_apply(&bucket, limit, &budget, UINT64_MAX, 0, SECOND_NS, 0);
    OK(bucket.settled <= 0 && bucket.settled >= -((int64_t)1 << 61), "debt has a floor instead of wrapping round");
    bucket_refill(&bucket, limit, &budget, UINT64_MAX);
    OK(bucket_is_full(&bucket, limit), "... and any debt is repaid in the end");
}

/* ---- random buckets ---- */

static uint64_t draw_time(struct random *random, const struct limit *limit)
{
    uint64_t span_ns = limit_refill_ns(limit, limit->capacity_units);
    span_ns = span_ns > UINT64_MAX / 8 ? UINT64_MAX / 4 : 2 * span_ns + 10;
    return random_below(random, random_below(random, 4) == 0 ? 2000000 : span_ns);
}

static struct bucket draw_bucket(struct random *random, const struct limit *limit)
{
    struct bucket bucket;
    uint64_t capacity = (uint64_t)limit->capacity_units;
    bucket_fill(&bucket, limit, draw_time(random, limit), 0);
    switch (random_below(random, 4)) {
    case 0:
        break;
    case 1:
        bucket.settled -= (int64_t)random_below(random, 3 * capacity);
        break;
    default:
        bucket.settled -= (int64_t)random_below(random, capacity);
        bucket.unsettled = (int64_t)random_below(random, capacity);
    }
    return bucket;
}

static struct budget draw_budget(struct random *random, const struct limit *limit)
{
    struct budget budget;
    static const uint64_t shares[] = {0, 1, SHARE_ONE / 64, SHARE_ONE / 5, SHARE_ONE / 3, SHARE_ONE / 2, SHARE_ONE};
    budget_init(&budget, limit, shares[random_below(random, 7)], random_below(random, 4) == 0);
    return budget;
}

static bool same(const struct bucket *a, const struct bucket *b)
{
    return a->settled == b->settled && a->unsettled == b->unsettled && a->last_refill_ns == b->last_refill_ns;
}

/* `a` once it has heard of the number of `b`, as a snapshot tells it. */
static struct bucket lowered(struct bucket a, const struct bucket *b, const struct limit *limit)
{
    bucket_lower_to(&a, limit, bucket_number(b, limit), a.last_refill_ns);
    return a;
}

/* What may still be spent at `at_ns`. */
static int64_t spendable(struct bucket bucket, const struct limit *limit, const struct budget *budget,
                         uint64_t at_ns)
{
    bucket_refill(&bucket, limit, budget, at_ns);
    return bucket_allowance(&bucket, budget) - bucket.unsettled;
}

static void lowering_laws(void)
{
    struct random random;
    random_seed(&random, 4);
    uint64_t rounds = 400000 / SLOW, order = 0, twice = 0, raised = 0, lower = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        const struct limit *limit = &limits[i % LIMITS];
        struct budget budget = draw_budget(&random, limit);
        struct bucket a = draw_bucket(&random, limit), b = draw_bucket(&random, limit),
                      c = draw_bucket(&random, limit);
        struct bucket ab = lowered(a, &b, limit), abc = lowered(ab, &c, limit);
        struct bucket acb = lowered(lowered(a, &c, limit), &b, limit);
        struct bucket again = lowered(ab, &b, limit);
        order += !same(&abc, &acb);
        twice += !same(&again, &ab);
        lower += ab.settled < a.settled;
        uint64_t at_ns = a.last_refill_ns + draw_time(&random, limit);
        raised += spendable(ab, limit, &budget, at_ns) > spendable(a, limit, &budget, at_ns);
    }
    OK(order == 0 && lower > rounds / 8, "the order of two peers does not matter");
    OK_U64(twice, 0, "nor how often they are heard");
    OK_U64(raised, 0, "and a key is never raised by it, then or later");
}

/* ---- when to come back ---- */

static void retry_after(void)
{
    struct random random;
    random_seed(&random, 5);
    uint64_t rounds = 400000 / SLOW, early = 0, late = 0, never = 0, waits = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        const struct limit *limit = &limits[i % LIMITS];
        struct budget budget = draw_budget(&random, limit);
        struct bucket bucket = draw_bucket(&random, limit);
        uint64_t cost = random_below(&random, 3) ? 1 : random_below(&random, limit->capacity + 2);
        uint64_t now_ns = bucket.last_refill_ns + random_below(&random, limit->tick_ns);
        uint64_t wait_ns = bucket_retry_after_ns(&bucket, limit, &budget,
                                                 &(struct bucket_wait){.cost = cost, .settle_ns = UINT64_MAX});
        struct bucket then = bucket;
        if (wait_ns == UINT64_MAX || wait_ns > UINT64_MAX - now_ns) {
            never += bucket_take(&then, limit, &budget, cost, 0, UINT64_MAX - 1) && wait_ns == UINT64_MAX &&
                     limit->units_per_tick < 1000; /* such waits end before time does: the others' may not */
            continue;
        }
        early += !bucket_take(&then, limit, &budget, cost, 0, now_ns + wait_ns);
        if (wait_ns == 0)
            continue;
        waits++;
        then = bucket;
        late += bucket_take(&then, limit, &budget, cost, 0, now_ns + wait_ns - limit->tick_ns);
    }
    printf("# %" PRIu64 " of %" PRIu64 " have to wait\n", waits, rounds);
    OK_U64(early, 0, "after retry_after, a request is always allowed");
    OK_U64(late, 0, "one tick before, it is always refused");
    OK_U64(never, 0, "never means never");
}

static void retry_after_settling(void)
{
    struct random random;
    random_seed(&random, 6);
    uint64_t rounds = 200000 / SLOW, early = 0, used = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        const struct limit *limit = &limits[i % 4];
        struct budget budget;
        struct bucket bucket;
        budget_init(&budget, limit, SHARE_ONE / (1 + random_below(&random, 5)), false);
        bucket_fill(&bucket, limit, SECOND_NS, 0);
        bucket_apply(&bucket, limit, &budget, random_below(&random, limit->capacity + 1), 0, SECOND_NS, 0);
        uint64_t taken = 0;
        while (taken < limit->capacity &&
               bucket_take(&bucket, limit, &budget, 1 + limit->capacity / 16, 0, SECOND_NS))
            taken += 1 + limit->capacity / 16;
        uint64_t settle_ns = random_below(&random, 300000000), cost = 1 + limit->capacity / 16;
        uint64_t wait_ns = bucket_retry_after_ns(&bucket, limit, &budget,
                                                 &(struct bucket_wait){.cost = cost, .settle_ns = settle_ns});
        if (wait_ns == UINT64_MAX || wait_ns < settle_ns)
            continue; /* it does not count on settling */
        bucket_refill(&bucket, limit, &budget, SECOND_NS + settle_ns);
        bucket_settle(&bucket, limit, &budget,
                      &(struct settlement){.tokens = taken, .later = 0, .at_ns = SECOND_NS});
        used++;
        early += !bucket_take(&bucket, limit, &budget, cost, 0, SECOND_NS + wait_ns);
    }
    printf("# %" PRIu64 " waited for settling\n", used);
    OK(used > rounds / 10, "many waits count on settling");
    OK_U64(early, 0, "if everything is settled when expected, they are allowed when said");
}

/* Where no overshoot is declared, what a peer may admit remains; a peer that is alone may admit all that remains. */
static void remaining_laws(void)
{
    struct random random;
    random_seed(&random, 9);
    uint64_t more = 0, differs = 0, floors = 0;
    for (uint64_t i = 0; i < 100000 / SLOW; i++) {
        const struct limit *limit = &limits[i % LIMITS];
        struct budget part, whole;
        budget_init(&part, limit, 1 + random_below(&random, SHARE_ONE), false);
        budget_init(&whole, limit, SHARE_ONE, true);
        struct bucket bucket = draw_bucket(&random, limit);
        uint64_t floor_tokens = random_below(&random, limit->capacity + 1);
        uint64_t left = bucket_remaining(&bucket, limit, 0), above = bucket_remaining(&bucket, limit, floor_tokens);
        more += limit->overshoot_units == 0 && bucket_available(&bucket, limit, &part, 0) > left;
        floors += above != (left > floor_tokens ? left - floor_tokens : 0);
        bucket.unsettled = 0;
        differs += bucket_available(&bucket, limit, &whole, 0) != bucket_remaining(&bucket, limit, 0);
    }
    OK_U64(more, 0, "nothing is available beyond what remains where no overshoot is declared");
    OK_U64(differs, 0, "all that remains is available to a peer that is alone");
    OK_U64(floors, 0, "a floor is taken off what remains");
}

int main(void)
{
    limits_of_buckets(limits);
    for (int i = 0; i < LIMITS; i++)
        printf("# limit %d: tick %" PRIu64 " ns, token %" PRId64 " units, tick %" PRId64 " units\n", i,
               limits[i].tick_ns, limits[i].units_per_token, limits[i].units_per_tick);
    examples_alone();
    examples_shared();
    examples_late_charges();
    lowering_laws();
    retry_after();
    retry_after_settling();
    remaining_laws();
    return tap_done();
}
