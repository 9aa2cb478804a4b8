/*
 * unsettled_index: the tokens of each key that are told and not settled, over all own batches.
 *
 * The one idea: with many own batches, one table of sums replaces a search through all of them. The
 * table is made a slice at a time and then follows the log.
 */
#ifndef HEADGATE_CLUSTER_LOG_UNSETTLED_INDEX_H
#define HEADGATE_CLUSTER_LOG_UNSETTLED_INDEX_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct node;

/* True if there are too many own batches to search them. */
bool unsettled_index_is_wanted(const struct node *node);
/* True if all own batches are in the table. */
bool unsettled_index_is_whole(struct node *node);
/* Adds missing batches, as far as the step has time. */
void unsettled_index_step(struct node *node);
void unsettled_index_reset(struct node *node);
/*
 * Takes spend `index` of a summed batch off its sum and returns the rest of the sum of its key.
 * Ascending indexes are fastest.
 */
uint64_t unsettled_index_strike(struct node *node, const struct batch *batch, uint32_t index);
/* The batch leaves the log: takes its other spends off their sums. */
void unsettled_index_forget(struct node *node, struct batch *batch);

#endif
