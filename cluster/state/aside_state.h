/*
 * aside_state: what aside.h remembers: since when somebody is late, and the table of what is set
 * aside.
 *
 * The one idea: the table of keys is there only from the first time that a member is late.
 */
#ifndef HEADGATE_CLUSTER_STATE_ASIDE_STATE_H
#define HEADGATE_CLUSTER_STATE_ASIDE_STATE_H

#include "cluster/node_options.h"

#include <stdbool.h>
#include <stdint.h>

struct aside_key;

struct aside {
    bool on;
    bool overflowed;                 /* some keys were charged that have no place */
    uint32_t epoch;                  /* slots of another one are empty */
    uint32_t count;                  /* slots in use */
    uint64_t mask;                   /* of slots, less one */
    uint64_t began_ns;               /* whatever was charged since then is in the table */
    uint64_t late_ns;                /* when somebody was last late */
    uint64_t converted_ns, swept_ns; /* the node's, then */
    uint64_t members;                /* a hash of those who share limits, then */
    uint64_t share[NODE_PEERS_MAX];  /* of each member then, in 1/SHARE_ONE; all together at most the whole */
    struct aside_key *slot;          /* NULL until somebody is late for the first time, or without memory */
};

#endif
