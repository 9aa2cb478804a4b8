/*
 * hold: renews the tokens of a LOG that a reservation holds.
 *
 * The one idea: a spend of a LOG ends by itself. So a renewal spends the tokens once more, with a later end, and gives
 * the old spend back. The caller must have locked the keys. Which charges are renewed, and when, reserve.c and
 * renewal.c decide.
 */
#ifndef HEADGATE_CLUSTER_SPEND_HOLD_H
#define HEADGATE_CLUSTER_SPEND_HOLD_H

#include <stdbool.h>
#include <stdint.h>

struct charge;
struct node;

/*
 * The tokens that a reservation holds of a LOG begin anew, until `ends_ns`; false: they cannot, and
 * end as before.
 */
bool hold_anew(struct node *node, struct charge *charge, uint64_t ends_ns, uint64_t now_ns);
/*
 * The same where others decide: both are told in one batch, soon, whatever this node's share is. charge->expires_ns
 * stays the end of the former spend; until the caller changes it, a return of the new one counts as one of the former.
 */
bool hold_beside(struct node *node, struct charge *charge, uint64_t ends_ns, uint64_t now_ns);

#endif
