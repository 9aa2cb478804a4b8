/*
 * Each of several members rounds its part of an ask up. All that they grant reaches the asker: what is not used comes
 * back, so that nothing of a window or a log is lost until its end.
 */
#include "cluster/state/node_state.h"
#include "tests/lib/rights_world.h"

#include <stdio.h>
#include <string.h>

enum { CAPACITY = 200, COST_MOST = 60 };

static const char *key_of_cost(unsigned cost)
{
    static char key[16];
    (void)snprintf(key, sizeof key, "of %u", cost);
    return key;
}

/* Tokens of the key that are used, as the host sees it. */
static uint64_t used_at(unsigned host, const char *key, const struct limit_terms *terms)
{
    const struct node *node = world.host[host].node;
    const struct charge charge = charge_at(host, key, terms, 1);
    const struct entry *entry = table_find(node->table, charge.id);
    const struct limit *limit = &node->limits.limit[charge.limit];
    if (!entry)
        return 0;
    const int64_t units = limit->capacity_units - entry->bucket.settled + entry->bucket.unsettled;
    return (uint64_t)(units / limit->units_per_token);
}

/* Bob's clients ask for each cost once, come back for some of it, and stay away for the rest. */
static void nothing_is_lost(const struct limit_terms *terms, const char *what)
{
    uint64_t asked = 0, used[COST_MOST + 1] = {0}, wrong = 0;
    for (unsigned cost = 1; cost <= COST_MOST; cost++)
        asked += !rights_take_at_once(BOB, key_of_cost(cost), terms, cost).allowed;
    world_run(2 * TURN_MS);
    for (unsigned cost = 1; cost <= COST_MOST; cost += 2)
        used[cost] = rights_take_at_once(BOB, key_of_cost(cost), terms, cost).allowed ? cost : 0;
    world_run(6000);
    for (unsigned cost = 1; cost <= COST_MOST; cost++)
        for (unsigned host = 0; host < world.count; host++)
            wrong += used_at(host, key_of_cost(cost), terms) != used[cost];
    OK(asked > 0, "%s: %u of %u are asked for", what, (unsigned)asked, COST_MOST);
    OK_U64(wrong, 0, "... and what nobody used is not used anywhere");
}

int main(void)
{
    static const struct limit_terms kinds[] = {
        {.kind = LIMIT_CELL, .capacity = CAPACITY},
        {.kind = LIMIT_LOG, .capacity = CAPACITY, .period_ns = UINT64_C(3600000) * MS},
    };
    static const char *const names[] = {"a window", "a log"};
    for (unsigned daemons = 2; daemons <= 3; daemons++)
        for (unsigned kind = 0; kind < 2; kind++) {
            struct limit_terms terms = kinds[kind];
            char what[64];
            terms.home = limit_home_of(bytes_of("ann's"));
            rights_world_init(daemons + 1);
            for (unsigned i = 0; i <= daemons; i++) {
                world.host[i].options.region_count = 2;
                if (i > BOB)
                    memcpy(world.host[i].options.region, world.host[ANN].options.region, NODE_NAME_BYTES);
            }
            rights_world_start();
            (void)snprintf(what, sizeof what, "%s whose home has %u daemons", names[kind], daemons);
            nothing_is_lost(&terms, what);
            world_close();
        }
    return tap_done();
}
