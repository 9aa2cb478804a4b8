/*
 * node_figures: single figures of node_stats, for tests that compare one of them.
 */
#ifndef HEADGATE_TESTS_LIB_NODE_FIGURES_H
#define HEADGATE_TESTS_LIB_NODE_FIGURES_H

#include "cluster/node.h"

static inline uint32_t open_reservations(const struct node *node)
{
    struct node_stats stats;
    node_stats(node, &stats);
    return (uint32_t)stats.open_reservations;
}

static inline uint64_t batches_closed(const struct node *node)
{
    struct node_stats stats;
    node_stats(node, &stats);
    return stats.batches_closed;
}

#endif
