/*
 * plane_reach: rules under which this node can admit nothing any more.
 *
 * The one idea: a rule that was fine when it was set may come to nothing when shares change; that
 * is said once with each change of this node's share.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_REACH_H
#define HEADGATE_CLUSTER_PLANE_PLANE_REACH_H

struct effects;
struct node;

/* The shares have changed: says if this node can admit nothing any more under some rules or limits of the config. */
void plane_warn_of_reach(const struct node *node, struct effects *effects);

#endif
