#include "limit/bucket.h"
#include "base/random.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <stdlib.h>

enum { SLOW = TAP_SLOW ? 20 : 1 }; /* how many times fewer operations */
#define SECOND_NS 1000000000ull

/* Fine and coarse ticks, slow and fast rates, tiny and huge capacities. */
static struct limit limits[8];
enum { LIMITS = sizeof limits / sizeof limits[0] };

static void make_limits(void)
{
    const uint64_t day_ns = 86400 * SECOND_NS;
    limits[0] = bucket_limit(100, 100, SECOND_NS, 0);
    limits[1] = bucket_limit(100, 100, SECOND_NS, 20);
    limits[2] = bucket_limit(1, 1, 60 * SECOND_NS, 1);
    limits[3] = bucket_limit(1000000, 999983, SECOND_NS, 1000000);
    limits[4] = bucket_limit(10000, 9973, day_ns, 500);
    limits[5] = bucket_limit(1000000, 7, 366 * day_ns, 0);
    limits[6] = bucket_limit(LIMIT_CAPACITY_MAX, LIMIT_CAPACITY_MAX, SECOND_NS, LIMIT_CAPACITY_MAX);
    limits[7] = bucket_limit(3, 1000, 1, 0);
}

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

/* ---- shares ---- */

/* N peers that never hear of each other: all of what they admit together stays within the limit. */
static void budgets_alone_hold(void)
{
    struct random random;
    random_seed(&random, 7);
    uint64_t rounds = 400 / SLOW + 40, above = 0, above_slack = 0, burst_above = 0;
    for (uint64_t i = 0; i < rounds; i++) {
        const struct limit *limit = &limits[i % 2 ? 1 : 0];
        struct bucket buckets[8];
        struct budget budgets[8];
        uint64_t peers = 1 + random_below(&random, 8), left = SHARE_ONE;
        for (uint64_t p = 0; p < peers; p++) {
            uint64_t share = p + 1 == peers ? left : random_below(&random, left + 1);
            left -= share;
            budget_init(&budgets[p], limit, share, false);
            bucket_fill(&buckets[p], limit, 0, 0);
        }
        uint64_t now_ns = 0, admitted = 0;
        for (int step = 0; step < 3000; step++) {
            now_ns += random_below(&random, 20000000);
            uint64_t peer = random_below(&random, peers);
            for (uint64_t n = random_below(&random, 30); n > 0; n--)
                admitted += bucket_take(&buckets[peer], limit, &budgets[peer], 1, 0, now_ns);
            uint64_t ideal = limit->capacity + now_ns / 10000000 + 1;
            above += admitted > ideal + limit->overshoot;
            above_slack += limit->overshoot == 0 && admitted > ideal;
            burst_above += step == 0 && admitted > limit->capacity * 15 / 16 + limit->overshoot;
        }
    }
    OK_U64(above + above_slack, 0, "peers that hear nothing stay within capacity, refill and declared overshoot");
    OK_U64(burst_above, 0, "... and at once spend at most 15/16 C + E");
}

static void shares_never_exceed_the_whole(void)
{
    struct random random;
    random_seed(&random, 8);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < 100000 / SLOW; i++) {
        const struct limit *limit = &limits[i % LIMITS];
        int64_t units = (int64_t)random_below(&random, (uint64_t)limit->capacity_units);
        uint64_t left = SHARE_ONE;
        int64_t sum = 0, slack = 0, debts = 0;
        while (left > 0) {
            uint64_t share = 1 + random_below(&random, left);
            struct budget budget;
            budget_init(&budget, limit, share, false);
            sum += units_times(units, budget.share);
            debts += units_times(-units, budget.share);
            slack += budget.slack_units;
            wrong += budget.spendable * 4 > share * 3;
            left -= share;
        }
        wrong += sum > units || debts > -units || slack > limit->overshoot_units;
    }
    OK_U64(wrong, 0, "shares of anything never add up to more than the whole");
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

/* Tokens that peers with these weights, in billionths, have of a limit that is split. */
static uint64_t split_tokens(uint64_t capacity, uint64_t rate, uint64_t weight)
{
    const struct limit_terms terms = {.kind = rate > 0 ? LIMIT_BUCKET : LIMIT_CELL,
                                      .flags = LIMIT_SPLIT,
                                      .capacity = capacity,
                                      .rate = rate,
                                      .period_ns = rate > 0 ? 1000000000 : 0};
    struct limit limit;
    struct budget budget;
    struct bucket bucket;
    struct error error;
    if (!limit_init(&limit, &terms, &error))
        abort();
    budget_init(&budget, &limit, (weight << 32) / 1000000000, false);
    bucket_fill(&bucket, &limit, 0, UINT64_MAX);
    return bucket_available(&bucket, &limit, &budget, 0);
}

