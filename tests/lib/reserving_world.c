#include "tests/lib/reserving_world.h"

const struct limit_terms cell = {.kind = LIMIT_CELL, .capacity = 160};

const struct limit_terms leases = {.kind = LIMIT_LOG, .capacity = 4, .period_ns = 10000 * MS, .overshoot = 4};

struct charge held_at(unsigned i, const char *key, const struct limit_terms *terms, uint64_t cost)
{
    struct charge charge = charge_at(i, key, terms, cost);
    charge.lease = terms->kind == LIMIT_LOG;
    return charge;
}

int64_t tokens_left(unsigned i, const char *key, const struct limit_terms *terms)
{
    struct charge charge = held_at(i, key, terms, 0);
    const struct bucket bucket = node_bucket(world.host[i].node, charge.id, charge.limit, world.now_ns);
    return (bucket.settled - bucket.unsettled) / node_limit(world.host[i].node, charge.limit)->units_per_token;
}

void reserving_world(void)
{
    world_init(2);
    world_name_all();
    for (unsigned i = 0; i < 2; i++)
        world.host[i].options.reservations_max = 8;
    world_start_all();
    world_run(1000);
    skip_text();
}

bool reserve(unsigned i, const struct charge *charges, size_t count, uint64_t ttl_ms, struct reservation_id *id)
{
    struct verdict verdicts[CHARGES_MAX];
    return node_reserve(world.host[i].node, charges, count, ttl_ms * MS, world.now_ns, verdicts, id);
}
