/*
 * plane: brings rules to all peers.
 *
 * The one idea: peers advertise a digest of their rulebook. A peer whose digest differs asks for
 * versions, newest first, until both books agree. Fetched versions come into force together, so no
 * request sees half of a change. The rulebook (rules/rulebook.h) makes the order irrelevant;
 * requests use the ruleset (rules/ruleset.h). The plane watches canaries and spreads the health of
 * services. Of the node it uses the members and the clock.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_H
#define HEADGATE_CLUSTER_PLANE_PLANE_H

#include "cluster/node.h"

#include <stdbool.h>

struct plane;

/*
 * Must be called after the rest of the node is made: options are set, limits can be interned.
 * False: no memory.
 */
bool plane_create(struct node *node, struct error *error);
void plane_destroy(struct plane **plane);

/*
 * Takes changes of rules, versions from the store, health, and messages of the plane. True: the
 * event is done with.
 */
bool plane_event(struct node *node, const struct event *event, struct effects *effects);
/* To be called after each event: asks, advertises, watches and compiles as is due. */
void plane_step(struct node *node, struct effects *effects);
/* To be called when no step follows: finishes the changes in work. */
void plane_end(struct node *node, struct effects *effects);
/*
 * True if another peer has the same rules, or no peer was ever heard, or this node does not know
 * yet what others have. A node that stops then, for ever, takes no version of its own with it.
 */
bool plane_is_passed_on(const struct node *node);
/*
 * False while a heard peer has other rules: a joining node must not admit before it knows the
 * rules.
 */
bool plane_knows_the_rules(const struct node *node);
void plane_check(const struct node *node);

#endif
