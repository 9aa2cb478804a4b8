/*
 * demand: how many tokens are spent a second at each member, over all keys, smoothed.
 *
 * The one idea: a member's batches say what it spent. What a member refuses, nobody is told, so a member that is
 * held down shows no more than its share.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_DEMAND_H
#define HEADGATE_CLUSTER_MEMBERS_DEMAND_H

struct node;

/* To be called with each tick. */
void demand_average(struct node *node);

#endif
