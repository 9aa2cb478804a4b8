/*
 * merge: one run of a log becomes one batch, in as many steps as it takes.
 *
 * The one idea: batches are sorted, so a heap of their heads gives all spends of the run in order.
 * What was made takes the place of the run in one moment.
 */
#ifndef HEADGATE_CLUSTER_LOG_MERGE_H
#define HEADGATE_CLUSTER_LOG_MERGE_H

#include <stdbool.h>

struct merger;
struct node;

/* The next run of the sweep begins; false: it is at its end. */
bool merge_begin(struct node *node);
/* False: there is more than this step has time for. */
bool merge_some(struct node *node);
/* All is made: it takes the place of the run. */
void merge_finish(struct node *node);
void merge_abandon(struct merger *merger);

#endif
