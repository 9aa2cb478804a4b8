/*
 * shares: computes this node's share after members or their states have changed.
 *
 * The one idea: there may be thousands of limits, so budgets are computed again only when the
 * share, the number of peers, or being alone has changed.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_SHARES_H
#define HEADGATE_CLUSTER_MEMBERS_SHARES_H

struct node;

void shares_refresh(struct node *node);

#endif
