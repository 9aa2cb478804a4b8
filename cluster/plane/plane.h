/*
 * plane: how rules come to all peers.
 *
 * The one idea: peers advertise a digest of their rulebook; whose digest differs asks, newest versions first, until
 * both know the same. What was fetched is applied when it is whole, so that no request sees half of a change. The
 * rulebook (rules/rulebook.h) makes the order irrelevant; the ruleset (rules/ruleset.h) is what requests use.
 * Canaries are watched here, and services' health is told around. Uses the node's membership and nothing else of it.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_H
#define HEADGATE_CLUSTER_PLANE_PLANE_H

#include "cluster/node.h"

#include <stdbool.h>

struct plane;

/* After everything else of the node: its options are set and its limits can be interned. False: no memory. */
bool plane_create(struct node *node, struct error *error);
void plane_destroy(struct plane **plane);

/* True if the event is of the rule plane, and done with: changes, what the store kept, health, and its own messages. */
bool plane_event(struct node *node, const struct event *event, struct effects *effects);
/* After every event: asks, advertises, watches and compiles what is due. */
void plane_step(struct node *node, struct effects *effects);
/* No step follows that would go on with it: changes in work come to their end. */
void plane_end(struct node *node, struct effects *effects);
/*
 * Somebody else has the same rules, or nobody was ever heard, or this node does not know yet what others have: who goes
 * now, and does not come back, takes no version along that it made.
 */
bool plane_is_passed_on(const struct node *node);
/* A joining node must not admit before it knows the rules: false while some peer that it hears has others. */
bool plane_knows_the_rules(const struct node *node);
void plane_check(const struct node *node);

#endif
