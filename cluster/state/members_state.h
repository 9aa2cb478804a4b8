/*
 * members_state: what the folder members/ remembers besides the members themselves, this node's own life first.
 *
 * The one idea: everything here says where this node stands among the others: which start of its name it is, for how
 * long it ran, whose config counts, what share it has. Only members/, join.c and node.c change any of it.
 */
#ifndef HEADGATE_CLUSTER_STATE_MEMBERS_STATE_H
#define HEADGATE_CLUSTER_STATE_MEMBERS_STATE_H

#include "cluster/node.h"

#include <stdbool.h>
#include <stdint.h>

/* A newer start of this node's name. */
struct rival {
    uint64_t incarnation, number; /* the newest that was heard of it */
    uint64_t heard_awake_ns;      /* when something newer was */
};

/* From this node's start to its end: incarnation.c and join.c. */
struct life {
    enum peer_state state; /* of this node */
    bool superseded;       /* a newer incarnation of this name lives somewhere else: see rival */
    bool stopping;
    struct rival rival;
    uint64_t incarnation;
    uint32_t changes; /* of the incarnation since the start of the process */
    uint64_t born_ns; /* EVENT_START */
    uint64_t started_ns, stop_ns, farewell_ns;
    uint64_t hello_ns; /* when those who do not know us are told of us again */
};

/* The time in which this node ran, and who was silent in it: silence.c. */
struct awake {
    uint64_t wake_ns;    /* when the last step asked for the next one */
    uint64_t lost_ns;    /* in which this node did not get to run: see awake_ns() */
    uint64_t stalled_ns; /* awake_ns() as the last stall ended; 0: there was none */
    uint64_t started_ns; /* awake_ns() at life.started_ns */
    bool somebody_silent;
};

/* Whose config counts: accord.c. */
struct accord {
    bool decides;  /* our config is the one in use */
    bool asks;     /* it will be, when whoever has another one has heard message `asked_number` */
    bool told_out; /* the log says that it is not */
    uint64_t asked_number;
};

/* What part of every limit this node has: shares.c. */
struct sharing {
    uint64_t share;
    bool alone;          /* no other peer exists */
    uint32_t peer_count; /* members that have not left, this node included */
};

/* What is known of counters on disk: stores.c. */
struct stores {
    bool had_some;     /* counters of the store were restored before this incarnation */
    bool has_merged;   /* and an active peer's table was merged into them */
    uint64_t asked_ns; /* when a peer last asked for them; 0: never */
    uint64_t taken_ns; /* when a part of what a peer's store had was last taken; 0: never */
};

/* When the log was last told of what peers can bring about at will; 0: never. */
struct notices {
    uint64_t unsealed_ns;    /* a message without a seal of this cluster */
    uint64_t unreadable_ns;  /* a message of a version that this daemon does not read, */
    uint64_t unreadable;     /* and which version that was */
    uint64_t implausible_ns; /* an incarnation that nobody can have */
    uint64_t crowded_ns;     /* members beyond unlisted_max */
};

#endif
