/*
 * voucher_habit: whether clients come back for what others have granted. Some do, as soon as retry_after says; others
 * never, and what was granted for them is missing elsewhere.
 *
 * The one idea: each ask notes how many tokens clients are expected to come back for. Whether it asks for them or not,
 * it counts who comes, and the limit remembers the part, of the last asks above all. A limit begins with the habits of
 * this node's other limits, and the first one of all with clients who all come back: the ask for these waits until
 * bursts elsewhere, which may have come at the same time, have spent their shares. Limits may share a place: what is
 * remembered decides how much is asked for, never what is admitted.
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_HABIT_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_HABIT_H

#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

/*
 * The ask begins: clients are expected to come back for so many units, of which others could grant `others`. From
 * ask->asked_ns on, in time, it is counted who comes.
 */
void voucher_habit_expect(const struct node *node, uint16_t limit, struct voucher_ask *ask, int64_t expected,
                          int64_t others);
/* A client wants so many units that this node's share does not have. The caller holds the lock of vouchers. */
void voucher_habit_came(struct node *node, struct voucher *voucher, int64_t units, uint64_t now_ns);
/* The ask is over: the limit remembers who came, once. */
void voucher_habit_note(struct node *node, uint16_t limit, struct voucher_ask *ask);
/* The same of all asks of the voucher: it ends, or all of it is given back. */
void voucher_habit_note_all(struct node *node, struct voucher *voucher);
/* The same of all asks of the voucher that came to an end: what they brought has decayed, or is given back soon. */
void voucher_habit_note_over(struct node *node, struct voucher *voucher);
/* True until a first count: neither clients of the limit nor those of others are known. */
bool voucher_habit_is_unknown(const struct node *node, uint16_t limit);
/* The part of `units` that clients of the limit are expected to come back for. */
int64_t voucher_habit_expected(const struct node *node, uint16_t limit, int64_t units);

#endif
