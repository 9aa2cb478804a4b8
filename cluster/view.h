/*
 * view: this node's own view of the cluster: who is silent, whose config counts, what share each
 * member has.
 *
 * The one idea: the view is made anew in every step, from members alone, in one order: silence,
 * accord, shares.
 */
#ifndef HEADGATE_CLUSTER_VIEW_H
#define HEADGATE_CLUSTER_VIEW_H

struct effects;
struct node;

/* This node's own view of who hears whom, shares and silence, after anything changed or time passed. */
void view_refresh(struct node *node, struct effects *effects);

#endif
