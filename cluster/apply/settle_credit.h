/*
 * settle_credit: what returns have paid off of own spends that have not settled.
 *
 * The one idea: a return is told with a later spend than that it pays off. The older spend settles first, and takes the
 * credit of the later one then: the oldest credits first, under whatever limits the key has had. If an older credit
 * were passed over for a newer one, it would raise a view that has nothing charged for it, until the spend settles
 * whose credit was taken.
 */
#ifndef HEADGATE_CLUSTER_APPLY_SETTLE_CREDIT_H
#define HEADGATE_CLUSTER_APPLY_SETTLE_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct entry;
struct node;

/*
 * Takes up to `tokens` of what returns have paid off of spend `index` of an own batch, and later spends tell, to be
 * credited with it. A credit that came later would find room in this view alone. Meanwhile the view would be too low:
 * it would have room for refill and returns that the truth has lost, since it was full, and would forget spends of
 * others below -E. `any_limit`: own spends of the key may be under several limits.
 */
uint64_t settle_credit_take_later(struct node *node, struct entry *entry, const struct batch *batch, uint32_t index,
                                  uint64_t tokens, bool any_limit);
/* What the spend is credited beyond its tokens is for those under later limits first that the same batch tells. */
void settle_credit_pass_on(struct node *node, const struct entry *entry, struct batch *batch, uint32_t index);
/*
 * Tokens of a cell that this node granted, and has not charged, are given back by whoever used them: they are unsettled
 * no more, and the batches that granted them are charged less when they settle. Until then they count among the granted
 * ones that no client here gives back: what is left unsettled by earlier batches is counted with them.
 */
void settle_credit_granted(struct node *node, struct entry *entry, uint64_t tokens);

#endif
