/*
 * member: what can be read off the members: who counts, who hears whom, whom to ask.
 *
 * The one idea: a member is a row of plain figures, and these predicates say what the figures mean.
 * All folders ask them; only members/ changes a member, and gossip.c its digest.
 */
#ifndef HEADGATE_CLUSTER_STATE_MEMBER_H
#define HEADGATE_CLUSTER_STATE_MEMBER_H

#include "base/bytes.h"
#include "cluster/codec/message.h"
#include "cluster/node.h"

#include <stdbool.h>
#include <stdint.h>

struct node;

enum {
    HEARING_INTERVALS = 4, /* since its last message: whoever is heard directly, */
    REST_INTERVALS = 3,    /* and between two of one that is at rest: see rest.c */
};

struct member {
    bool used;
    bool self;
    bool configured;
    bool reserved; /* its share is counted by everybody, whether or not this incarnation was acknowledged */
    bool knows_me; /* its newest message lists this node's incarnation */
    bool knows_we_left;
    bool reserves_ours; /* its newest message says that our share is counted whatever our incarnation */
    bool silent;
    bool mute_in, mute_out;
    bool config_differs;
    bool refuses;          /* as of its newest message known here it decides nothing: see accord.c */
    uint64_t config;       /* digest of that incarnation's config; 0: not known */
    bool forgotten;        /* left because an operator, or forget_after, said so */
    bool share_freed;      /* left for good, and everything of it is applied here */
    bool has_store;        /* it began with counters of its store, as it says itself */
    enum peer_state state; /* JOINING, ACTIVE or LEFT, as last told */
    char name[NODE_NAME_BYTES];
    char region[NODE_NAME_BYTES];
    char gossip_address[NODE_ADDRESS_BYTES];
    char snapshot_address[NODE_ADDRESS_BYTES];
    uint64_t incarnation; /* 0: never heard */
    uint64_t retired_incarnation;
    uint64_t store_known;     /* what the store of that incarnation had is known here; 0: of none */
    uint64_t knows_stores;    /* bit i: it knows what the store of member i had */
    uint64_t number;          /* of its newest message known here */
    uint64_t heard_ns;        /* when a newer message became known, at first or second hand; 0: never */
    uint64_t heard_awake_ns;  /* the same as awake_ns(): see silence.c */
    uint64_t heard_direct_ns; /* at first hand */
    bool silence_told;        /* what the log last said of it */
    bool flaps;               /* it was silent again soon after it had been heard again */
    uint64_t returned_ns;     /* awake_ns() when it was last heard again; 0: never */
    uint64_t left_ns;
    uint64_t echo, echo_number;             /* its message `echo_number` told that it knew ours up to `echo` */
    uint64_t hears;                         /* bit i: it hears member i directly; its own: it is at rest */
    uint64_t knows_ended[ORIGINS_MAX / 64]; /* bit o: it told us itself that the incarnation of origin o is over */
    uint64_t acknowledged;                  /* own batches up to this one, in the causal sense */
    uint64_t made_ns;                       /* its newest message was made then or later, on our clock */
    uint64_t answers_ns; /* the same, if the message before that was heard as well: it repeats nothing; or 0 */
    uint64_t covered_ns; /* what it had charged its keys with until then is charged here: see pay.c */
    uint64_t round_trip_ns, round_trip_spread_ns;
    uint64_t demand_tokens;      /* spent there since the demand was last averaged */
    double demand_tokens_per_s;  /* smoothed, over all keys */
    uint64_t known[ORIGINS_MAX]; /* newest digest, by origin slot */
};

int member_find(const struct node *node, struct bytes name);
/* A member that has not left and is not this node: its acknowledgement is needed. */
bool member_needed(const struct member *member);
bool member_hears(const struct node *node, const struct member *listener, uint32_t speaker);
/* Its newest message said so: see is_at_rest. */
bool member_rests(const struct node *node, uint32_t index);
/* An active peer to ask for what it has, or -1. */
int member_to_ask(const struct node *node);

#endif
