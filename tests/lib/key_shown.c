#include "tests/lib/key_shown.h"

#include "tests/lib/cluster_harness.h"

int64_t key_left(unsigned i, const char *key, const struct limit_terms *terms)
{
    struct charge charge = charge_at(i, key, terms, 0);
    struct bucket bucket = node_bucket(world.host[i].node, charge.id, charge.limit, world.now_ns);
    const struct limit *limit = node_limit(world.host[i].node, charge.limit);
    return (bucket.settled - bucket.unsettled + limit->units_per_token / 100) / limit->units_per_token;
}

int64_t key_unsettled(unsigned i, const char *key, const struct limit_terms *terms)
{
    struct charge charge = charge_at(i, key, terms, 0);
    struct bucket bucket = node_bucket(world.host[i].node, charge.id, charge.limit, world.now_ns);
    return bucket.unsettled / node_limit(world.host[i].node, charge.limit)->units_per_token;
}

void key_show(const char *key, const struct limit_terms *terms)
{
    for (unsigned i = 0; i < world.count; i++)
        if (world.host[i].node)
            tell("%s: %s has %" PRId64 ", %" PRId64 " not known everywhere", host_names[i], key,
                 key_left(i, key, terms), key_unsettled(i, key, terms));
}
