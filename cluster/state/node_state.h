/*
 * node_state: the node, put together from what its parts remember.
 *
 * Three things: members (who there is, and the newest digest heard of each), origins (one per member's incarnation: how
 * far its batches are applied here, and those that somebody may still lack), and keys (the table). An origin whose
 * incarnation has ended is a ghost: it gets no new batches, and is retired when all members are known to have the same
 * of it. Everything runs in one thread at a time but for what requests call: see lane.h.
 */
#ifndef HEADGATE_CLUSTER_STATE_NODE_STATE_H
#define HEADGATE_CLUSTER_STATE_NODE_STATE_H

#include "base/random.h"
#include "cluster/codec/message.h"
#include "cluster/node.h"
#include "cluster/state/aside_state.h"
#include "cluster/state/inbox_state.h"
#include "cluster/state/lane_state.h"
#include "cluster/state/log_state.h"
#include "cluster/state/member.h"
#include "cluster/state/origin.h"
#include "cluster/state/peaks.h"
#include "cluster/state/publish_state.h"
#include "cluster/state/refundable.h"
#include "cluster/state/round_state.h"
#include "cluster/state/snapshot_state.h"
#include "limit/table.h"

#include <stdatomic.h>

enum {
    OPEN_KEYS_MAX = 16384,    /* keys in one batch of anybody's */
    STEP_KEYS_DEFAULT = 2048, /* see node_options.step_keys */
};

struct node {
    struct node_options options;
    struct limit_set limits;
    struct random random;
    enum peer_state state; /* of this node */
    bool superseded;       /* a newer incarnation of this name lives somewhere else: see rival */
    bool stopping;
    bool alone; /* no other peer exists */
    bool somebody_silent;
    struct {
        bool decides;  /* our config is the one in use */
        bool asks;     /* it will be, when whoever has another one has heard message `asked_number` */
        bool told_out; /* the log says that it is not */
        uint64_t asked_number;
    } accord;
    struct {
        uint64_t incarnation, number; /* the newest that was heard of it */
        uint64_t heard_awake_ns;      /* when something newer was */
    } rival;
    uint64_t now_ns;           /* never runs backwards */
    uint64_t wake_ns;          /* when the last step asked for the next one */
    uint64_t lost_ns;          /* in which this node did not get to run: see awake_ns() */
    uint64_t stalled_ns;       /* awake_ns() as the last stall ended; 0: there was none */
    uint64_t started_awake_ns; /* awake_ns() at started_ns */
    uint64_t incarnation, number;
    uint64_t made_ns[ECHOES_MAX]; /* when message n was made, at n % ECHOES_MAX */
    uint32_t incarnation_changes; /* since the start of the process */
    bool has_store;               /* counters of the store were restored before this incarnation */
    bool has_merged;              /* and an active peer's table was merged into them */
    uint64_t store_asked_ns;      /* when a peer last asked for them; 0: never */
    uint64_t store_taken_ns;      /* when a part of what a peer's store had was last taken; 0: never */
    uint64_t born_ns;             /* EVENT_START */
    uint64_t started_ns, stop_ns, farewell_ns;
    uint64_t hello_ns; /* when those who do not know us are told of us again */

    struct member member[NODE_PEERS_MAX];
    struct origin origin[ORIGINS_MAX];
    uint32_t member_end, origin_end; /* from there on no slot was ever used */
    uint32_t me;                     /* member index of this node */
    uint32_t my_slot;                /* origin slot of this incarnation */
    uint32_t last_uid;
    uint32_t peer_count; /* members that have not left, this node included */

    struct budget *budget; /* by limit, as the next four: limits.room of them */
    int64_t *early_units;  /* a key's unsent tokens, none of them paid off, that ask for an early push */
    int64_t *soon_units;   /* unsettled ones that our share of the refill pays off within an interval; -1: none */
    int64_t *worst_debt_units;
    uint64_t *doubted_tokens;
    uint64_t share;     /* of this node in every limit */
    uint64_t settle_ns; /* smoothed; initially a guess */
    struct table *table;
    struct reservations *reservations; /* NULL: none can be made */
    uint64_t reservations_made;
    atomic_bool reservations_locked; /* these two, and `random` for requests: if there are several lanes */

