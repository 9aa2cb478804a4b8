/*
 * snapshot_state: what the folder snapshot/ remembers: parts to ask for, and what the parts taken
 * contained.
 *
 * The one idea: the key space is cut into parts by the first bits of ids. Pages, what parts
 * contained, outlive the snapshot that brought them; apply/ reads them.
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
    SNAPSHOT_TODO_MAX = (SNAPSHOT_ASKED_MAX + 1) * (SNAPSHOT_PREFIX_BITS_MAX + 1),
    PAGES_MAX = 8192, /* parts of a snapshot */
};

/* A part of a snapshot that was taken: keys below it stand for what the donor had applied then. */
struct page {
    uint64_t prefix;
    uint32_t bits;
    uint64_t applied[ORIGINS_MAX]; /* by origin slot */
    uint64_t beyond[ORIGINS_MAX];  /* it may have some up to there, since its donor had parts: or `applied` */
};

/* Of the key space: ids that begin with the `bits` low bits of `prefix`. */
struct part {
    uint64_t prefix;
    uint32_t bits;
    uint64_t asked_ns; /* 0: it is to be asked for at once */
};

/* Taking a snapshot: parts still to ask for, a stack; those asked for; and those merged already. */
struct snapshot {
    bool running;
    bool of_store;  /* of what the donor's store had, while it joins itself: see store_exchange.c */
    bool done;      /* since this incarnation began to join */
    uint32_t donor; /* member */
    uint64_t donor_incarnation;
    uint64_t donor_knows_stores; /* as in its member, when the snapshot began */
    uint64_t started_ns;
    uint64_t awaits_since_ns;  /* since when a donor is given time to hear of us; 0: it is not */
    uint64_t refused_ns;       /* when a part could last not be taken since batches were dropped; 0: never */
    uint64_t refused_since_ns; /* and when first, since a snapshot was whole; 0: not since then */
    uint32_t depth;            /* bits of the first part that was not split; 0: there is none yet */
    uint32_t todo_count, asked_count;
    struct part todo[SNAPSHOT_TODO_MAX], asked[SNAPSHOT_ASKED_MAX];
    uint64_t retired[NODE_PEERS_MAX]; /* by member: incarnations whose spends every part contains whole */
    uint32_t page_count, page_room;
    struct page *page; /* by prefix, ascending, each kept until everything applied here is beyond it; may be NULL */
};

#endif
