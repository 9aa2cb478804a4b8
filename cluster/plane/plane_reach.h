/*
 * plane_reach: warns of rules under which nothing can be admitted any more, here or of some keys.
 *
 * The one idea: a change of shares may leave a rule without a single token here, and a member that is gone for good
 * may have been the home of keys. One notice says so with each change of this node's share, and with each such member.
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
/* To be called after a member is gone for good: warns if rules have a home where no member is any more. */
void plane_warn_of_homes(const struct node *node, struct effects *effects);

#endif
