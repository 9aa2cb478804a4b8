/*
 * apply: applies batches of other peers, each once, in causal order.
 *
 * The one idea: a batch is applied when all batches that its maker had applied are applied here. A
 * large batch is applied in several steps and counts when all of it is applied.
 */
#ifndef HEADGATE_CLUSTER_APPLY_APPLY_H
#define HEADGATE_CLUSTER_APPLY_APPLY_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct node;

/*
 * Applies the next batches of the inbox as far as the step has time; true: a batch was completed.
 */
bool apply_inbox(struct node *node);
/*
 * Applies the rest of a begun batch. A caller must call this before it compares applied batches
 * with a digest, and before it takes a batch out of the inbox.
 */
void apply_begun(struct node *node);
/* True if no other batch must be applied before this one. */
bool apply_is_next(struct node *node, uint32_t slot, const struct batch *batch);
/* True if all batches that the maker had applied when it closed this one are applied here. */
bool apply_depends_are_met(const struct node *node, const struct batch *batch);

#endif
