/*
 * view: this node's own view of the cluster: which members are silent, whose config counts, which
 * share each has.
 *
 * The one idea: each step makes the view anew, from members alone, in one order: silence, accord,
 * shares.
 */
#ifndef HEADGATE_CLUSTER_VIEW_H
#define HEADGATE_CLUSTER_VIEW_H

struct effects;
struct node;

/* Makes the view anew; to be called after a change or as time passes. */
void view_refresh(struct node *node, struct effects *effects);

#endif
