/*
 * cluster_stores: a world of nodes with a store each, which keeps what their steps tell it, and a quota to spend.
 */
#ifndef HEADGATE_TESTS_CLUSTER_STORES_H
#define HEADGATE_TESTS_CLUSTER_STORES_H

#include "tests/cluster_harness.h"

static const struct limit_terms quota = {.kind = LIMIT_CELL, .flags = LIMIT_PERSISTENT, .capacity = 160};

enum { STORE_MAX = 1024 };

/* What a store would have: the newest counter of each key. */
static struct counter store[WORLD_HOSTS_MAX][STORE_MAX];
static size_t stored[WORLD_HOSTS_MAX], told[WORLD_HOSTS_MAX];

static bool spend(unsigned i, const char *key, const struct limit_terms *terms, uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = charge_at(i, key, terms, cost);
    return node_check(world.host[i].node, &charge, 1, true, world.now_ns, &verdict);
}

static int64_t left(unsigned i, const char *key, const struct limit_terms *terms)
{
    struct charge charge = charge_at(i, key, terms, 0);
    struct bucket bucket = node_bucket(world.host[i].node, charge.id, charge.limit, world.now_ns);
    return (bucket.settled - bucket.unsettled) / node_limit(world.host[i].node, charge.limit)->units_per_token;
}

static void keep(unsigned i, const struct counter *counter)
{
    size_t at = 0;
    while (at < stored[i] && !key_id_equal(store[i][at].id, counter->id))
        at++;
    assert(at < STORE_MAX);
    store[i][at] = *counter;
    stored[i] = at == stored[i] ? at + 1 : stored[i];
    told[i]++;
}

static void keep_all(unsigned i, const struct effects *effects)
{
    for (size_t c = 0; c < effects->counter_count; c++)
        keep(i, &effects->counter[c]);
}

/* Starts the host with what its store has. */
static void restore(unsigned i)
{
    struct world_host *host = &world.host[i];
    struct error error;
    host->options.incarnation = host->incarnation++;
    host->node = node_create(&host->options, &error);
    assert(host->node);
    const struct event event = {.kind = EVENT_RESTORE,
                                .now_ns = world.now_ns,
                                .counters = store[i],
                                .counter_count = stored[i]};
    node_step(host->node, &event, &world.effects);
    step(i, (struct event){.kind = EVENT_START}, i);
}

static void begin(unsigned count)
{
    memset(stored, 0, sizeof stored);
    memset(told, 0, sizeof told);
    world_of(count);
    world.watch = keep_all;
}

#endif
