/*
 * limits: the limits that are in use, and what this node may spend of each.
 *
 * The one idea: equal terms have one number on this node, whoever names them: the config, a rule,
 * or a peer. Unused limits are freed in sweep.h.
 */
#ifndef HEADGATE_CLUSTER_SPEND_LIMITS_H
#define HEADGATE_CLUSTER_SPEND_LIMITS_H

#include <stdbool.h>
#include <stdint.h>

struct error;
struct node;

bool limits_create(struct node *node, struct error *error);
void limits_destroy(struct node *node);
/* What this node may use of limit number `index`, after its terms or the shares changed. */
void membership_refresh_budget(struct node *node, uint32_t index);

#endif
