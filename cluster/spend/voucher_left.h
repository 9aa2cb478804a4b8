/*
 * voucher_left: what is left of a voucher, and of each of its asks.
 *
 * The one idea: an ask has the units that others granted, less those that were used, less those that refill may have
 * lost since the ask (voucher_lack.h). Answers that come after their ask has made room for a newer one join the oldest
 * ask that is left. For the files of vouchers. It knows no places, and changes only the voucher that it is given, and
 * what is known of clients.
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_LEFT_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_LEFT_H

#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

/* False: the rest of a key, of which only slow limits are asked for, and which says nothing of clients' habits. */
bool voucher_much_is_left(const struct limit *limit, int64_t left);
/* units + more, at most VOUCHER_UNITS_MAX. */
int64_t voucher_sum(int64_t units, int64_t more);
/*
 * The part of a grant that counts, where others may still grant `awaited` units: a member that lies may say that it
 * grants more. Whoever grants much rounds it up to a whole token.
 */
int64_t voucher_takeable(const struct limit *limit, int64_t awaited, int64_t units);
/* What others may still grant after `taken` came, of which a token may be by rounding, as each of them rounds. */
int64_t voucher_awaited_after(const struct limit *limit, int64_t awaited, int64_t taken);
/* The units of one ask that may be used now. */
int64_t voucher_ask_units(const struct node *node, const struct voucher *voucher, const struct voucher_ask *ask,
                          uint64_t now_ns);
/*
 * The units of one ask that may be used, or could have been: of limits whose grants are listed, units that nobody has
 * used in time must come off the list.
 */
int64_t voucher_ask_unused(const struct node *node, const struct voucher *voucher, const struct voucher_ask *ask,
                           uint64_t now_ns);
/* The units of all asks of the voucher that may be used now. */
int64_t voucher_units(const struct node *node, const struct voucher *voucher, uint64_t now_ns);
/*
 * The same for requests under the voucher's limit, of whose key that is the level. What others have used under a wider
 * tier of the rule comes off: under a smaller one there is so much less.
 */
int64_t voucher_usable_units(const struct node *node, const struct voucher *voucher, const struct bucket *level,
                             uint64_t now_ns);
/* The largest capacity of all tiers of the limit's rule, or the limit's, in whole tokens. */
uint64_t voucher_widest(const struct limit *limit);
/* The voucher becomes one of that limit, if both are tiers of one rule. Else false, and nothing has changed. */
bool voucher_goes_over(struct node *node, struct voucher *voucher, uint16_t limit, uint64_t now_ns);
/* The time at which the oldest tokens of the ask were asked for. */
uint64_t voucher_asked_first_ns(const struct voucher_ask *ask);
/* The oldest ask is about to make room: it may still be answered. */
void voucher_ask_ends(const struct node *node, struct voucher *voucher, const struct limit *limit);
/*
 * Units that answer an ask which has made room join the oldest one, less the units that decay from the first such ask
 * on. False: there is no such ask, or nothing is left of them.
 */
bool voucher_take_late(const struct node *node, struct voucher *voucher, uint64_t number, int64_t units);
/* The units that peers with that share may spend together of a refilled bucket, as seen here. */
int64_t voucher_others_units(const struct limit *limit, const struct bucket *bucket, uint64_t share);

#endif
