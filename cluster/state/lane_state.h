/*
 * lane_state: what requests of one thread write of the node besides the table: a lane.
 *
 * The one idea: a lane is written by its thread alone, and by steps, which run alone. Spends in a
 * ring belong to whoever holds the lock of their key.
 */
#ifndef HEADGATE_CLUSTER_STATE_LANE_STATE_H
#define HEADGATE_CLUSTER_STATE_LANE_STATE_H

#include "base/hash.h"
#include "cluster/codec/batch.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#define OPEN_INDEX_MAX ((1u << 20) - 1) /* what entry.open_index can hold */

/* Keys that the store has to be told of: a ring. */
struct changed {
    struct key_id *id;
    uint32_t first, count, room;
};

/*
 * What the requests of one thread write of the node besides the table; steps gather it from all lanes. A ring's spends
 * belong to their keys: whoever holds a key's stripe of the table may change its spend in any ring. Where a ring begins
 * and ends is its lane's alone.
 */
struct lane {
    alignas(64) struct spend
        *open;        /* open_places of them, in node->outbox.spend; what is not `untold` in it is a gap */
    uint32_t *urgent; /* indices in node->outbox.spend of urgent ones, in all rings */
    uint32_t open_first, open_span; /* of open_places, from the oldest one on, gaps included: see untold.c */
    uint32_t open_count;            /* untold ones */
    uint32_t urgent_count;
    uint32_t waits_more; /* keys began to wait in this thread, less those whose wait ended in it: modulo 2^32 */
    bool push_wanted, hurry_wanted;                                /* since the last step: see the node's */
    bool step_wanted;                                              /* a reservation ends before the next one */
    uint64_t open_since_ns;                                        /* since when something is untold in this ring */
    uint64_t spent_ns;                                             /* when something was last spent or returned */
    uint64_t admitted_requests, refused_requests, admitted_tokens; /* see node_stats, as the next two */
    uint64_t returned_tokens, limit_drops;
    struct changed changed;
};

#endif