static void a_split_gives_whole_tokens(void)
{
    static const uint64_t rates[] = {0, 7};
    for (int i = 0; i < 2; i++) {
        const char *kind = i == 0 ? "window" : "bucket";
        OK_U64(split_tokens(300, rates[i], 340000000), 102, "a split %s: 0.34 of 300 is 102", kind);
        OK_U64(split_tokens(300, rates[i], 330000000), 99, "... 0.33 is 99");
        OK_U64(split_tokens(10000000, rates[i], 330000000), 3300000, "... of ten millions as well");
        OK_U64(split_tokens(5, rates[i], 330000000), 1, "... of 5 one, since one and a half are no two");
        OK_U64(split_tokens(2, rates[i], 330000000), 0, "... of 2 none");
    }
    OK(split_tokens(1000000000000, 0, 330000000) > 329999999000, "of very large ones nearly all");
}

/* Parts that are whole up to less than 1/64 of a token, below and above, are the worst that there may be. */
static void parts_of_a_split_never_exceed_the_whole(void)
{
    struct random random;
    random_seed(&random, 9);
    uint64_t exceeded = 0, missing = 0, rounds = 20000 / SLOW;
    for (uint64_t i = 0; i < rounds; i++) {
        const uint64_t capacity = 1 + random_below(&random, i % 2 == 0 ? 100 : 1000000);
        uint64_t peers = 1 + random_below(&random, 64), left = 1000000000, sum = 0;
        for (uint64_t peer = 1; peer <= peers; peer++) {
            const uint64_t weight = peer == peers ? left : random_below(&random, 2 * left / (peers - peer + 1));
            left -= weight < left ? weight : left;
            sum += split_tokens(capacity, i % 3 == 0 ? 0 : 1 + i % 1000, weight);
        }
        exceeded += sum > capacity;
        missing += sum + peers <= capacity;
    }
    OK_U64(exceeded, 0, "parts of a split never add up to more than the whole");
    OK_U64(missing, 0, "... and each lacks less than a token of its weight");
}

/* By the definition, in 128 bits. */
static int64_t rounded_down(int64_t units, uint64_t fraction)
{
    __extension__ typedef __int128 wide;
    wide product = (wide)units * (wide)fraction, one = (wide)SHARE_ONE;
    return (int64_t)(product / one - (product % one < 0));
}

static void shares_are_rounded_down(void)
{
    static const int64_t units[] = {INT64_MIN,  -((int64_t)1 << 32) - 1, -((int64_t)1 << 32),        -1,       0, 1,
                                    UINT32_MAX, (int64_t)1 << 32,        ((int64_t)1 << 60) + 12345, INT64_MAX};
    static const uint64_t fractions[] = {0, 1, SHARE_ONE / 4 * 3, SHARE_ONE / 3, SHARE_ONE - 1, SHARE_ONE};
    unsigned wrong = 0;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
        for (size_t k = 0; k < sizeof fractions / sizeof fractions[0]; k++)
            wrong += units_times(units[i], fractions[k]) != rounded_down(units[i], fractions[k]);
    OK_U64(wrong, 0, "a part of any number is rounded down, also below zero");
}

/* Nor of what is left of a key that starts below its capacity, as after an eviction. */
static void parts_of_a_level_never_exceed_it(void)
{
    static const uint64_t weights[] = {150000000, 350000000, 500000000};
    unsigned exceeded = 0, wrong = 0;
    for (uint64_t capacity = 1; capacity <= 300; capacity++) {
        const struct limit_terms terms = {.kind = LIMIT_CELL, .capacity = capacity, .flags = LIMIT_SPLIT};
        struct limit limit;
        struct error error;
        bool valid = limit_init(&limit, &terms, &error);
        assert(valid);
        for (int64_t level = 0; level <= limit.capacity_units; level++) {
            int64_t sum = 0;
            for (unsigned i = 0; i < 3; i++) {
                struct budget budget;
                budget_init(&budget, &limit, (uint64_t)((double)weights[i] / 1e9 * (double)SHARE_ONE), false);
                int64_t full = budget_allowance(&budget, limit.capacity_units);
                wrong += budget_allowance(&budget, level) != level * full / limit.capacity_units;
                sum += budget_allowance(&budget, level);
            }
            exceeded += sum > level;
        }
    }
    OK_U64(exceeded, 0, "parts of what is left of a split key never add up to more than that");
    OK_U64(wrong, 0, "each is the part that it has of a full key");
}

int main(void)
{
    make_limits();
    for (int i = 0; i < LIMITS; i++)
        printf("# limit %d: tick %" PRIu64 " ns, token %" PRId64 " units, tick %" PRId64 " units\n", i,
               limits[i].tick_ns, limits[i].units_per_token, limits[i].units_per_tick);
    examples_alone();
    examples_shared();
    examples_late_charges();
    lowering_laws();
    retry_after();
    retry_after_settling();
    budgets_alone_hold();
    shares_never_exceed_the_whole();
    a_split_gives_whole_tokens();
    parts_of_a_split_never_exceed_the_whole();
    parts_of_a_level_never_exceed_it();
    shares_are_rounded_down();
    remaining_laws();
    return tap_done();
}
