/*
 * apply: batches of others are applied: each once, in causal order.
 *
 * The one idea: a batch is applied when all that its maker had applied is applied here. A large
 * batch is applied in several steps and counts only when it is whole.
 */
#ifndef HEADGATE_CLUSTER_APPLY_APPLY_H
#define HEADGATE_CLUSTER_APPLY_APPLY_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct bucket;
struct entry;
struct limit;
struct node;
struct spend;

/* Applies what is next in the inbox, as far as there is time; true if any batch was applied whole. */
bool inbox_drain(struct node *node);
/*
 * Applies the rest of a batch of which some is applied. Whoever compares what is applied here with what a digest says,
 * or takes something out of the inbox, does so first.
 */
void apply_begun(struct node *node);
/* Nothing has to be applied before it. */
bool is_applied_next(struct node *node, uint32_t slot, const struct batch *batch);
/* What its maker had applied when it was closed is applied here. */
bool depends_are_met(const struct node *node, const struct batch *batch);
enum { TAGS_AHEAD = 24, SLOTS_AHEAD = 12 }; /* keys whose memory is asked for before it is needed */
/* Whoever goes through a batch's spends is at that one: memory that those a little further on need is asked for. */
void prefetch_spends(const struct node *node, const struct batch *batch, uint32_t index);
/* The entry that a spend of a batch concerns; NULL: a cell that has expired. It may have another limit. */
struct entry *entry_of_spend(struct node *node, const struct spend *spend, uint64_t at_ns);
/*
 * What may be credited of the tokens that `batch` returned to a key: all but what a full bucket has lost since. Tokens
 * are whole: `excess_units` of the last one are taken off again, but debt stops at -E.
 */
struct credit {
    uint64_t tokens;
    int64_t excess_units;
};
struct credit credit_of(struct node *node, const struct entry *entry, uint64_t tokens, const struct batch *batch);
void take_excess_off(struct bucket *bucket, const struct limit *limit, const struct credit *credit);
/* So many tokens are charged to the key, or not credited, though a part of a snapshot may have contained that. */
void note_doubted(struct node *node, const struct entry *entry, uint64_t tokens);
/* The key is about to be charged: see peaks.h. */
void note_peak(struct node *node, const struct entry *entry);

#endif
