/*
 * snapshot_state: the memory of the folder snapshot/: parts to ask for, and the contents of taken
 * parts.
 *
 * The one idea: the first bits of ids cut the key space into parts. Pages, the contents of parts,
 * outlive their snapshot; apply/ reads them.
 */
#ifndef HEADGATE_CLUSTER_STATE_SNAPSHOT_STATE_H
#define HEADGATE_CLUSTER_STATE_SNAPSHOT_STATE_H

#include "cluster/codec/message.h"
#include "cluster/node_options.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    SNAPSHOT_PREFIX_BITS_MAX = 32,
    SNAPSHOT_ASKED_MAX = 6, /* parts asked for at the same time */
    SNAPSHOT_GIVERS = 2,    /* that a start takes a snapshot of, where they sign */
    SNAPSHOT_TODO_MAX = (SNAPSHOT_ASKED_MAX + 1) * (SNAPSHOT_PREFIX_BITS_MAX + 1),
    PAGES_MAX = 8192, /* parts of a snapshot */
};

/* A part of a snapshot that was taken: its keys contain the batches that the donor had applied. */
struct page {
    uint64_t prefix;
    uint32_t bits;
    uint64_t applied[ORIGINS_MAX]; /* by origin slot */
    /* it may contain batches up to here, since its donor had pages itself; at least `applied` */
    uint64_t beyond[ORIGINS_MAX];
};

/* A part of the key space: ids that begin with the `bits` low bits of `prefix`. */
struct part {
    uint64_t prefix;
    uint32_t bits;
    uint64_t asked_ns; /* 0: to be asked for at once */
};

/* Whose snapshot this node has taken since it began to join. */
struct snapshot_giver {
    uint32_t member;
    uint64_t incarnation;
};

/*
 * A snapshot that is being taken: a stack of parts to ask for, parts asked for, and merged parts.
 */
struct snapshot {
    bool running;
    bool of_store;  /* of the counters of the donor's store, while the donor joins: see stores.h */
    bool done;      /* since this incarnation began to join */
    bool is_second; /* of another peer, besides the one that is taken: see snapshot_second */
    uint32_t giver_count;
    struct snapshot_giver giver[SNAPSHOT_GIVERS];
    uint32_t donor; /* member */
    uint64_t donor_incarnation;
    uint64_t donor_knows_stores; /* the donor's knows_stores when the snapshot began */
    uint64_t started_ns; /* when it began, or a part last came */
    uint64_t begun_ns;
    uint64_t merged_ns; /* when all parts were merged; 0: they are not */
    uint32_t answered;  /* parts that were merged or split */
    uint32_t tried;     /* 1 + the donor that is tried since `tried_ns`; 0: none */
    uint64_t tried_ns;
    uint32_t rounds; /* how often all donors were passed over, see snapshot_donor */
    uint64_t awaits_since_ns; /* since when the donor is given time to hear us; 0: it is not */
    uint64_t refused_ns;      /* when dropped batches last made us refuse a part; 0: never */
    /* when a part was first refused since the last complete snapshot; 0: none */
    uint64_t refused_since_ns;
    uint64_t vain_ns; /* when an answer that could not be used last ended a snapshot; 0: never */
    /* 1 + a member that has not retired what the last donor had retired: a start asks it next; 0: there is none */
    uint32_t keeper;
    uint32_t depth;   /* bits of the first part that was not split; 0: none yet */
    uint32_t todo_count, asked_count;
    struct part todo[SNAPSHOT_TODO_MAX], asked[SNAPSHOT_ASKED_MAX];
    /* by member: incarnations whose spends every part contains */
    uint64_t retired[NODE_PEERS_MAX];
    uint32_t page_count, page_room;
    /* by prefix, ascending, each kept until all applied batches are beyond it; may be NULL */
    struct page *page;
};

#endif
