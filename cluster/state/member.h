/*
 * member: the members, and questions about them: who counts, who hears whom, which one to ask.
 *
 * The one idea: a member is a row of plain figures, and these predicates say what the figures mean.
 * All folders ask them. members/ alone changes who a member is; gossip.c, apply/, log/ and grant.c write the
 * figures that they measure of it.
 */
#ifndef HEADGATE_CLUSTER_STATE_MEMBER_H
#define HEADGATE_CLUSTER_STATE_MEMBER_H

#include "base/bytes.h"
#include "cluster/codec/message.h"
#include "cluster/node.h"
#include "cluster/state/clock_state.h"
#include "cluster/state/limit_list_state.h"
#include "cluster/state/proof_state.h"
#include "cluster/state/weights_state.h"

#include <stdbool.h>
#include <stdint.h>

struct node;

enum {
    HEARING_INTERVALS = 4, /* since the last message of a member that is heard directly */
    REST_INTERVALS = 3,    /* between two messages of a member at rest: see spared_ticks.c */
};

/* The newest word of a member about what it was asked for, since that start of it: see members/demand.h. */
struct demand_word {
    bool said, proposes;
    uint64_t incarnation, message, given, wanted;
};

struct member {
    bool used;
    bool self;
    bool configured;
    bool reserved; /* all members count its share, even if they have not heard this incarnation */
    bool knows_me; /* its newest message lists this node's incarnation */
    bool knows_we_left;
    /* its newest message says that our share counts whatever our incarnation */
    bool reserves_ours;
    bool silent;
    bool mute_in, mute_out;
    bool config_differs;
    bool refuses;          /* by its newest message it decides nothing: see accord.c */
    bool grants;           /* by its newest message it answers asks */
    bool lists_grants;     /* by its own word, of this incarnation: it lists grants of any log as later spends */
    bool heeds_uncharged;  /* by its newest message it settles nothing by digests that name uncharged spends */
    bool uncharged;        /* its newest digest names spends that it has not charged, or may name some */
    uint64_t config;       /* digest of that incarnation's config; 0: unknown */
    bool forgotten;        /* left by an operator's word or forget_after */
    bool share_freed;      /* left for good, and all its spends are applied here */
    bool withheld;         /* our messages do not name its incarnation yet: see shares_divide */
    bool former_left;      /* of a withheld member: its incarnation before had left */
    bool has_store;        /* by its own word it began with counters of its store */
    enum peer_state state; /* JOINING, ACTIVE or LEFT, as last told */
    char name[NODE_NAME_BYTES];
    char region[NODE_NAME_BYTES];
    uint64_t home; /* limit_home_of_daemon() of it */
    char gossip_address[NODE_ADDRESS_BYTES];
    char snapshot_address[NODE_ADDRESS_BYTES];
    uint64_t incarnation; /* 0: never heard */
    uint64_t former;      /* of a withheld member: the incarnation before; 0: it was never heard */
    uint64_t retired_incarnation;
    uint64_t vain_incarnation; /* it was asked in vain for what a start needs: see member_is_passed_over; 0: none */
    uint64_t store_known;      /* the incarnation whose store counters are known here; 0: none */
    uint64_t knows_stores;     /* bit i: it knows the store counters of member i */
    uint64_t number;           /* of its newest message that is known here */
    uint64_t heard_ns;         /* when a newer message was heard, at first or second hand; 0: never */
    uint64_t heard_awake_ns;   /* the same on the clock of awake_ns(): see silence.c */
    uint64_t heard_direct_ns;  /* at first hand */
    bool silence_told;         /* the last notice said that it is silent */
    bool flaps;                /* it was silent again soon after it was heard again */
    uint64_t returned_ns;      /* awake_ns() when it was last heard again; 0: never */
    uint64_t left_ns;
    /* its message `echo_number` told that it knew our message `echo` */
    uint64_t echo, echo_number;
    uint64_t hears;                         /* bit i: it hears member i; its own bit: it is at rest */
    uint64_t knows_ended[ORIGINS_MAX / 64]; /* bit o: it said that origin o has ended */
    uint64_t retired[ORIGINS_MAX / 64];     /* bit o: it said that it has retired origin o */
    uint64_t acknowledged;                  /* own batches up to this one, in the causal sense */
    uint64_t made_ns;                       /* the earliest time of its newest message, our clock */
    /* the same if the message before it was heard as well, so that it repeats nothing; else 0 */
    uint64_t answers_ns;
    uint64_t covered_ns; /* all that it had charged by then is charged here: see deferred_round.c */
    uint64_t round_trip_ns, round_trip_spread_ns;
    struct demand_word demand;
    uint64_t demand_tokens, wanted_tokens;           /* given and refused there since demands were last averaged */
    double demand_tokens_per_s, wanted_tokens_per_s; /* smoothed, over all keys */
    uint64_t answered_ask, answered_incarnation; /* the number of its last ask that was answered, and its maker */
    struct weights_word weights;
    struct limit_list_word limits;
    struct peer_clock clock;
    struct peer_traffic traffic;
    struct member_proof proof;
    uint64_t known[ORIGINS_MAX]; /* newest digest, by origin slot */
};

/* Of the member at that place, where each has a bit. */
static inline uint64_t member_bit(uint32_t index)
{
    return (uint64_t)1 << index;
}

/* True: another member that has a share, or may have it back. */
static inline bool member_may_share(const struct member *member)
{
    return member->used && !member->self && !member->share_freed;
}

int member_find(const struct node *node, struct bytes name);
/* The hash with the member's incarnation and these bits in it: to see whether members have changed. */
uint64_t member_hash(uint64_t hash, const struct member *member, uint64_t bits);
/* True for a member that has not left and is not this node: its acknowledgement is needed. */
bool member_needed(const struct member *member);
/* True: the member has said that it has retired that origin. */
bool member_has_retired(const struct member *member, uint32_t slot);
/*
 * True: the member may lack batches of that origin up to that number. Who has retired an origin takes no more of it,
 * whatever it lacks.
 */
bool member_lacks(const struct member *member, uint32_t slot, uint64_t number);
bool member_hears(const struct node *node, const struct member *listener, uint32_t speaker);
/* True: of what it has applied and spent nobody is believed but the member itself, or its signature. */
bool member_signs(const struct node *node, uint32_t index);
/*
 * True: the member has signed that its own batch holds that, grants aside. `age_ns`: how long ago it was closed, by the
 * member's word, but for the time that this was on its way.
 */
bool member_vouches(const struct node *node, uint32_t index, const struct batch *batch, uint64_t *age_ns);
/* The same of all grants of the batch. False as well where whoever passed it on knows one of their holders no more. */
bool member_vouches_grants(const struct node *node, uint32_t index, const struct batch *batch);
/*
 * True: only the member itself is believed about what it has applied and spent, since it signs and this node hears it
 * itself. Of one that is not heard, what others pass on needs its signature.
 */
bool member_speaks_alone(const struct node *node, uint32_t index);
/* True if its newest message said that it is at rest: see is_at_rest. */
bool member_rests(const struct node *node, uint32_t index);
/* True: an active peer that is heard, and may be asked for a snapshot. */
bool member_can_give(const struct member *member);
/* True: it was asked in vain for a snapshot since it started; a node that joins asks others first. */
bool member_is_passed_over(const struct member *member);
/* Of those that can give, the one that was heard last, or -1. */
int member_to_ask(const struct node *node);
/* The same, but one that is passed over only where there is no other. */
int member_to_ask_first(const struct node *node);

#endif
