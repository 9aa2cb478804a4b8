/*
 * thread_state: the figures of a node, besides the table, that requests of one thread write.
 *
 * The one idea: only its thread writes a state, and steps, which run alone. A spend in a ring
 * belongs to the holder of its key's lock.
 */
#ifndef HEADGATE_CLUSTER_STATE_THREAD_STATE_H
#define HEADGATE_CLUSTER_STATE_THREAD_STATE_H

#include "base/hash.h"
#include "cluster/codec/batch.h"
#include "limit/verdict.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>

#define OPEN_INDEX_MAX ((1u << 20) - 1) /* the largest value of entry.open_index */

/* A ring of keys that the store must be told of. */
struct changed {
    struct key_id *id;
    uint32_t first, count, room;
};

/*
 * The figures of a node, besides the table, that requests of one thread write; steps gather them
 * from all threads. Spends of a ring belong to their keys: the thread that holds a key's stripe of
 * the table may change the key's spend in any ring. Only its own thread changes where a ring begins
 * and ends.
 */
struct thread_state {
    alignas(64) struct spend *open; /* outbox.places of them, in outbox.spend; a place without `untold` is a gap */
    uint32_t *urgent;               /* indices in node->outbox.spend of urgent spends, in all rings */
    uint32_t open_first, open_span; /* from the oldest one on, with gaps: see outbox.c */
    uint32_t open_count;            /* untold spends */
    uint32_t urgent_count;
    uint32_t waits_more;            /* keys that began to wait here, less those that ended here: modulo 2^32 */
    bool push_wanted, hurry_wanted; /* since the last step: see DO_PUSH and DO_HURRY */
    bool step_wanted;               /* a reservation ends before the next step */
    uint64_t open_since_ns;         /* the time of the oldest untold spend in this ring */
    uint64_t spent_ns;              /* the time of the last spend or return */
    uint64_t sampled_ns;            /* see contest_samples */
    uint64_t returned_since_ns;     /* see note_returned_since; 0: nothing was returned */
    /* see node_stats, like the next two */
    uint64_t admitted_requests, refused_requests, admitted_tokens;
    uint64_t wanted_tokens; /* see spend/wanted.h */
    uint64_t returned_tokens, limit_drops, rights_used_tokens;
    uint64_t refused[VERDICT_REASON_COUNT]; /* refused_requests by reason */
    struct changed changed;
};

#endif
