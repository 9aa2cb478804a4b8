#include "base/number.h"
#include "cluster/record.h"
#include "limit/events.h"

/*
 * Spends of a LOG end by themselves, here and at every peer at about the same time. A return takes the oldest off the
 * list. Whoever hears of it after that one has ended would take off another in its place: a return may be told, and
 * heeded, until some time before. Not told, it is made up for when that spend ends. UINT64_MAX: no LOG.
 */
static uint64_t heeded_until_ns(const struct node *node, const struct limit *limit, const struct bucket *bucket)
{
    if (limit->kind != LIMIT_LOG || bucket->events.oldest == 0)
        return UINT64_MAX;
    uint64_t margin_ns = LOG_RETURN_INTERVALS * node->options.interval_ns + node->settle_ns;
    margin_ns = number_least(margin_ns, limit->period_ns / LOG_RETURN_PARTS);
    return events_at(limit->events, bucket->events.oldest)->at_ns + limit->period_ns - margin_ns;
}

/* What a reservation holds of a LOG may have ended by itself. */
static bool has_ended(const struct limit *limit, const struct charge *charge, uint64_t now_ns)
{
    return limit->kind == LIMIT_LOG && charge->expires_ns > 0 && charge->expires_ns <= now_ns;
}

static uint64_t return_to(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t now_ns)
{
    struct entry *entry = table_find(node->table, charge->id);
    if (!entry || tokens == 0)
        return 0;
    if (!can_record(node, entry)) {
        own_lane(node)->push_wanted = true;
        return 0;
    }
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (has_ended(limit, charge, now_ns))
        return 0;
    uint64_t credit = 0;
    bucket_refill(&entry->bucket, limit, &node->budget[entry->limit], now_ns);
    uint64_t until_ns = heeded_until_ns(node, limit, &entry->bucket);
    uint64_t given = bucket_return(&entry->bucket, limit, &node->budget[entry->limit], tokens, now_ns, &credit);
    note_open(own_lane(node), now_ns);
    record_return(node, entry, until_ns > now_ns ? given : 0, credit, until_ns);
    own_lane(node)->returned_tokens += given;
    return given;
}

/* Whether `cost` tokens of a LOG can be held anew: what is held is given back for them. */
static bool can_hold_anew(const struct node *node, const struct entry *entry, uint64_t cost)
{
    const struct bucket *bucket = &entry->bucket;
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->budget[entry->limit];
    if (limit->kind != LIMIT_LOG || !can_record(node, entry) || !events_have_room(limit->events, 1))
        return false;
    uint64_t listed = (uint64_t)(limit->capacity_units - bucket->settled + bucket->unsettled);
    if (listed < cost)
        return bucket_allows(bucket, limit, budget, cost - listed, 0);
    bool private = node->alone || (limit->flags & LIMIT_SPLIT) != 0;
    return private || !node->somebody_silent || bucket_allows(bucket, limit, budget, cost, 0);
}

/*
 * The spend begins anew, and what it was ends. While everybody is heard that is told long before the old one would have
 * ended; while somebody is silent he will think that it has: then it has to fit this node's share once more.
 */
bool hold_anew(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    now_ns = request_time(node, now_ns);
    if (!may_decide(node) || !untold_has_room(node, 0) ||
        has_ended(&node->limits.limit[charge->limit], charge, now_ns))
        return false;
    struct entry *entry = table_obtain(node->table, charge->id, charge->limit, 0, now_ns);
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->budget[entry->limit];
    bucket_refill(&entry->bucket, limit, budget, now_ns);
    if (charge->cost > limit->capacity || !can_hold_anew(node, entry, charge->cost))
        return false;
    (void)return_to(node, charge, charge->cost, now_ns);
    if (!bucket_spend(&entry->bucket, limit, budget, charge->cost, now_ns))
        return false;
    record_spend(node, entry, charge->cost);
    return true;
}

uint64_t return_held(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                     uint64_t now_ns)
{
    uint64_t given = count > 0 ? tokens : 0;
    now_ns = request_time(node, now_ns);
    for (size_t i = 0; i < count; i++)
        given = number_least(given, return_to(node, &charges[i], number_least(tokens, charges[i].cost), now_ns));
    return given;
}

uint64_t node_return(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                     uint64_t now_ns)
{
    struct table_held keys;
    hold_keys(node, charges, count, &keys);
    uint64_t given = return_held(node, charges, count, tokens, now_ns);
    table_unlock(node->table, &keys);
    return given;
}

uint32_t node_reset_key(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns)
{
    uint32_t reset_count = 0;
    struct table_held keys;
    hold_keys(node, charges, count, &keys);
    now_ns = request_time(node, now_ns);
    for (size_t i = 0; i < count; i++) {
        uint64_t given = return_to(node, &charges[i], SPEND_TOKENS_MAX, now_ns);
        const struct charge previous = {.id = charges[i].previous};
        if (charges[i].sliding)
            given += return_to(node, &previous, SPEND_TOKENS_MAX, now_ns);
        reset_count += given > 0;
    }
    table_unlock(node->table, &keys);
    return reset_count;
}
