/*
 * outbox: own spends that are recorded and not told yet, in a ring for each thread.
 *
 * The one idea: each key has at most one spend in the rings, found by the index in the key's entry.
 * A told spend leaves a gap. Steps turn the rings into batches: tell.h.
 */
#ifndef HEADGATE_CLUSTER_SPEND_OUTBOX_H
#define HEADGATE_CLUSTER_SPEND_OUTBOX_H

#include <stdbool.h>
#include <stdint.h>

struct entry;
struct thread_state;
struct node;
struct spend;

/* Alone, like the next. */
bool outbox_create(struct node *node);
void outbox_destroy(struct node *node);
/*
 * True if the key has a spend in a ring, at node->outbox.spend[entry->open_index], and none waits.
 */
bool outbox_has_open(const struct node *node, const struct entry *entry);
/*
 * True if the key has a spend in a ring, or waiting spends. Gathered spends do not count: they will
 * be told anyway.
 */
bool is_in_outbox(const struct node *node, const struct entry *entry);
/* Visits all spends in the rings. Alone. */
void outbox_visit(const struct node *node, void (*visit)(void *context, const struct spend *spend), void *context);
/*
 * The number of untold spends, with waiting and gathered ones; and the number of those in the
 * rings. Alone.
 */
uint32_t outbox_count(const struct node *node);
uint32_t outbox_listed(const struct node *node);
/* The places of the rings that these spends take, with the gaps between them. Alone. */
uint64_t outbox_span(const struct node *node);
/* Makes the spend's place a gap. Alone, like the next. */
void outbox_drop(struct node *node, struct spend *spend);
/* Afterwards the thread's front is its oldest untold spend, if there is any. */
void outbox_skip_gaps(const struct node *node, struct thread_state *thread);
/*
 * True if the rings are so full that prefetching pays. outbox_prefetch does so, by the hint of
 * table_prefetch.
 */
bool outbox_is_far(const struct node *node);
void outbox_prefetch(const struct node *node, uint64_t slot_hint);
/*
 * True if this thread can record so many more keys. With 0 keys: it may still evict others, whose
 * spends go to the ring.
 */
bool outbox_has_room(const struct node *node, uint32_t keys);
/*
 * The key's spend in a ring; begins one if there is none, for which there must be room. The key's
 * waiting tokens move into it.
 */
struct spend *outbox_open_spend(struct node *node, struct entry *entry);
/* True if so much of this thread is untold that it should be told now. */
bool outbox_wants_push(const struct node *node);
/* The next batch tells the key's untold spends, if it has any. There must be room for one. */
void outbox_urge(struct node *node, struct entry *entry);
/*
 * The same for all spends in the rings whose keys begin with the prefix (see table_visit). Alone.
 */
void outbox_urge_listed(struct node *node, uint64_t prefix, unsigned prefix_bits);
/* A ring with a larger span is nearly full: beyond it is room for the keys of some requests. */
uint32_t outbox_nearly_full(const struct node *node);
/* The time of a spend's `since`: at most a millisecond too early, and no later than now. */
uint64_t outbox_time_ns(const struct node *node, uint32_t then);
void outbox_check(const struct node *node);

#endif
