/*
 * accord: decides whose config counts where the configs of members differ.
 *
 * The one idea: members of one config decide, the others refuse. A node begins to decide only when
 * all members of other configs that it hears have said that they refuse.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_ACCORD_H
#define HEADGATE_CLUSTER_MEMBERS_ACCORD_H

struct effects;
struct node;

/* Sets node->accord.decides. Must be called before shares_refresh. */
void accord_refresh(struct node *node, struct effects *effects);

#endif
