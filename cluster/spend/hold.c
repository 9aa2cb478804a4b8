/*
 * hold renews tokens of a LOG: it spends them once more, with a later end, and gives the old spend back. Tokens of
 * other kinds do not end by themselves, and need no renewal.
 */
#include "cluster/spend/hold.h"

#include "cluster/spend/decide.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/record.h"
#include "cluster/spend/return.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "limit/events.h"
#include "limit/kind.h"

/* True if tokens of a LOG can be held anew: the held tokens are given back for them. */
static bool can_hold_anew(const struct node *node, const struct entry *entry, const struct charge *charge)
{
    const struct bucket *bucket = &entry->bucket;
    uint64_t cost = charge->cost;
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->by_limit.budget[entry->limit];
    if (!kind_lists(limit->kind) || !can_record(node, entry) || !events_have_room(limit->events))
        return false;
    uint64_t held = events_held(limit->events, &bucket->events, cost, charge->spent_ns);
    if (held < cost)
        return bucket_allows(bucket, limit, budget, cost - held, 0);
    bool private = node->sharing.alone || (limit->flags & LIMIT_SPLIT) != 0;
    return private || !node->awake.somebody_silent || bucket_allows(bucket, limit, budget, cost, 0);
}

/*
 * The spend begins anew, and the old one ends. While all peers are heard, they are told long before
 * the old spend would have ended. A silent peer will think that it has ended; so while a peer is
 * silent, the spend must fit this node's share once more.
 */
bool hold_anew(struct node *node, struct charge *charge, uint64_t ends_ns, uint64_t now_ns)
{
    now_ns = decide_time_ns(node, now_ns);
    if (!may_decide(node) || !outbox_has_room(node, 0) ||
        charge_has_ended(&node->limits.limit[charge->limit], charge, now_ns))
        return false;
    struct entry *entry = table_obtain(node->table, charge->id, charge->limit, 0, now_ns);
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->by_limit.budget[entry->limit];
    bucket_refill(&entry->bucket, limit, budget, now_ns);
    if (charge->cost > limit->capacity || !can_hold_anew(node, entry, charge))
        return false;
    return_held(node, charge, 1, now_ns);
    if (!bucket_spend(&entry->bucket, limit, budget, charge->cost, now_ns))
        return false;
    record_spend(node, entry, charge->cost);
    charge->spent_ns = bucket_hold(&entry->bucket, limit, charge->cost, ends_ns);
    return true;
}

bool hold_beside(struct node *node, struct charge *charge, uint64_t ends_ns, uint64_t now_ns)
{
    struct entry *entry = table_find(node->table, charge->id);
    const struct limit *limit = &node->limits.limit[charge->limit];
    const struct budget *budget = &node->by_limit.budget[charge->limit];
    if (!entry || entry->limit != charge->limit || !can_record(node, entry))
        return false;
    bucket_refill(&entry->bucket, limit, budget, now_ns);
    if (events_held(limit->events, &entry->bucket.events, charge->cost, charge->spent_ns) < charge->cost ||
        !bucket_spend(&entry->bucket, limit, budget, charge->cost, now_ns))
        return false;
    const struct charge old = *charge;
    note_open(own_thread(node), now_ns);
    record_spend(node, entry, charge->cost);
    charge->spent_ns = bucket_hold(&entry->bucket, limit, charge->cost, ends_ns);
    return_held(node, &old, 1, now_ns);
    record_hurry(node, entry);
    return true;
}
