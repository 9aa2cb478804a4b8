/*
 * apply: applies batches of other peers, each once, in causal order.
 *
 * The one idea: a batch is applied when all batches that its maker had applied are applied here. A
 * large batch is applied in several steps and counts when all of it is applied.
 */
#ifndef HEADGATE_CLUSTER_APPLY_APPLY_H
#define HEADGATE_CLUSTER_APPLY_APPLY_H

#include "cluster/state/peaks.h"

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct bucket;
struct budget;
struct entry;
struct limit;
struct node;
struct spend;

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
bool is_applied_next(struct node *node, uint32_t slot, const struct batch *batch);
/* True if all batches that the maker had applied when it closed this one are applied here. */
bool depends_are_met(const struct node *node, const struct batch *batch);
enum { TAGS_AHEAD = 24, SLOTS_AHEAD = 12 }; /* keys whose memory is prefetched ahead */
/* A caller at spend `index` of a batch prefetches memory for spends a little further on. */
void prefetch_spends(const struct node *node, const struct batch *batch, uint32_t index);
/* The entry that a spend concerns, perhaps under another limit; NULL: an expired cell. */
struct entry *entry_of_spend(struct node *node, const struct spend *spend, uint64_t at_ns);
/*
 * The part of the tokens that `batch` returned to a key that may be credited: all but the tokens
 * that a full bucket has lost since. `tokens` is rounded up; take_excess_off takes `excess_units`
 * of the last token off again, but debt stops at -E.
 */
struct credit {
    uint64_t tokens;
    int64_t excess_units;
};
struct credit credit_of(struct node *node, const struct entry *entry, uint64_t tokens, const struct batch *batch,
                        enum raise raise);
void take_excess_off(struct bucket *bucket, const struct limit *limit, const struct credit *credit);
/*
 * Counts tokens that were charged or not credited although a part of a snapshot may have had them
 * already.
 */
void note_doubted(struct node *node, const struct entry *entry, uint64_t tokens);
/* To be called before the key is charged: see peaks.h. */
/*
 * The spend, which was made at `at_ns`, was charged to the entry's bucket, which was `before`: gives back what the
 * spend is less than its tokens. Only spends with grants are less.
 */
void give_spare_back(struct entry *entry, const struct limit *limit, const struct budget *budget,
                     const struct spend *spend, struct bucket before, uint64_t at_ns);
void note_peak(struct node *node, const struct entry *entry);

#endif
