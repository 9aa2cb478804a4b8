/*
 * What was spent under what a rule said before is given back under what it says now, everywhere: also at who has gone
 * over to the new limit before the return is heard.
 */
#include "cluster/state/node_state.h"
#include "tests/lib/rights_world.h"

enum { BEFORE = 200, AFTER = 100, SPENT = 40 };

/* A part of a token counts as one. */
static uint64_t used_at(unsigned host, const struct charge *charge)
{
    const struct node *node = world.host[host].node;
    const struct entry *entry = table_find(node->table, charge->id);
    if (!entry)
        return 0;
    const struct limit *limit = &node->limits.limit[entry->limit];
    const int64_t up = limit->units_per_token - 1;
    return (uint64_t)((limit->capacity_units - entry->bucket.settled + up) / limit->units_per_token);
}

static void given_back(const struct limit_terms *kind, const char *name)
{
    struct limit_terms before = *kind, after = *kind;
    before.capacity = BEFORE;
    after.capacity = AFTER;
    rights_world_init(3);
    rights_world_start();
    OK(rights_take_at_once(ANN, "key", &before, SPENT).allowed, "%s: ann spends under the former limit", name);
    world_run(1000);
    for (unsigned host = ANN; host <= CAT; host++) {
        struct charge looked = charge_at(host, "key", &after, 1);
        (void)node_ask(world.host[host].node, &looked, false, world.now_ns);
        OK_U64(used_at(host, &looked), SPENT, "... %s counts it under the new one",
               host == ANN ? "she" : "another");
    }
    struct charge charge = charge_at(ANN, "key", &after, SPENT);
    OK_U64(node_return(world.host[ANN].node, &charge, 1, SPENT, world.now_ns), SPENT, "... and she gives it back");
    world_push(ANN);
    world_run(2000);
    for (unsigned host = ANN; host <= CAT; host++)
        OK(used_at(host, &charge) <= (kind->kind == LIMIT_BUCKET), "... at %s", host == ANN ? "hers" : "another's");
    world_close();
}

int main(void)
{
    const struct limit_terms window = {.kind = LIMIT_CELL},
                             log = {.kind = LIMIT_LOG, .period_ns = UINT64_C(3600000) * MS},
                             bucket = {.kind = LIMIT_BUCKET, .rate = 1, .period_ns = UINT64_C(36000000) * MS};
    given_back(&window, "a window");
    given_back(&log, "a log");
    given_back(&bucket, "a bucket");
    return tap_done();
}
