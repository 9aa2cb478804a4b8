/*
 * table_world: five limits for tests of the table, with budgets of a peer that is alone and of one that shares.
 *
 * Static: each test program has its own.
 */
#ifndef HEADGATE_TESTS_LIB_TABLE_WORLD_H
#define HEADGATE_TESTS_LIB_TABLE_WORLD_H

#include "base/random.h"
#include "limit/table.h"

#include <assert.h>

enum { LIMITS = 5 };
static struct limit_set limits;
static struct budget alone[LIMITS], shared[LIMITS];

/*
 * Shares as with an overshoot of a fifth of the capacity; but declared is so much that no debt ever stops there,
 * as the cluster's law has it: the spends that are made up here do not keep it.
 */
static inline void add_limit(uint64_t capacity, uint64_t rate, uint64_t period_ns, uint64_t overshoot)
{
    struct error error;
    const struct limit_terms terms = {.capacity = capacity,
                                      .rate = rate,
                                      .period_ns = period_ns,
                                      .overshoot = overshoot};
    int i = limit_set_intern(&limits, &terms, &error);
    assert(i >= 0);
    const struct limit *limit = &limits.limit[i];
    budget_init(&alone[i], limit, SHARE_ONE, true);
    budget_init(&shared[i], limit, SHARE_ONE / 3, false);
    shared[i].slack_units = units_times(limit->capacity_units / 5, shared[i].share);
}

static inline struct key_id draw_id(struct random *random)
{
    uint64_t high = random_u64(random), low = random_u64(random);
    return (struct key_id){high, low};
}

static inline struct table_stats stats_of(const struct table *table)
{
    struct table_stats stats;
    table_stats(table, &stats);
    return stats;
}

static inline void table_world_open(void)
{
    const uint64_t second_ns = 1000000000;
    bool made = limit_set_init(&limits, LIMITS, NULL);
    assert(made);
    add_limit(100, 100, second_ns, 10000000);
    add_limit(1000, 999983, second_ns, 100000000);
    add_limit(100, 100, 60 * second_ns, 1000000);
    add_limit(1000000, 99999997, 366 * 86400 * second_ns, 10000000);
    add_limit(1000, 1000, 86400 * second_ns, 1000000);
}

#endif
