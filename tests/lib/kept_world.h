/*
 * kept_world: a host that ends in order, and its next start, which has the reservations of the former one.
 *
 * The one idea: in between there is what a daemon has in its file. A test may change that, or use it twice.
 */
#ifndef HEADGATE_TESTS_LIB_KEPT_WORLD_H
#define HEADGATE_TESTS_LIB_KEPT_WORLD_H

#include "tests/lib/cluster_harness.h"

enum { KEPT_MAX = 8 };

struct kept_world {
    struct node_reservation reservation[KEPT_MAX];
    unsigned count;
    bool keeps; /* the node said that it keeps what it had */
};

extern struct kept_world kept;

/* The host leaves, and its node is gone; `kept` has what it held. */
void kept_stop(unsigned host);
/* Its next node has those reservations again. Returns how many; the node must be started. */
unsigned kept_recall(unsigned host);

#endif
