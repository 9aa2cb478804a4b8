/*
 * node_figures: single figures of a node, for tests that ask for them often.
 *
 * node_stats and node_peers give the same figures with all others, for which they walk origins, members and limits. The
 * simulator asks at every step, so here each figure is read where the node keeps it. Nothing here is for a node whose
 * threads run.
 */
#ifndef HEADGATE_TESTS_LIB_NODE_FIGURES_H
#define HEADGATE_TESTS_LIB_NODE_FIGURES_H

#include "cluster/node.h"

#include <stdbool.h>
#include <stdint.h>

/* What the simulator compares before and after a step. */
struct step_figures {
    uint64_t log_keys, ghost_keys, open_keys, batches_closed, batches_compacted, step_keys_max, doubted_tokens;
    uint64_t rights; /* grants, and tokens of vouchers that were given back */
    uint32_t reservations, former;
    bool serves; /* the step must serve a part of the table: for the caller to say */
};

struct step_figures step_figures_of(const struct node *node);
uint32_t open_reservations(const struct node *node);
uint32_t former_reservations(const struct node *node);
bool reservation_is_open(const struct node *node, struct reservation_id id); /* or its time is over */
uint64_t batches_closed(const struct node *node);
uint64_t uncharged_keys(const struct node *node);
/* True: every peer that has not left has said that it has all batches of the node. */
bool all_have_heard(const struct node *node);
/* False: the node has no voucher of the key. */
bool may_have_voucher(const struct node *node, struct key_id id);

#endif
