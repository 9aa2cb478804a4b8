/*
 * takeover_state: what a node knows of rights that end by themselves (docs/notebook/takeover.md).
 *
 * The one idea: everybody's right to its share is renewed by the messages of a majority, so who is gone need not be
 * waited for. Only members/takeover.c changes it, and knows what it means; others read `settles`, `stops`,
 * `right_ends_ns` and `owed_weight`. Without the setting nothing ever ends, and nobody is gone.
 */
#ifndef HEADGATE_CLUSTER_STATE_TAKEOVER_STATE_H
#define HEADGATE_CLUSTER_STATE_TAKEOVER_STATE_H

#include "cluster/node_options.h"

#include <stdbool.h>
#include <stdint.h>

/* What this node's messages say of a peer's right. */
enum takeover_saying { SAYS_OWNED, SAYS_DISOWNED, SAYS_NOTHING };

/* The newest message of a peer. Bit i: about the member i, of the incarnation that is known here. */
struct takeover_word {
    uint64_t number;  /* of the message; 0: none of this incarnation */
    bool acted;       /* it has had its right in this incarnation */
    bool is_stuck;    /* see takeover_is_stuck */
    bool has_figures; /* its process has had a table that counts */
    bool renews_us;   /* it renews our right */
    uint64_t disowns; /* it has not heard of them for long */
    uint64_t records; /* it has recorded that they are gone */
    uint64_t takes;   /* it knows that a majority has */
    uint64_t owes;    /* its allowance is lowered for what they, or earlier incarnations, may have spent */
};

/* A peer, at the index of its member. */
struct takeover_peer {
    uint64_t weight;
    uint64_t incarnation;
    uint32_t rank; /* by name */
    bool is_away;  /* it has left, or was forgotten: nobody waits for it */
    enum takeover_saying saying;
    uint64_t said_awake_ns;    /* since when we say nothing of it */
    uint64_t heard_awake_ns;   /* when a newer message of it was last known */
    bool was_renewed;          /* by a message of ours, in this incarnation */
    uint64_t renewed_awake_ns; /* when the newest message of it was learned that such a message named */
    bool recorded;             /* this incarnation is gone for ever: it is heard no more */
    bool taken;                /* a majority has recorded that: it is not waited for */
    bool owed;                 /* our allowance is lowered for what `owed_incarnation` may have spent */
    uint64_t owed_incarnation;
    uint64_t lease_ns; /* it has renewed our right until then; 0: it has not */
    uint64_t word_ns;  /* the earliest time of the newest message, our clock */
    uint64_t then;     /* its incarnation when our right lapsed */
    struct takeover_word word;
};

struct takeover {
    uint64_t after_ns; /* 0: there is no takeover */
    uint32_t count, me;
    uint64_t weight_all;
    uint64_t born_awake_ns;   /* when the process started */
    bool renews;              /* all words of a former process have ended */
    uint64_t renews_since_ns; /* since then, on the clock of leases */
    bool acted;               /* it has had its right in this incarnation */
    bool lapsed;              /* and has lost it */
    bool has_table;           /* it has taken a table since it began to join, or there was none */
    bool has_figures;         /* the same of any incarnation of this process */
    bool is_ready;            /* all would let it act, but for own spends that have not settled */
    bool settles;             /* own spends may settle */
    bool stops;               /* no refill pays off what is unsettled */
    uint64_t right_ends_ns;   /* requests are decided as of then, at the latest; UINT64_MAX: of now */
    uint64_t owed_weight;     /* of all who are owed */
    uint64_t ready_ns;        /* since when it is; own spends from before must settle first: takeover_node.c */
    struct takeover_peer peer[NODE_PEERS_MAX];
};

#endif
