/*
 * aside_state: the memory of aside.h: since when a member is late, and the table of debts.
 *
 * The one idea: the table of keys exists only from the first time that a member is late.
 */
#ifndef HEADGATE_CLUSTER_STATE_ASIDE_STATE_H
#define HEADGATE_CLUSTER_STATE_ASIDE_STATE_H

#include "cluster/node_options.h"

#include <stdbool.h>
#include <stdint.h>

struct aside_key;

struct aside {
    bool on;
    bool overflowed;                 /* a key without a place was charged */
    uint32_t epoch;                  /* slots of another epoch are empty */
    uint32_t count;                  /* slots in use */
    uint64_t mask;                   /* the number of slots less one */
    uint64_t began_ns;               /* all charges since then are in the table */
    uint64_t late_ns;                /* when a member was last late */
    uint64_t converted_ns, swept_ns; /* the node's at began_ns */
    uint64_t members;                /* a hash of the members that share limits, at began_ns */
    /* of each member at began_ns, in 1/SHARE_ONE; the sum is at most the whole */
    uint64_t share[NODE_PEERS_MAX];
    /* of each member at began_ns: the place of its region in the options, and how many share that region's part */
    uint8_t region[NODE_PEERS_MAX], sharers[NODE_PEERS_MAX];
    struct aside_key *slot; /* NULL: no member was late yet, or no memory */
};

#endif
