/*
 * spared_ticks: decides which ticks pass without a message.
 *
 * The one idea: a node is at rest if it has nothing to tell and waits for nothing. Where all nodes
 * are at rest, two ticks of three pass without a message.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_SPARED_TICKS_H
#define HEADGATE_CLUSTER_MEMBERS_SPARED_TICKS_H

#include <stdbool.h>
#include <stdint.h>

struct node;

/* True if this node has nothing to tell and waits for nothing that others would have to tell. */
bool is_at_rest(const struct node *node);
/*
 * True if this node and all others are at rest and have said so: this tick needs no message after
 * the one of `said_ns`.
 */
bool tick_is_spared(const struct node *node, uint64_t said_ns);

#endif
