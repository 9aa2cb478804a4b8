#include "limit/limit_span.h"

#include "base/random.h"
#include "limit/bucket.h"
#include "limit/floor.h"
#include "limit/table.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

#include <assert.h>
#include <string.h>

enum { ROUNDS = TAP_SLOW ? 20000 : 200000, TIERS_MAX = 3 };
#define SECOND_NS UINT64_C(1000000000)

static struct limit_set limits;
static struct budget budgets[TIERS_MAX];

/* The limits of those terms, which know each other. */
static void have_tiers(const struct limit_terms *terms, uint16_t count)
{
    struct limit_span span = {0};
    struct error error;
    limit_set_close(&limits);
    const bool made = limit_set_init(&limits, TIERS_MAX, NULL);
    assert(made && count <= TIERS_MAX);
    for (uint16_t i = 0; i < count; i++) {
        const int index = limit_set_intern(&limits, &terms[i], &error);
        assert(index == i);
        budget_init(&budgets[i], &limits.limit[i], SHARE_ONE / 2, false);
        limit_span_add(&span, &terms[i]);
    }
    for (uint16_t i = 0; i < count; i++)
        limit_span_note(&span, &limits.limit[i]);
}

static int64_t used_tokens(const struct bucket *bucket, const struct limit *limit)
{
    return (limit->capacity_units - bucket->settled) / limit->units_per_token;
}

static const struct limit_terms two[] = {{.capacity = 10, .rate = 2, .period_ns = SECOND_NS},
                                         {.capacity = 100, .rate = 50, .period_ns = SECOND_NS, .overshoot = 20}};

static void debts(void)
{
    const struct limit alone = bucket_limit(10, 2, SECOND_NS, 3);
    have_tiers(two, 2);
    const struct limit *small = &limits.limit[0], *large = &limits.limit[1];
    struct bucket bucket;
    OK(alone.debt_units == 3 * alone.units_per_token && !alone.of_tiers, "a debt stops at the overshoot");
    OK(small->debt_units == 110 * small->units_per_token && large->debt_units == 20 * large->units_per_token,
       "... of a tier, where the widest tier's would");
    bucket_fill(&bucket, small, SECOND_NS, 0);
    bucket_apply(&bucket, small, &budgets[0], 115, 0, SECOND_NS, 0);
    OK(used_tokens(&bucket, small) == 115, "the spends of a wider tier are all charged");
    bucket_convert(&bucket, small, large, INHERIT_TIERS, SECOND_NS, 0);
    OK(used_tokens(&bucket, large) == 115, "... and stay so under that tier");
    bucket_convert(&bucket, large, small, INHERIT_TIERS, SECOND_NS, 0);
    OK(used_tokens(&bucket, small) == 115, "... and under the other one again");
    bucket_apply(&bucket, small, &budgets[0], 115, 0, SECOND_NS, 0);
    OK(used_tokens(&bucket, small) == 120, "no more than the widest tier and its overshoot");
    bucket_convert(&bucket, small, &alone, INHERIT_KEEP, SECOND_NS, 0);
    OK(used_tokens(&bucket, &alone) == 13, "where the rule changes, the new limit's");
    bucket_fill(&bucket, small, SECOND_NS, 0);
    bucket_lower_to(&bucket, small, 55 * SECOND_NS, SECOND_NS);
    OK(used_tokens(&bucket, small) == 110, "a number that a peer tells is not cut either");
    struct limit_terms at_home[] = {two[0], two[1]};
    at_home[0].home = at_home[1].home = limit_home_of(bytes_of("us"));
    have_tiers(at_home, 2);
    small = &limits.limit[0];
    large = &limits.limit[1];
    OK(small->debt_units == 111 * small->units_per_token && large->debt_units == 21 * large->units_per_token,
       "where they have a home, it may lend a part of a token under any of them");
}

