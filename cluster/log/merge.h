/*
 * merge: makes one batch, or parts of one, of a run of a log, in as many steps as it takes.
 *
 * The one idea: batches are sorted, so a heap of their heads gives all spends of the run in order.
 * The merged batch replaces the run in one moment.
 */
#ifndef HEADGATE_CLUSTER_LOG_MERGE_H
#define HEADGATE_CLUSTER_LOG_MERGE_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct merger;
struct node;
struct spend;

/* Begins with the next run of the sweep; false: the sweep has no more runs. */
bool merge_begin(struct node *node);
/* Merges as long as the step has time; false: the run is not finished. */
bool merge_some(struct node *node);
/* Replaces the run by the merged batch. */
void merge_finish(struct node *node);
void merge_abandon(struct merger *merger);
/* True: the batch is in the run that is being merged. */
bool merge_has(const struct merger *merger, const struct batch *batch);
/*
 * The credit of this spend of an own batch in the log was `before` until now. Must follow each such change: a merge
 * may have taken the spend already.
 */
void merge_note_credit(struct node *node, const struct batch *batch, const struct spend *spend, uint64_t before);

#endif
