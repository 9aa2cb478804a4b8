#include "tests/lib/cluster_stores.h"

const struct limit_terms quota = {.kind = LIMIT_CELL, .flags = LIMIT_PERSISTENT, .capacity = 160};

struct counter stores[WORLD_HOSTS_MAX][STORE_MAX];
static struct counter_part parts[WORLD_HOSTS_MAX][STORE_MAX * COUNTER_PARTS_MAX];

size_t stores_count[WORLD_HOSTS_MAX], stores_told[WORLD_HOSTS_MAX];

bool spend(unsigned i, const char *key, const struct limit_terms *terms, uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = charge_at(i, key, terms, cost);
    return node_check(world.host[i].node, &charge, 1, true, world.now_ns, &verdict);
}

int64_t stores_left(unsigned i, const char *key, const struct limit_terms *terms)
{
    struct charge charge = charge_at(i, key, terms, 0);
    struct bucket bucket = node_bucket(world.host[i].node, charge.id, charge.limit, world.now_ns);
    return (bucket.settled - bucket.unsettled) / node_limit(world.host[i].node, charge.limit)->units_per_token;
}

static void keep(unsigned i, const struct counter *counter, const struct counter_part *its_parts)
{
    size_t at = 0;
    while (at < stores_count[i] && !key_id_equal(stores[i][at].id, counter->id))
        at++;
    assert(at < STORE_MAX);
    stores[i][at] = *counter;
    stores[i][at].first_part = at * COUNTER_PARTS_MAX;
    for (uint32_t p = 0; p < counter->part_count; p++)
        parts[i][at * COUNTER_PARTS_MAX + p] = its_parts[p];
    stores_count[i] = at == stores_count[i] ? at + 1 : stores_count[i];
    stores_told[i]++;
}

void keep_all(unsigned i, const struct effects *effects)
{
    for (size_t c = 0; c < effects->counter_count; c++)
        keep(i, &effects->counter[c], effects->counter_part + effects->counter[c].first_part);
}

void restore(unsigned i)
{
    struct world_host *host = &world.host[i];
    struct error error;
    host->options.incarnation = host->incarnation++;
    host->node = node_create(&host->options, &error);
    assert(host->node);
    const struct event event = {.kind = EVENT_RESTORE,
                                .now_ns = world.now_ns,
                                .counters = stores[i],
                                .counter_count = stores_count[i],
                                .counter_parts = parts[i]};
    node_step(host->node, &event, &world.effects);
    step(i, (struct event){.kind = EVENT_START}, i);
}

void stores_begin(unsigned count)
{
    memset(stores_count, 0, sizeof stores_count);
    memset(stores_told, 0, sizeof stores_told);
    world_of(count);
    world.watch = keep_all;
}
