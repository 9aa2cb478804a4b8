/*
 * spent: whether all that this node spent before a moment is told and has settled.
 *
 * The one idea: each spend is in a ring, gathered, or in a batch of the own log until it has settled,
 * and the oldest of each says from when it is. Debts that refill pays off without a word count as well.
 */
#ifndef HEADGATE_CLUSTER_LOG_SPENT_H
#define HEADGATE_CLUSTER_LOG_SPENT_H

#include <stdbool.h>
#include <stdint.h>

struct node;

/* Of all incarnations of this process. A spend may count as up to a millisecond older than it is. */
bool spent_is_settled(const struct node *node, uint64_t before_ns);

#endif
