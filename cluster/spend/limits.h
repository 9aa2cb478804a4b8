/*
 * limits: the limits in use, and what this node may spend of each.
 *
 * The one idea: equal terms have one number on this node, whether the config, a rule or a peer
 * names them. sweep.h frees unused limits.
 */
#ifndef HEADGATE_CLUSTER_SPEND_LIMITS_H
#define HEADGATE_CLUSTER_SPEND_LIMITS_H

#include "limit/bucket.h"

#include <stdbool.h>
#include <stdint.h>

struct error;
struct node;

bool limits_create(struct node *node, struct error *error);
void limits_destroy(struct node *node);
/* Rules name the limit from now on; keys that had another one of their rule go over to it so. In a step. */
void limits_note_named(struct node *node, uint16_t index, enum bucket_inherit how);
/*
 * True: as far as the rules here tell, a key that has the limit `from` may go over to `to`: they name it, and have not
 * named `from` since, or both are of tiers. *how it goes over is that of the rule that was the last one to name `to`.
 */
bool limits_go_over(const struct node *node, uint16_t from, uint16_t to, enum bucket_inherit *how);
/* Computes the budget of limit `index`; to be called after its terms or the shares have changed. */
void limits_refresh_budget(struct node *node, uint32_t index);
/* Tells the table the least share of all limits; to be called after shares have changed. */
void limits_refresh_share_min(struct node *node);

#endif