    struct events *events;  /* of LOG limits */
    uint32_t config_limits; /* indices below are the config's: they stay */
    uint32_t limits_added;  /* that were new, since unused ones were last freed */
    uint64_t swept_ns;      /* when unused limits were last freed; 0: never */
    struct peaks peaks;
    struct refundable refundable;
    uint64_t tenant_keys_max; /* 0: as many as fit */
    uint64_t converted_ns;    /* when a key last got another limit; 0: never */

    /* Own spends that no peer was told of: see untold.c. */
    struct lane *lane;
    uint32_t lane_count;
    struct spend *open;               /* the rings of all lanes, one behind the other */
    uint32_t open_room, open_places;  /* of each ring: for requests; and for what these evict besides */
    uint32_t batch_max;               /* keys in a batch */
    struct spend *telling, *sorted;   /* scratch for batch_max of them */
    uint32_t telling_count;           /* gathered, and in no batch yet: see tell_ahead */
    bool told_ahead;                  /* what may be told is: only the message is missing */
    bool telling_orphans;             /* some of these are of keys that were evicted since */
    bool telling_spans;               /* some were gathered by an earlier step */
    uint64_t telling_since_ns;        /* nothing of that is older */
    uint64_t pace, credit, credit_ns; /* see tell_at_pace */
    uint32_t slice_keys, push_keys;   /* as many untold ones are worth a message; call for one now */
    struct waits waits;
    struct forgetting forgetting;
    uint64_t tell_ns;  /* when more may be told; UINT64_MAX: nothing waits for the pace */
    bool push_wanted;  /* spends since the last step call for an early push */
    bool push_waits;   /* the last step saw it, but it was too early */
    bool hurry_wanted; /* a key's allowance runs out: the sooner its spends are told, the sooner they settle */
    bool hurry_waits;
    bool answer_wanted; /* something was applied that others wait to see acknowledged */
    bool log_full;
    bool snapshot_wanted;
    uint64_t published_ns; /* last time */
    uint64_t tick_ns;      /* next batch */

    struct list inbox;                 /* batches that wait for what they depend on */
    uint32_t inbox_count, inbox_parts; /* parts are counted in both */
    uint64_t inbox_keys;
    struct begun begun;
    uint64_t log_keys;       /* over all origins */
    uint64_t compacted_ns;   /* when merging was last tried; 0: never */
    uint64_t compacted_keys; /* what it left of a log that was too large; 0: the log is not */
    uint64_t everywhere;     /* own batches up to this one are acknowledged by all */
    struct merger merger;
    struct tally tally;
    struct aside aside;

    /* The work of a step is bounded: see step_has_time(). */
    uint32_t step_keys, step_left;
    uint32_t settle_part, settled_keys; /* own spends that a step may settle, see part_to_settle; it has settled */
    uint32_t apply_room;                /* others' that it may still apply */
    uint64_t step_worked;
    bool step_again;                /* something was left for a step that follows at once: */
    bool apply_left;                /* batches that could be applied, */
    bool apply_waits;               /* (some until logs are merged) */
    bool settle_left, settled_last; /* or settled (which had its turn first), */
    bool publish_left;              /* or said, */
    bool retells;                   /* or counters that the store is told again: from this part of the table on */
    uint32_t retell_bits;
    uint64_t retell_next;
    struct snapshot snapshot;
    uint64_t demand_ns;        /* when demands were last averaged */
    uint64_t unsealed_told_ns; /* when the last notice about such a message was given; 0: never */
    uint64_t implausible_told_ns,
        crowded_told_ns; /* the same of incarnations, and of members beyond unlisted_max */

    struct plane *plane; /* rules; see plane.h */
    struct node_stats stats;
    struct message in, header; /* scratch: too large for the stack */
    struct due due[PUBLISH_BATCHES_MAX];
};

/* For how long this node has run: its clock without the time in which it did not get to. */
static inline uint64_t awake_ns(const struct node *node)
{
    return node->now_ns - node->lost_ns;
}

/* False: this node decides nothing now. */
static inline bool may_decide(const struct node *node)
{
    return node->state == PEER_ACTIVE && !node->stopping && node->accord.decides;
}

#endif
