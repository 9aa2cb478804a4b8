/*
 * charge: what one spend of a batch changes at its key.
 *
 * The one idea: a spend counts as of the time at which its maker told it, and a bucket loses by it
 * what one bucket for the whole world would have lost. Spends of other peers are charged whole. Own
 * spends settle: settle.c takes the parts that both need from here. This file does not know whose
 * turn it is (apply.h), and not what was charged before (apply.c, uncharged.h).
 */
#ifndef HEADGATE_CLUSTER_APPLY_CHARGE_H
#define HEADGATE_CLUSTER_APPLY_CHARGE_H

#include "cluster/state/peaks.h"

#include <stdint.h>

struct batch;
struct bucket;
struct budget;
struct entry;
struct limit;
struct node;
struct spend;

enum { TAGS_AHEAD = 24, SLOTS_AHEAD = 12 }; /* keys whose memory is prefetched ahead */
/* A caller at spend `index` of a batch prefetches memory for spends a little further on. */
void charge_prefetch(const struct node *node, const struct batch *batch, uint32_t index);
/* The entry that a spend concerns, perhaps under another limit; NULL: an expired cell. */
struct entry *charge_entry_of(struct node *node, const struct spend *spend, uint64_t at_ns);
/*
 * Charges a spend that `member` told in `batch`, which is not one of this peer's, to the entry of its
 * key, and credits what it returned. `spend` is the part that was not charged before. The key may have
 * another limit here than at its spender: tokens are charged as tokens.
 */
void charge_spend(struct node *node, struct entry *entry, uint32_t member, const struct batch *batch,
                  const struct spend *spend);
/*
 * The part of the tokens that `batch` returned to a key that may be credited: all but the tokens
 * that a full bucket has lost since. `tokens` is rounded up; charge_take_excess_off takes `excess_units`
 * of the last token off again, but debt stops at -E.
 */
struct credit {
    uint64_t tokens;
    int64_t excess_units;
};
struct credit charge_credit_of(struct node *node, const struct entry *entry, uint64_t tokens,
                               const struct batch *batch, enum raise raise);
void charge_take_excess_off(struct bucket *bucket, const struct limit *limit, const struct credit *credit);
/*
 * The spend, which was made at `at_ns`, was charged to the entry's bucket, which was `before`: gives back what the
 * spend is less than its tokens. Only spends with grants are less.
 */
void charge_give_spare_back(struct entry *entry, const struct limit *limit, const struct budget *budget,
                            const struct spend *spend, struct bucket before, uint64_t at_ns);
/* Keeps how full the bucket is now, before the key is charged: see peaks.h. */
void charge_note_peak(struct node *node, const struct entry *entry);
/*
 * Counts tokens that were charged or not credited although a part of a snapshot may have had them
 * already.
 */
void charge_note_doubted(struct node *node, const struct entry *entry, uint64_t tokens);

/*
 * A key of which all requests have one tier owes no more than that tier's overshoot, as a key of a rule without tiers:
 * a spend that is charged twice must not starve it. Where the key may have had others, or was evicted, its debt stops
 * where limit/limit_span.h says. `before`: the bucket before it was charged.
 */
void charge_stop_debt(const struct node *node, struct entry *entry, const struct bucket *before);

#endif
