/*
 * pay_world: a world of nodes (cluster_harness.h) of which one spends what refill soon pays off, and what became of it.
 *
 * Of "fast", half of the shares is paid back 8 tokens within an interval: so many wait, and 9 are told.
 */
#ifndef HEADGATE_TESTS_PAY_WORLD_H
#define HEADGATE_TESTS_PAY_WORLD_H

#include "tests/cluster_harness.h"

enum { FAST = 1, MANY = 400, FEW = 64 };

__attribute__((unused)) static void take(unsigned host, const char *key, uint64_t cost)
{
    struct verdict verdict = world_ask(host, key, FAST, cost);
    if (!verdict.allowed)
        tell("%s: %" PRIu64 " of %s? %s", host_names[host], cost, key, reason_text(&verdict));
}

__attribute__((unused)) static void show(const char *when)
{
    struct node_stats ann = world_stats(ANN), bob = world_stats(BOB);
    tell("%s: ann has %" PRIu64 " untold and %" PRIu64 " paid off, bob heard of %" PRIu64 " tokens", when,
         ann.open_keys, ann.spends_paid_off, bob.applied_tokens);
}

/* There, few places are for what is to be told. */
__attribute__((unused)) static void world_of_few_places(void)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.untold_max = FEW;
    world_start_all();
    world_run(1000);
    skip_text();
}

__attribute__((unused)) static void take_many(unsigned host, uint64_t cost)
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

#endif
