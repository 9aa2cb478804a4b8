/*
 * record: records spends of keys, in line: to be told, or to wait until they need not be told.
 *
 * The one idea: figures that keys under one limit share are passed in, for callers that have them
 * at hand for many keys; can_record and record_spend look them up. Only for the files of the
 * request path.
 */
#ifndef HEADGATE_CLUSTER_SPEND_RECORD_H
#define HEADGATE_CLUSTER_SPEND_RECORD_H

#include "cluster/spend/counters.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"

/* True if spends under that limit are told: other peers count them. */
static inline bool record_is_told_under(const struct node *node, const struct limit *limit)
{
    return !node->sharing.alone && (limit->flags & LIMIT_SPLIT) == 0;
}

/* The figures that keys under one limit share, for recording their spends. */
struct recording {
    int64_t full_units;
    int64_t soon_units; /* see soon_paid_units */
    bool told, persistent;
};

static inline struct recording recording_under(const struct node *node, uint16_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    return (struct recording){.full_units = limit->capacity_units,
                              .soon_units = node->by_limit.soon_units[index],
                              .told = record_is_told_under(node, limit),
                              .persistent = (limit->flags & LIMIT_PERSISTENT) != 0};
}

/* can_record of an entry under that limit; `thread` must be this thread's. */
static inline bool can_record_inline(const struct node *node, const struct thread_state *thread,
                                     const struct recording *recording, const struct entry *entry)
{
    if (recording->persistent && !counters_have_room(node, entry))
        return false;
    return !recording->told ||
           (!node->log.full && (thread_has_room(node, thread, 1) || outbox_has_open(node, entry)));
}

/* True if so many keys can be recorded, whichever they are; false: perhaps not. */
static inline bool can_record_any(const struct node *node, const struct thread_state *thread, uint32_t count)
{
    const struct changed *changed = &thread->changed;
    if (changed->count + count > changed->room)
        return false;
    return node->sharing.alone || (!node->log.full && thread_has_room(node, thread, count));
}

/* To be called before a spend or return is recorded. */
static inline void note_open(struct thread_state *thread, uint64_t now_ns)
{
    if (thread->open_count == 0)
        thread->open_since_ns = now_ns;
    thread->spent_ns = now_ns;
}

/* True if a spend of the key can be told now, to peers and to the store. */
bool can_record(const struct node *node, const struct entry *entry);
/* Records a spend of the key for the next batch and the store; there must be room. */
void record_spend(struct node *node, struct entry *entry, uint64_t tokens);
/* The same for a return. `until_ns`, of a LOG: when others begin to ignore the return. */
void record_return(struct node *node, struct entry *entry, uint64_t tokens, uint64_t credit, uint64_t until_ns);
/*
 * Spends of a LOG end by themselves, here and at all peers at about the same time. A peer that heard of a return after
 * the end of the returned spend would take off another spend in its place. So a return is told and heeded only until
 * some time before that end. A return that is not told is made up for when the spend ends. UINT64_MAX: no LOG.
 */
uint64_t record_heeded_until_ns(const struct node *node, const struct limit *limit, uint64_t spent_ns);
/*
 * The key was charged under that budget: records the charge, hurries if little is left, and counts.
 */
void record_charged(struct node *node, struct entry *entry, const struct budget *budget, uint64_t cost,
                    uint64_t now_ns);
/* Untold spends of the key are told as soon as possible. */
void record_hurry_if_in_outbox(struct node *node, struct entry *entry);
/*
 * Records tokens that must be told. `soon`: refill would pay them off soon, but they cannot wait.
 */
void record_to_tell(struct node *node, struct entry *entry, uint64_t tokens, bool soon);

/* record_spend of an entry under that limit. */
static inline void record_inline(struct node *node, const struct recording *recording, struct entry *entry,
                                 uint64_t tokens)
{
    entry->last_spender = (node->me + 1) & 0x7f;
    if (recording->persistent)
        counters_mark_dirty(node, entry);
    if (tokens == 0 || !recording->told)
        return;
    /* Refill pays the spend off before other peers need to know it: see deferred_round.c. */
    const struct bucket *bucket = &entry->bucket;
    bool soon = bucket->unsettled <= recording->soon_units && bucket->settled == recording->full_units;
    if (soon && deferred_more(node, entry, tokens)) /* most of these tokens may be paid off long since */
        return;
    record_to_tell(node, entry, tokens, soon);
}

/* Records tokens spent on behalf of another peer, less spare parts of one: they are told at once. */
void record_granted(struct node *node, struct entry *entry, uint64_t tokens, uint32_t spare);

/*
 * Asks for a step as soon as possible, which tells the untold spends of the key. record_hurry_if_low does
 * so when more than half of the key's allowance is spent.
 */
void record_hurry(struct node *node, struct entry *entry);

static inline void record_hurry_if_low(struct node *node, struct entry *entry, int64_t allowance_units)
{
    int64_t spent_units = entry->bucket.unsettled;
    if (spent_units > allowance_units - spent_units)
        record_hurry(node, entry);
}

#endif
