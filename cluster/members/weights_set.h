/*
 * weights_set: an operator's change of weights: checks it, and makes a version of it.
 *
 * The one idea: a change is refused before anything is lowered, if it could never be complete: while a member keeps
 * no weights, or where rights end by themselves. It does not spread the version: weights.c does.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_WEIGHTS_SET_H
#define HEADGATE_CLUSTER_MEMBERS_WEIGHTS_SET_H

#include "cluster/node_weights.h"

struct effects;
struct node;

/* node->weights.result says what became of it. */
void weights_set(struct node *node, const struct weights_change *change, uint64_t wall_ms, struct effects *effects);

/* The same for any maker, with `result` empty at first. False: it is refused, or nothing would change. */
bool weights_make(struct node *node, const struct weights_change *change, uint64_t wall_ms,
                  struct weights_result *result);
/* The weight of a region of the options in the newest version, in billionths. */
uint64_t weights_before(const struct node *node, uint32_t row);

#endif
