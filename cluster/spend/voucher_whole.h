/*
 * voucher_whole: asks for whole tokens of a bucket that has one home.
 *
 * The one idea: such an ask is for so many tokens and for a rest, a part of a token, which is what decays until the
 * tokens are used. Its asker never uses the rest. So the home needs to have the tokens alone, and lends the rest: it
 * owes that for the time that the refill takes. Then a bucket of 1, and a cost of a whole bucket, are admitted in any
 * region. docs/accounting.md, "The last token", has the argument. These functions change nothing.
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_WHOLE_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_WHOLE_H

#include <stdbool.h>
#include <stdint.h>

struct limit;
struct node;
struct voucher;

/* True: this node may ask for whole tokens of the limit. */
bool voucher_may_ask_whole(const struct node *node, const struct limit *limit);
/* True: it does so always, as a rest costs little that lasts until tokens that nobody has used are given back. */
bool voucher_always_asks_whole(const struct node *node, const struct limit *limit);
/* What must be there beside a cost, as it decays until an answer is here: nothing, where a home lends it. */
int64_t voucher_lost_units(const struct node *node, const struct limit *limit, int64_t lacking_units);
/* From an ask until tokens that nobody has used are given back. They are idle from when they come. */
uint64_t voucher_given_back_ns(const struct node *node);
/*
 * What to ask the home for, so that `useful_units` can be used, of `left_units` that it has: whole tokens, less those
 * of the voucher, and a rest. 0: nothing. The caller has refilled the key, and seen what the voucher lacks.
 */
int64_t voucher_whole_wish(const struct node *node, const struct voucher *voucher, int64_t useful_units,
                           int64_t left_units);

/*
 * What the home grants of a bucket of which it has `left_units` to an ask for `wanted_units`: whole tokens that it has,
 * with the rest of the ask. Of many tokens it is one more, if the home has it.
 */
int64_t grant_whole_units(const struct limit *limit, int64_t wanted_units, int64_t left_units);

#endif
