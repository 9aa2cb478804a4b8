/*
 * merge: makes one batch, or parts of one, of a run of a log, in as many steps as it takes.
 *
 * The one idea: batches are sorted, so a heap of their heads gives all spends of the run in order.
 * The merged batch replaces the run in one moment.
 */
#ifndef HEADGATE_CLUSTER_LOG_MERGE_H
#define HEADGATE_CLUSTER_LOG_MERGE_H

#include <stdbool.h>

struct merger;
struct node;

/* Begins with the next run of the sweep; false: the sweep has no more runs. */
bool merge_begin(struct node *node);
/* Merges as long as the step has time; false: the run is not finished. */
bool merge_some(struct node *node);
/* Replaces the run by the merged batch. */
void merge_finish(struct node *node);
void merge_abandon(struct merger *merger);

#endif
