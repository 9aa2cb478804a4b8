/*
 * plane_reach: warns of rules under which this node can admit nothing any more.
 *
 * The one idea: a change of shares may leave a rule without a single token here. One notice says so
 * with each change of this node's share.
 */
#ifndef HEADGATE_CLUSTER_PLANE_PLANE_REACH_H
#define HEADGATE_CLUSTER_PLANE_PLANE_REACH_H

struct effects;
struct node;

/*
 * To be called after shares have changed: warns if this node can admit nothing under some rules or
 * limits of the config.
 */
void plane_warn_of_reach(const struct node *node, struct effects *effects);

#endif
