/*
 * untold: own spends that are recorded and not told yet, in a ring for each thread.
 *
 * The one idea: one spend per key, found by the index in the key's entry; what was told leaves a
 * gap. Steps turn the rings into batches: tell.h.
 */
#ifndef HEADGATE_CLUSTER_SPEND_UNTOLD_H
#define HEADGATE_CLUSTER_SPEND_UNTOLD_H

#include <stdbool.h>
#include <stdint.h>

struct entry;
struct lane;
struct node;
struct spend;

/* Alone, as the next. */
bool untold_create(struct node *node);
void untold_destroy(struct node *node);
/* The entry's key has spends that are to be told, at node->outbox.spend[entry->open_index]. */
bool is_in_open(const struct node *node, const struct entry *entry);
/* It has some, or some that wait. Not: what is gathered of it, which is told without it. */
bool is_untold(const struct node *node, const struct entry *entry);
/* All that is in the rings. Alone. */
void untold_visit(const struct node *node, void (*visit)(void *context, const struct spend *spend), void *context);
/* How many there are, waiting and gathered ones included, and how many of these are in the rings. Alone. */
uint32_t untold_count(const struct node *node);
uint32_t untold_listed(const struct node *node);
/* How many places of the rings these take, with the gaps between them. Alone. */
uint64_t untold_span(const struct node *node);
/* It is a gap from now on. Alone, as the next. */
void untold_drop(struct node *node, struct spend *spend);
/* Afterwards the oldest untold spend stands at the lane's front, if there is any. */
void untold_skip_gaps(const struct node *node, struct lane *lane);
/* So many are in the rings that it is worth while to ask memory for them; does so, by table_prefetch's guess. */
bool untold_is_far(const struct node *node);
void untold_prefetch(const struct node *node, uint64_t guess);
/* So many more keys can be recorded by this thread; 0: and it may evict others, which are told then. */
bool untold_has_room(const struct node *node, uint32_t keys);
/* The key's spend in a ring, begun if there is none; there is room for one. What waits of it does so no more. */
struct spend *open_spend(struct node *node, struct entry *entry);
/* So much is untold of this thread's that it should be told now. */
bool untold_wants_push(const struct node *node);
/* If the key has untold spends, they are told with the next batch; there is room for one. */
void untold_urge(struct node *node, struct entry *entry);
/* All in the rings of keys that begin with the prefix (see table_visit) are told with the next batch. Alone. */
void untold_urge_listed(struct node *node, uint64_t prefix, unsigned prefix_bits);
/* A ring that spans more is nearly full: some requests' keys fit beyond. */
uint32_t untold_nearly_full(const struct node *node);
/* What the spend's `since` says: at most a millisecond too early, and no later than now. */
uint64_t untold_time_ns(const struct node *node, uint32_t then);
void untold_check(const struct node *node);

#endif
