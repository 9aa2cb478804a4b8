/*
 * decide: the way of a request to its decision.
 *
 * The one idea: memory is asked for, locks are taken, and the fast kernel decides; whatever it
 * leaves, the full kernel decides. No rule of spending stands here.
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
/* Asks memory for the keys of one request: worth it before they are looked up one by one. */
void touch_keys(const struct node *node, const struct charge *charges, size_t count);
/* The stripes of all keys of all charges, until table_unlock: what was decided still holds when it is charged. */
void hold_keys(struct node *node, const struct charge *charges, size_t count, struct table_held *held);
/*
 * node_decide_one by whoever holds the keys; the time is that of request_time. taken[i]: charges[i] was charged;
 * `taken` may be NULL, and is not written where nothing is taken.
 */
bool decide_held(struct node *node, const struct charge *charges, size_t count, bool take, uint64_t now_ns,
                 struct verdict *verdicts, bool *taken);

#endif
