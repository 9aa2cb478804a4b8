/*
 * reserve: reservations: tokens that are held until it is known what something cost.
 *
 * The one idea: what a reservation holds is spent, and is given back when the reservation ends
 * without a commit. Reservations live on one node and are not told.
 */
#ifndef HEADGATE_CLUSTER_SPEND_RESERVE_H
#define HEADGATE_CLUSTER_SPEND_RESERVE_H

#include "base/hash.h"

#include <stdint.h>

struct node;

/* How many tokens of that key reservations hold. */
uint64_t reserved_tokens(struct node *node, struct key_id id);
/* Returns what ended reservations hold. Alone, as the next. */
void reserve_step(struct node *node);
/* When the next one ends; UINT64_MAX: there is none, or no room to tell of it, which only another step makes. */
uint64_t reserve_next_ns(const struct node *node);

#endif
