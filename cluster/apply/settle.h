/*
 * settle: settles own batches that all members have.
 *
 * The one idea: an unsettled spend lowers only this node's allowance. When all members have charged
 * the spend, it lowers the level of the key for all, and its batch leaves the log.
 */
#ifndef HEADGATE_CLUSTER_APPLY_SETTLE_H
#define HEADGATE_CLUSTER_APPLY_SETTLE_H

#include <stdbool.h>
#include <stdint.h>

struct entry;
struct node;
struct origin;

void settle_acknowledged(struct node *node);
/*
 * Settles the batches of an own origin up to that number, which all members have, and removes them
 * from its log; unless `at_once`, as many as this step has time for.
 */
void settle_up_to(struct node *node, struct origin *mine, uint64_t everywhere, bool at_once);

#endif
