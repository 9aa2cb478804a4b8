/*
 * lane: the figures of one thread of requests: a ring of untold spends, counters, wishes for a
 * step.
 *
 * The one idea: a thread writes only its own lane and keys whose lock it holds, so threads share no
 * line of memory. Steps, which run alone, gather the lanes.
 */
#ifndef HEADGATE_CLUSTER_SPEND_LANE_H
#define HEADGATE_CLUSTER_SPEND_LANE_H

#include "cluster/state/node_state.h"

#include <stdbool.h>

/* Alone, like the next. */
bool lanes_create(struct node *node);
void lanes_destroy(struct node *node);
/* The lane of this thread. */
struct lane *own_lane(const struct node *node);
/* Adds the wishes of all lanes to the node's todo. Alone. */
void lanes_gather(struct node *node);

/* True if the lane can record so many more keys: see outbox_has_room. */
static inline bool lane_has_room(const struct node *node, const struct lane *lane, uint32_t keys)
{
    return lane->open_span + keys <= node->outbox.room;
}

/*
 * True if the key has a spend in a ring, at node->outbox.spend[entry->open_index]. The key must not
 * wait.
 */
static inline bool is_in_ring(const struct node *node, const struct entry *entry)
{
    if (entry->open_index >= node->outbox.places * node->lane_count)
        return false;
    const struct spend *spend = &node->outbox.spend[entry->open_index];
    return __atomic_load_n(&spend->untold, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&spend->id.low, __ATOMIC_RELAXED) == entry->id.low && spend->id.high == entry->id.high &&
           spend->limit == entry->limit;
}

#endif
