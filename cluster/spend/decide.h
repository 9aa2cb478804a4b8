/*
 * decide: the way of a request to its decision.
 *
 * The one idea: keys are prefetched and locked, and the fast kernel decides; the full kernel
 * decides the requests that the fast kernel leaves. No rule of spending is in this file.
 */
#ifndef HEADGATE_CLUSTER_SPEND_DECIDE_H
#define HEADGATE_CLUSTER_SPEND_DECIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct charge;
struct node;
struct table_held;
struct verdict;

/* The time of a request: never before the last step's. */
uint64_t request_time(const struct node *node, uint64_t now_ns);
/* Touches the memory of one request's keys: pays before they are looked up one by one. */
void preload_keys(const struct node *node, const struct charge *charges, size_t count);
/*
 * Locks the stripes of all keys of all charges until table_unlock: a decision still holds when its
 * charges are made.
 */
void hold_keys(struct node *node, const struct charge *charges, size_t count, struct table_held *held);
/*
 * node_decide_one for a caller that has locked the keys; now_ns must come from request_time.
 * taken[i]: charges[i] was charged. `taken` may be NULL, and is not written if no charge is made.
 */
bool decide_held(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                 struct verdict *verdicts, bool *taken);

#endif
