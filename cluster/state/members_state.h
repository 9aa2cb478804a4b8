/*
 * members_state: the memory of the folder members/ besides the members, this node's own life first.
 *
 * The one idea: all of it says where this node stands among the others: which start of its name it
 * is, how long it ran, whose config counts, which share it has. Only members/, join.c and node.c
 * change it.
 */
#ifndef HEADGATE_CLUSTER_STATE_MEMBERS_STATE_H
#define HEADGATE_CLUSTER_STATE_MEMBERS_STATE_H

#include "cluster/node.h"

#include <stdbool.h>
#include <stdint.h>

/* A newer start of this node's name. */
struct rival {
    uint64_t incarnation, number; /* the newest figures heard of it */
    uint64_t heard_awake_ns;      /* when newer figures were last heard */
};

/* From this node's start to its end: incarnation.c and join.c. */
struct life {
    enum peer_state state; /* of this node */
    bool superseded;       /* another node has a newer incarnation of this name: see rival */
    bool stopping;
    struct rival rival;
    uint64_t incarnation;
    uint32_t changes; /* of the incarnation since the process started */
    uint64_t born_ns; /* the time of EVENT_START */
    uint64_t started_ns, stop_ns, farewell_ns;
    uint64_t past_since_ns; /* since when only spends of earlier starts are missing; 0: more, or nothing */
    uint64_t hello_ns;      /* when the next hello to peers that do not know this node is due */
};

/* The time in which this node ran, and silence in it: silence.c. */
struct awake {
    uint64_t wake_ns;    /* the time that the last step asked for */
    uint64_t lost_ns;    /* time in which this node did not get to run: see awake_ns() */
    uint64_t stalled_ns; /* awake_ns() when the last stall ended; 0: no stall */
    uint64_t started_ns; /* awake_ns() at life.started_ns */
    bool somebody_silent;
};

/* Whose config counts: accord.c. */
struct accord {
    bool decides; /* this node's config is in use */
    /* it will be in use when all members of other configs have heard message `asked_number` */
    bool asks;
    bool told_out; /* the last notice said that it is not in use */
    uint64_t asked_number;
};

/* A region as the home of limits (struct limit_terms). */
struct home {
    uint32_t number; /* by which terms name the region */
    uint64_t heard;  /* the part that others there have of its limits who are heard, in 1/SHARE_ONE */
};

/* So many members, this node included, that have that share each. */
struct share_group {
    uint64_t share;
    uint32_t members;
};

/* This node's part of every limit: shares.c. */
struct sharing {
    uint64_t share;
    uint64_t home_share; /* of limits whose home is this node's region; see own_share_of for others with a home */
    uint32_t home;       /* the number of this node's region as a home */
    uint32_t region;     /* the place of this node's region in the options; region_count: they do not have it */
    uint64_t sharers;    /* the members of this node's region that share limits; 0: this node decides nothing */
    struct home homes[NODE_REGIONS_MAX]; /* of the regions of the options, in their order */
    /* of all members that have one, by what it is; own_group: this node's, or NODE_REGIONS_MAX */
    struct share_group groups[NODE_REGIONS_MAX];
    uint32_t group_count, own_group;
    bool alone;          /* no other peer exists */
    uint32_t peer_count; /* members that have not left, this node included */
    /* of struct takeover, as budgets are */
    bool stops;
    uint64_t owed_weight;
    bool withholds;      /* some member is withheld: see shares_divide */
    uint64_t divided_ns; /* when the last such member was heard */
};

/* Counters of stores: stores.c. */
struct stores {
    bool had_some;     /* counters were restored from the store before this incarnation */
    bool has_merged;   /* an active peer's table was merged into them */
    uint64_t asked_ns; /* when a peer last asked for them; 0: never */
    uint64_t taken_ns; /* when a part of a peer's store counters was last taken; 0: never */
};

/* What was said last. Times are of notices that peers can cause at will; 0: never. */
struct notices {
    bool has_right;          /* this node acts: see takeover.h */
    uint64_t unsealed_ns;    /* a message without a seal of this cluster */
    uint64_t impostor_ns;    /* a message that another member than its sender has brought */
    uint64_t unreadable_ns;  /* a message of a version that this daemon does not read */
    uint64_t unreadable;     /* that version */
    uint64_t implausible_ns; /* an incarnation that no node can have */
    uint64_t joining_ns;     /* what a start waits for */
    uint64_t crowded_ns;     /* members beyond unlisted_max */
};

#endif
