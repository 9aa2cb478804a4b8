/*
 * shares: what share this node has, after members or their states changed.
 *
 * The one idea: budgets are computed anew only when the share, the number of peers or solitude has
 * changed, since there may be thousands of limits.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_SHARES_H
#define HEADGATE_CLUSTER_MEMBERS_SHARES_H

struct node;

void shares_refresh(struct node *node);

#endif
