/*
 * rest: when nothing has to be said.
 *
 * The one idea: a node is at rest if it has nothing to tell and waits for nothing. Where all are at
 * rest, two ticks of three pass without a message.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_REST_H
#define HEADGATE_CLUSTER_MEMBERS_REST_H

#include <stdbool.h>
#include <stdint.h>

struct node;

/* This node has nothing to tell, and waits for nothing that others would have to tell. */
bool is_at_rest(const struct node *node);
/* Nor have, nor do, the others: what was last said at `said_ns` need not be said with this tick. */
bool tick_is_spared(const struct node *node, uint64_t said_ns);

#endif
