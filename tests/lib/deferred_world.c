#include "tests/lib/deferred_world.h"

void take(unsigned host, const char *key, uint64_t cost)
{
    struct verdict verdict = world_ask(host, key, FAST, cost);
    if (!verdict.allowed)
        tell("%s: %" PRIu64 " of %s? %s", host_names[host], cost, key, reason_text(&verdict));
}

void show(const char *when)
{
    struct node_stats ann = world_stats(ANN), bob = world_stats(BOB);
    tell("%s: ann has %" PRIu64 " untold and %" PRIu64 " paid off, bob heard of %" PRIu64 " tokens", when,
         ann.open_keys, ann.spends_paid_off, bob.applied_tokens);
}

void world_of_few_places(void)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.untold_max = FEW;
    world_start_all();
    world_run(1000);
    skip_text();
}

void take_many(unsigned host, uint64_t cost)
{
    char key[32];
    unsigned given = 0;
    for (unsigned i = 0; i < MANY; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        given += world_ask(host, key, FAST, cost).allowed;
        if (i % (FEW / 2) == 0) {
            world_push(host);
            world_run(2);
        }
    }
    tell("%s: %" PRIu64 " each of %u", host_names[host], cost, given);
}
