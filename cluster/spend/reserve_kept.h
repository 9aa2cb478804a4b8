/*
 * reserve_kept: reservations of the former process of this daemon, at a node that has peers.
 *
 * The one idea: peers count what such a reservation holds as spent, since the former process left only when all of them
 * had acknowledged it. A start takes it from a peer with the snapshot. So these tokens are this node's own, settled
 * ones, as soon as it has joined: the reservation is taken over then. Calls of node.h keep and recall reservations.
 */
#ifndef HEADGATE_CLUSTER_SPEND_RESERVE_KEPT_H
#define HEADGATE_CLUSTER_SPEND_RESERVE_KEPT_H

#include <stdbool.h>

struct node;

/* True: all members that are needed have acknowledged all that this node has spent, and no grant is on its way. */
bool all_is_acknowledged(const struct node *node);
/* True: some wait, and this node has joined: the next step takes some of them over. */
bool reserve_takes_over(const struct node *node);
/* Takes over as many as the step has time for, at least one. In a step. */
void reserve_take_over(struct node *node);

#endif
