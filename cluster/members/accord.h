/*
 * accord: whose config counts where the configs of members differ.
 *
 * The one idea: members of one config decide, the others refuse. A node begins only when all others
 * that it hears have said that they refuse.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_ACCORD_H
#define HEADGATE_CLUSTER_MEMBERS_ACCORD_H

struct effects;
struct node;

/* Whether this node decides: node->accord.decides. Before shares_refresh. */
void accord_refresh(struct node *node, struct effects *effects);

#endif
