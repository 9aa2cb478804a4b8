/*
 * decide: the way of a request to its decision.
 *
 * The one idea: keys are prefetched and locked, and the fast kernel decides; the full kernel
 * decides the requests that the fast kernel leaves. No rule of spending is in this file. The call that
 * decides is node_decide (node.h).
 */
#ifndef HEADGATE_CLUSTER_SPEND_DECIDE_H
#define HEADGATE_CLUSTER_SPEND_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct charge;
struct node;
struct table_held;

/* The time of a request: never before the last step's. */
uint64_t decide_time_ns(const struct node *node, uint64_t now_ns);
/*
 * Locks the stripes of all keys of all charges until table_unlock: a decision still holds when its
 * charges are made.
 */
void decide_lock_keys(struct node *node, const struct charge *charges, size_t count, struct table_held *held);
#endif
