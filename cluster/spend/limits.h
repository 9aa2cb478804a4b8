/*
 * limits: the limits in use, and what this node may spend of each.
 *
 * The one idea: equal terms have one number on this node, whether the config, a rule or a peer
 * names them. sweep.h frees unused limits.
 */
#ifndef HEADGATE_CLUSTER_SPEND_LIMITS_H
#define HEADGATE_CLUSTER_SPEND_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct node;

bool limits_create(struct node *node, struct error *error);
void limits_destroy(struct node *node);
/* Computes the budget of limit `index`; to be called after its terms or the shares have changed. */
void limits_refresh_budget(struct node *node, uint32_t index);
/* Tells the table the least share of all limits; to be called after shares have changed. */
void limits_refresh_share_min(struct node *node);

#endif
