/*
 * settle: own batches that everybody has are settled.
 *
 * The one idea: an unsettled spend lowers this node's allowance alone; once everybody has charged
 * it, it lowers the key for all, and the batch leaves the log.
 */
#ifndef HEADGATE_CLUSTER_APPLY_SETTLE_H
#define HEADGATE_CLUSTER_APPLY_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

struct node;
struct origin;

void settle_acknowledged(struct node *node);
/*
 * Settles the batches of an own origin up to that number, which everybody has, and takes them out of its log; if not
 * `at_once`, as many as this step has time for.
 */
void settle_up_to(struct node *node, struct origin *mine, uint64_t everywhere, bool at_once);

#endif
