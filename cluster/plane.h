/*
 * plane: how rules come to all peers.
 *
 * The one idea: peers advertise a digest of their rulebook; whose digest differs asks, newest versions first, until
 * both know the same. What was fetched is applied when it is whole, so that no request sees half of a change. The
 * rulebook (limit/rulebook.h) makes the order irrelevant; the ruleset (limit/ruleset.h) is what requests use.
 * Canaries are watched here, and services' health is told around. Uses the node's membership and nothing else of it.
 */
#ifndef HEADGATE_CLUSTER_PLANE_H
#define HEADGATE_CLUSTER_PLANE_H

#include "cluster/node.h"

#include <stdbool.h>

struct plane;

/* NULL: no memory. The node's options are set. */
struct plane *plane_create(struct node *node, struct error *error);
void plane_destroy(struct plane **plane);

/* Events of rules: EVENT_RESTORE, EVENT_RULES, EVENT_HEALTH. */
void plane_event(struct node *node, const struct event *event, struct effects *effects);
/* True if those bytes are of the rule plane (and then done with), not of the gossip about spends. */
bool plane_receive(struct node *node, const struct event *event, struct effects *effects);
/* After every event: asks, advertises and watches what is due. */
void plane_step(struct node *node, struct effects *effects);
uint64_t plane_next_wake_ns(const struct node *node);

#endif
