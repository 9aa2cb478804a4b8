/*
 * plane_limits: brings the limits of the config into force that a reload has read here or at a peer.
 *
 * The one idea: a version of the limits (members/limit_list.h) changes what names mean, and nothing else. A key is of
 * the name, so it keeps what it has spent, and is converted to the new terms when it is asked for, as a key of a rule
 * is.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_LIMITS_H
#define HEADGATE_CLUSTER_PLANE_PLANE_LIMITS_H

#include "cluster/node.h"
#include "rules/ruleset.h"

/* Interns the terms and says what the ruleset must know of each limit. False, with a sentence: there is no room. */
bool plane_limits_intern(struct node *node, const struct named_limits *limits,
                         struct ruleset_named named[NAMED_LIMITS_MAX], struct error *error);
/* Takes over the limits that a reload has read, or refuses them: node_limits_result. */
void plane_limits_change(struct node *node, const struct named_limits *limits, uint64_t wall_ms,
                         struct effects *effects);
/* Brings the newest version into force, and gives it to the store. */
void plane_limits_step(struct node *node, struct effects *effects);

#endif
