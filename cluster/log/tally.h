/*
 * tally: how many tokens of each key were told and are not settled yet, over all own batches.
 *
 * The one idea: where own batches are many, one table of sums takes the place of a search through
 * all of them. The table is made a slice at a time and then follows the log.
 */
#ifndef HEADGATE_CLUSTER_LOG_TALLY_H
#define HEADGATE_CLUSTER_LOG_TALLY_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct node;

/* There are so many own batches that they are not searched. */
bool tally_is_wanted(const struct node *node);
/* All own batches are in it. */
bool tally_is_whole(struct node *node);
/* Brings it nearer to that, as far as there is time. */
void tally_step(struct node *node);
void tally_reset(struct node *node);
/* Strikes spend number `index` of a batch that is in it off; what is left of its key. Best in their order. */
uint64_t tally_strike(struct node *node, const struct batch *batch, uint32_t index);
/* The batch leaves the log, with what was not struck off of it. */
void tally_forget(struct node *node, struct batch *batch);

#endif
