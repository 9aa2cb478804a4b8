/*
 * record: what was spent from a key is recorded, in line: to be told, or to wait until it need not be.
 *
 * The one idea: what keys under the same limit have in common is given, for whoever has it at hand for many of them;
 * can_record and record_spend look it up. Only for the files of the request path.
 */
#ifndef HEADGATE_CLUSTER_SPEND_RECORD_H
#define HEADGATE_CLUSTER_SPEND_RECORD_H

#include "cluster/spend/counters.h"
#include "cluster/spend/lane.h"
#include "cluster/spend/untold.h"
#include "cluster/spend/waits.h"
#include "cluster/state/node_state.h"

/* Spends under that limit are told: somebody else counts them. */
static inline bool is_told_under(const struct node *node, const struct limit *limit)
{
    return !node->sharing.alone && (limit->flags & LIMIT_SPLIT) == 0;
}

/* What keys under one limit have in common for whoever records what is spent from them. */
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
                              .told = is_told_under(node, limit),
                              .persistent = (limit->flags & LIMIT_PERSISTENT) != 0};
}

/* can_record of an entry under that limit; `lane`: this thread's. */
static inline bool can_record_here(const struct node *node, const struct lane *lane,
                                   const struct recording *recording, const struct entry *entry)
{
    if (recording->persistent && !counters_have_room(node, entry))
        return false;
    return !recording->told || (!node->log.full && (lane_has_room(node, lane, 1) || is_in_open(node, entry)));
}

/* can_record of so many keys, whichever they are; false: perhaps not. */
static inline bool can_record_any(const struct node *node, const struct lane *lane, uint32_t count)
{
    const struct changed *changed = &lane->changed;
    if (changed->count + count > changed->room)
        return false;
    return node->sharing.alone || (!node->log.full && lane_has_room(node, lane, count));
}

/* Something is about to be recorded. */
static inline void note_open(struct lane *lane, uint64_t now_ns)
{
    if (lane->open_count == 0)
        lane->open_since_ns = now_ns;
    lane->spent_ns = now_ns;
}

/* What is spent from the key now can be told, to peers and to the store. */
bool can_record(const struct node *node, const struct entry *entry);
/* Notes what was spent from the key, or given back, for the next batch and the store; there is room. */
void record_spend(struct node *node, struct entry *entry, uint64_t tokens);
/* `until_ns`: of a LOG: when others stop to take notice of it. */
void record_return(struct node *node, struct entry *entry, uint64_t tokens, uint64_t credit, uint64_t until_ns);
/* The key was charged under that budget: it is recorded, told soon if little is left, and counted. */
void note_charged(struct node *node, struct entry *entry, const struct budget *budget, uint64_t cost,
                  uint64_t now_ns);
/* What is untold of the key is told as soon as can be. */
void hurry_if_untold(struct node *node, struct entry *entry);
/* What is to be told. `soon`: refill would pay it off soon, but it cannot wait. */
void record_to_tell(struct node *node, struct entry *entry, uint64_t tokens, bool soon);

/* record_spend of an entry under that limit. */
static inline void record_here(struct node *node, const struct recording *recording, struct entry *entry,
                               uint64_t tokens)
{
    entry->last_spender = (node->me + 1) & 0x7f;
    if (recording->persistent)
        counters_touch(node, entry);
    if (tokens == 0 || !recording->told)
        return;
    /* Refill pays it off before others need to know: see pay.c. */
    const struct bucket *bucket = &entry->bucket;
    bool soon = bucket->unsettled <= recording->soon_units && bucket->settled == recording->full_units;
    if (soon && wait_more(node, entry, tokens)) /* most of it may be paid off long since */
        return;
    record_to_tell(node, entry, tokens, soon);
}

/*
 * A step is wanted as soon as can be, and tells what is untold of the key; hurry_if_low: where more than half of its
 * allowance is spent.
 */
void hurry(struct node *node, struct entry *entry);

static inline void hurry_if_low(struct node *node, struct entry *entry, int64_t allowance_units)
{
    int64_t spent_units = entry->bucket.unsettled;
    if (spent_units > allowance_units - spent_units)
        hurry(node, entry);
}

#endif
