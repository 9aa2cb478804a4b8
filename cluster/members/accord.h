/*
 * accord: decides whose config counts where the configs of members differ.
 *
 * The one idea: members of one config decide, the others refuse. A node begins to decide only when
 * all members of other configs that it hears have said that they refuse.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_ACCORD_H
#define HEADGATE_CLUSTER_MEMBERS_ACCORD_H

#include <stdint.h>

struct effects;
struct member;
struct node;

/* The digest of the member's config; this node's own where the two differ in nothing that makes a difference. */
uint64_t accord_config_of(const struct node *node, const struct member *member);

/* Sets node->accord.decides. Must be called before shares_refresh. */
void accord_refresh(struct node *node, struct effects *effects);

#endif
