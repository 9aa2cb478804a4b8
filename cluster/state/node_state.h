/*
 * node_state: the node, put together from the memories of its parts.
 *
 * Three things: members (with the newest digest heard of each), origins (one for each incarnation
 * of a member: how far its batches are applied here, and the batches that some member may lack),
 * and keys (the table). An origin whose incarnation has ended is a ghost: it gets no new batches,
 * and is retired when all members are known to have the same batches of it. One thread at a time
 * runs all but requests: see thread.h.
 */
#ifndef HEADGATE_CLUSTER_STATE_NODE_STATE_H
#define HEADGATE_CLUSTER_STATE_NODE_STATE_H

#include "base/random.h"
#include "cluster/codec/message.h"
#include "cluster/node.h"
#include "cluster/state/aside_state.h"
#include "cluster/state/clock_state.h"
#include "cluster/state/contest_state.h"
#include "cluster/state/inbox_state.h"
#include "cluster/state/limit_list_state.h"
#include "cluster/state/log_state.h"
#include "cluster/state/member.h"
#include "cluster/state/members_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/others_spent.h"
#include "cluster/state/peaks.h"
#include "cluster/state/proof_state.h"
#include "cluster/state/publish_state.h"
#include "cluster/state/refundable.h"
#include "cluster/state/rights_state.h"
#include "cluster/state/round_state.h"
#include "cluster/state/snapshot_state.h"
#include "cluster/state/spend_state.h"
#include "cluster/state/step_state.h"
#include "cluster/state/takeover_state.h"
#include "cluster/state/thread_state.h"
#include "cluster/state/uncharged_state.h"
#include "cluster/state/wanted_state.h"
#include "cluster/state/weight_lists.h"
#include "cluster/state/weights_state.h"
#include "limit/table.h"

enum {
    OPEN_KEYS_MAX = 16384,    /* keys in one batch of any origin */
    STEP_KEYS_DEFAULT = 2048, /* see node_options.step_keys */
};

/* The header of each part says which files change the part. All files may read the members here. */
struct node {
    struct node_options options;
    struct node_stats stats;
    struct random random;
    uint64_t now_ns; /* never runs backwards */
    struct step step;
    struct todo todo;

    /* Members: members/. */
    struct member member[NODE_PEERS_MAX];
    uint32_t member_end; /* slots from here on were never used */
    uint32_t me;         /* member index of this node */
    struct life life;
    struct awake awake;
    struct clocks clocks;
    struct accord accord;
    struct sharing sharing;
    struct weights weights;
    struct limit_lists limit_lists;
    struct takeover takeover;
    struct proofs proofs;
    struct stores stores;
    struct notices notices;

    /* Keys, and requests: spend/. */
    struct limit_set limits;
    struct by_limit by_limit;
    struct weight_lists weight_lists;
    struct table *table;
    uint64_t tenant_keys_max; /* 0: no bound */
    uint64_t converted_ns;    /* when a key last got another limit; 0: never */
    struct peaks peaks;
    struct refundable refundable;
    struct others_spent others_spent;
    struct thread_state *thread;
    uint32_t thread_count;
    struct outbox outbox;
    struct waits waits;
    struct forgetting forgetting;
    struct reserving reserving;
    struct retelling retelling;
    struct rights rights;
    struct contests contests;
    struct wanted wanted;

    /* Batches, from their making to their end: log/ and apply/. */
    struct origin origin[ORIGINS_MAX];
    uint32_t origin_end; /* slots from here on were never used */
    uint32_t my_slot;    /* origin slot of this incarnation */
    uint32_t last_uid;
    uint32_t batch_max; /* keys in a batch */
    struct telling telling;
    struct log log;
    struct merger merger;
    struct unsettled_index unsettled_index;
    struct aside aside;
    struct uncharged uncharged;
    struct inbox inbox;

    struct snapshot snapshot; /* snapshot/, and pages.c */
    struct plane *plane;      /* rules: plane/ */
    struct publishing publishing;
    int asker;                 /* the member whose message this step has read; -1: none */
    struct message in, header; /* scratch: too large for the stack */
};

/* The time for which this node ran: its clock without the time in which it did not get to run. */
static inline uint64_t awake_ns(const struct node *node)
{
    return node->now_ns - node->awake.lost_ns;
}

/* False: this node decides nothing now. */
static inline bool may_decide(const struct node *node)
{
    return node->life.state == PEER_ACTIVE && !node->life.stopping && node->accord.decides;
}

#endif
