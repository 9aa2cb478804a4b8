#include "tests/lib/tier_charge.h"

#include "cluster/spend/limits.h"
#include "cluster/state/node_state.h"
#include "limit/limit_span.h"

struct charge tier_charge(unsigned i, const char *key, const struct limit_terms *tiers, size_t count, size_t tier,
                          uint64_t cost)
{
    struct limit_span span = {0};
    struct charge charge = charge_at(i, key, &tiers[tier], cost);
    for (size_t t = 0; t < count; t++)
        limit_span_add(&span, &tiers[t]);
    limit_span_note(&span, &world.host[i].node->limits.limit[charge.limit]);
    limits_note_named(world.host[i].node, charge.limit, INHERIT_TIERS);
    charge.inherit = INHERIT_TIERS;
    return charge;
}

int64_t tier_used(unsigned i, struct key_id id)
{
    const struct node *node = world.host[i].node;
    const struct entry *entry = table_find(node->table, id);
    const struct limit *limit = &node->limits.limit[entry->limit];
    return (limit->capacity_units - entry->bucket.settled) / limit->units_per_token;
}