static void windows(void)
{
    const struct limit_terms cells[] = {{.kind = LIMIT_CELL, .capacity = 10},
                                        {.kind = LIMIT_CELL, .capacity = 100, .overshoot = 20}};
    struct bucket bucket;
    struct window_floor floor = {0};
    have_tiers(cells, 2);
    const struct limit *small = &limits.limit[0], *large = &limits.limit[1];
    bucket_fill(&bucket, small, 0, 9 * SECOND_NS);
    bucket_apply(&bucket, small, &budgets[0], 90, 0, SECOND_NS, 0);
    OK(used_tokens(&bucket, small) == 90, "a window as well");
    window_floor_deepen(&floor, FLOOR_MIXED, window_used(&bucket, small, &budgets[0]), 9 * SECOND_NS, SECOND_NS);
    OK(window_floor_level(&floor, large, 1, SECOND_NS) <= 10 * large->units_per_token,
       "... that was evicted, and comes again under the wider tier");
    bucket_fill(&bucket, large, 0, 9 * SECOND_NS);
    bucket_apply(&bucket, large, &budgets[1], 90, 0, SECOND_NS, 0);
    floor = (struct window_floor){0};
    window_floor_deepen(&floor, FLOOR_MIXED, window_used(&bucket, large, &budgets[1]), 9 * SECOND_NS, SECOND_NS);
    OK(window_floor_level(&floor, small, 0, SECOND_NS) <= -80 * small->units_per_token,
       "... or the other way round");
}

/* Periods of centuries: a debt is a time that fits what peers are told. */
static void slow(void)
{
    const struct limit_terms terms[] = {{.capacity = 1, .rate = 1, .period_ns = LIMIT_PERIOD_MAX_NS},
                                        {.capacity = 1000000, .rate = 1000000, .period_ns = LIMIT_PERIOD_MAX_NS}};
    have_tiers(terms, 2);
    OK(limit_refill_ns(&limits.limit[0], limits.limit[0].debt_units) <= LIMIT_TOLD_NS_MAX &&
           limits.limit[0].debt_units > 30 * limits.limit[0].units_per_token,
       "a debt that takes longer than a number can tell is cut there");
}

static struct limit_terms draw_terms(struct random *random)
{
    return (struct limit_terms){.capacity = 1 + random_below(random, 200),
                                .rate = 1 + random_below(random, 100),
                                .period_ns = SECOND_NS * (1 + random_below(random, 60)),
                                .overshoot = random_below(random, 2) ? 0 : random_below(random, 50)};
}

/* A key that is evicted under any tier, and comes again under any, never has more than it had. */
static void evicted(void)
{
    struct random random;
    uint64_t wrong = 0, owing = 0;
    random_seed(&random, 54);
    for (int round = 0; round < ROUNDS; round++) {
        struct limit_terms terms[TIERS_MAX];
        uint16_t count = (uint16_t)(2 + random_below(&random, TIERS_MAX - 1));
        for (uint16_t i = 0; i < count; i++) {
            terms[i] = draw_terms(&random);
            for (uint16_t j = 0; j < i; j++)
                terms[i].capacity += limit_terms_equal(&terms[i], &terms[j]);
        }
        have_tiers(terms, count);
        const uint16_t then = (uint16_t)random_below(&random, count), now = (uint16_t)random_below(&random, count);
        const struct limit *from = &limits.limit[then], *to = &limits.limit[now];
        struct bucket bucket, again;
        struct floor floor = {0};
        bucket_fill(&bucket, from, SECOND_NS, 0);
        bucket_apply(&bucket, from, &budgets[then], random_below(&random, 300), 0, SECOND_NS, 0);
        floor_deepen(&floor, &limits, then, &bucket);
        bucket_fill(&again, to, SECOND_NS, 0);
        floor_apply(&floor, &limits, budgets, now, &again);
        bucket_convert(&bucket, from, to, INHERIT_TIERS, SECOND_NS, 0);
        wrong += again.settled > bucket.settled;
        owing += bucket.settled < 0;
    }
    OK(wrong == 0 && owing > 0, "an evicted key comes again under any tier with no more than it had");
}

/* A key that was full under one tier, and was forgotten, is asked about under another one, as of an earlier moment. */
static void forgotten(void)
{
    have_tiers(two, 2);
    struct table *table = table_create(1000, 4, &limits, budgets);
    const struct key_id id = {1, 2};
    const uint64_t spent_ns = SECOND_NS, late_ns = 20 * SECOND_NS;
    struct bucket bucket;
    assert(table != NULL);
    struct entry *entry = table_obtain_nobodys(table, id, 0, 0, spent_ns);
    bucket_apply(&entry->bucket, &limits.limit[0], &budgets[0], 5, 0, spent_ns, 0);
    OK(table_forget_full(table, 0, table_places(table), late_ns) == 1, "a key that is full is forgotten");
    table_start(table, id, 1, 0, spent_ns, &bucket);
    OK(bucket.last_refill_ns == late_ns, "... and is known to be full only since then, under any tier");
    table_destroy(&table);
}

int main(void)
{
    debts();
    windows();
    slow();
    evicted();
    forgotten();
    limit_set_close(&limits);
    return tap_done();
}
