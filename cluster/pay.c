#include "cluster/parts.h"

#include <assert.h>

/*
 * What need not be told: spends from a key that is full otherwise, as long as this node's share of the refill pays off
 * within an interval what is unsettled of it. Such a key waits: all that is unsettled of it is untold, stands in no
 * ring, and vanishes as refill pays it off. docs/accounting.md, "What is never told", says why nobody has to know.
 *
 * It is listed, as one spend of all that is still unsettled, as soon as more is spent than that, and where knowledge of
 * the key is given away: when a spend of a peer is applied to it, and before a part of a snapshot with it.
 */

int64_t refill_pays_units(const struct node *node, const struct limit *limit, uint64_t share)
{
    if (limit->kind != LIMIT_BUCKET || node->alone || (limit->flags & LIMIT_SPLIT) != 0)
        return -1;
    int64_t units;
    if (__builtin_mul_overflow(node->options.interval_ns / limit->tick_ns, limit->units_per_tick, &units) ||
        units > limit->capacity_units)
        units = limit->capacity_units;
    return units_times(units, share);
}

int64_t waits_max_units(const struct node *node, uint32_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    const struct budget *budget = &node->budget[index];
    int64_t most = refill_pays_units(node, limit, budget->share),
            half = budget_allowance(budget, limit->capacity_units) / 2;
    most = most < half ? most : half;
    return most < node->early_units[index] ? most : node->early_units[index] - 1;
}

uint64_t waiting_tokens(const struct node *node, const struct entry *entry)
{
    int64_t token = node->limits.limit[entry->limit].units_per_token;
    return entry->open_index == WAITS ? (uint64_t)((entry->bucket.unsettled + token - 1) / token) : 0;
}

bool may_wait(const struct node *node, const struct entry *entry, uint64_t tokens)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct bucket *bucket = &entry->bucket;
    if (bucket->unsettled > node->waits_max_units[entry->limit] || bucket->settled != limit->capacity_units)
        return false;
    /* Nothing else is unsettled, told or listed. */
    return entry->open_index == WAITS ||
           (bucket->unsettled == (int64_t)tokens * limit->units_per_token && !is_in_open(node, entry));
}

/*
 * What waits was spent while the key was full otherwise. Then an interval pays it off; or the key was charged
 * meanwhile, and is not full since.
 */
static uint64_t began_ns(const struct entry *entry, const struct limit *limit, uint64_t interval_ns,
                         uint64_t now_ns)
{
    uint64_t age_ns = limit_refill_ns(limit, limit->capacity_units - entry->bucket.settled);
    if (__builtin_add_overflow(age_ns, 2 * interval_ns, &age_ns) || age_ns > now_ns)
        return 0;
    return now_ns - age_ns;
}

struct spend *open_waiting(struct node *node, struct entry *entry, uint64_t tokens)
{
    struct lane *lane = own_lane(node);
    uint64_t now_ns = lane->spent_ns > node->now_ns ? lane->spent_ns : node->now_ns;
    uint64_t since_ns = began_ns(entry, &node->limits.limit[entry->limit], node->options.interval_ns, now_ns);
    if (lane->open_count == 0 || since_ns < lane->open_since_ns)
        lane->open_since_ns = since_ns;
    struct spend *spend = open_spend(node, entry);
    spend->tokens = tokens;
    untold_date(spend, since_ns);
    return spend;
}

void list_waiting(struct node *node, struct entry *entry)
{
    uint64_t tokens = waiting_tokens(node, entry);
    if (tokens == 0)
        return;
    if (!untold_has_room(node, 1))
        tell_for_room(node);
    (void)open_waiting(node, entry, tokens);
    untold_urge(node, entry);
}

void list_waiting_if_room(struct node *node, struct entry *entry)
{
    if (entry->open_index == WAITS && untold_has_room(node, 1))
        list_waiting(node, entry);
}

static void list_one(void *context, const struct entry *entry)
{
    struct node *node = context;
    if (waiting_tokens(node, entry) > 0)
        list_waiting(node, table_find(node->table, entry->id));
    untold_urge(node, entry);
}

void urge_part(struct node *node, uint64_t prefix, uint32_t bits)
{
    table_visit(node->table, prefix, bits, list_one, node);
}
