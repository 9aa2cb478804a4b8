#include "limit/floor.h"

#include "base/random.h"
#include "tests/lib/tap.h"

#include <assert.h>

enum { ROUNDS = TAP_SLOW ? 50000 : 500000 };
#define SECOND_NS 1000000000ull

enum { LIMITS = 5 };
static struct limit_set limits;
static struct budget budgets[LIMITS];
static const uint64_t share_min = SHARE_ONE / 7; /* of those */

static void add_limit(uint64_t capacity, uint64_t rate, uint64_t period_ns, uint64_t share)
{
    struct error error;
    const struct limit_terms terms = {.capacity = capacity, .rate = rate, .period_ns = period_ns};
    int i = limit_set_intern(&limits, &terms, &error);
    assert(i >= 0);
    budget_init(&budgets[i], &limits.limit[i], share, false);
}

/* Somewhere between nothing and twice what it takes to fill a bucket of the limit. */
static uint64_t draw_ns(struct random *random, const struct limit *limit)
{
    uint64_t span_ns = limit_refill_ns(limit, 2 * limit->capacity_units);
    return random_below(random, random_below(random, 2) ? 1 + span_ns / 1000 : span_ns);
}

struct evicted {
    uint16_t limit;
    struct bucket bucket;
};

/* Evicts up to 3 keys at different times; then each comes back at some time and is compared with what it was. */
static void round_of(struct random *random, uint16_t limit_count, uint64_t *raised, uint64_t *lowered)
{
    struct evicted keys[3];
    struct floor floor = {0};
    uint64_t now_ns = SECOND_NS + random_below(random, 2000000), count = 1 + random_below(random, 3);
    uint16_t first = (uint16_t)random_below(random, limits.count);
    for (uint64_t i = 0; i < count; i++) {
        struct evicted *key = &keys[i];
        key->limit = (uint16_t)((first + random_below(random, limit_count)) % limits.count);
        const struct limit *limit = &limits.limit[key->limit];
        now_ns += draw_ns(random, limit);
        bucket_fill(&key->bucket, limit, now_ns, 0);
        key->bucket.settled -= (int64_t)random_below(random, (uint64_t)limit->capacity_units);
        if (random_below(random, 2))
            key->bucket.unsettled = (int64_t)random_below(random, (uint64_t)limit->capacity_units);
        if (floor.full_at_ns != 0 && floor_age(&floor, &limits, budgets, share_min, now_ns)) {
            for (uint64_t past = 0; past < i; past++) { /* nobody owes anything: nobody is compared later */
                struct evicted *owes = &keys[past];
                bucket_refill(&owes->bucket, &limits.limit[owes->limit], &budgets[owes->limit], now_ns);
                *raised += !bucket_is_full(&owes->bucket, &limits.limit[owes->limit]);
            }
            floor = (struct floor){0};
        }
        floor_deepen(&floor, &limits, key->limit, &key->bucket);
    }
    now_ns += draw_ns(random, &limits.limit[first]);
    for (uint64_t i = 0; i < count; i++) {
        const struct limit *limit = &limits.limit[keys[i].limit];
        struct bucket start;
        bucket_fill(&start, limit, now_ns, 0);
        floor_apply(&floor, &limits, budgets, keys[i].limit, &start);
        bucket_refill(&keys[i].bucket, limit, &budgets[keys[i].limit], now_ns);
        *raised += start.settled > keys[i].bucket.settled || start.unsettled < keys[i].bucket.unsettled;
        *lowered += count == 1 && keys[i].bucket.settled - start.settled >= limit->units_per_tick;
    }
}

int main(void)
{
    bool made = limit_set_init(&limits, LIMITS, NULL);
    assert(made);
    add_limit(100, 100, SECOND_NS, SHARE_ONE / 3);
    add_limit(1000, 999983, SECOND_NS, SHARE_ONE);
    add_limit(1000000, 99999997, 366 * 86400 * SECOND_NS, SHARE_ONE / 5);
    add_limit(30000000, 1000003, 366 * 86400 * SECOND_NS, SHARE_ONE / 7);
    add_limit(1000, 1000, 86400 * SECOND_NS, SHARE_ONE / 2);
    struct random random;
    random_seed(&random, 1);
    uint64_t raised = 0, lowered = 0;
    for (int i = 0; i < ROUNDS; i++)
        round_of(&random, 1, &raised, &lowered);
    OK_U64(raised, 0, "keys of one limit never come back with more than they had");
    OK_U64(lowered, 0, "... and a single one with less than a tick less");
    for (int i = 0; i < ROUNDS; i++)
        round_of(&random, LIMITS, &raised, &lowered);
    OK_U64(raised, 0, "nor do keys of several limits with different ticks and shares");

    struct floor floor = {0};
    struct bucket bucket, start;
    bucket_fill(&bucket, &limits.limit[0], SECOND_NS, 0);
    bucket.settled = 0;
    floor_deepen(&floor, &limits, 0, &bucket);
    bucket_fill(&start, &limits.limit[1], SECOND_NS, 0);
    floor_apply(&floor, &limits, budgets, 1, &start);
    OK(bucket_is_full(&start, &limits.limit[1]), "keys of a limit from which nobody was evicted do not suffer");
    OK(!floor_age(&floor, &limits, budgets, share_min, 2 * SECOND_NS),
       "a floor stands until everybody would be full");
    OK(floor_age(&floor, &limits, budgets, share_min, 2 * SECOND_NS + 1), "... and no longer");
    floor_lower(&floor, UINT64_C(1) << 60, SECOND_NS);
    floor_apply(&floor, &limits, budgets, 1, &start);
    OK(start.settled == -limits.limit[1].overshoot_units,
       "whatever another table is said to owe, no key starts with more debt than its limit declares");
    return tap_done();
}
