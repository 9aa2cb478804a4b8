/*
 * return: gives tokens back.
 *
 * The one idea: a token is given back once, by the node that spent it. A peer that hears of a
 * return after the spend has ended ignores the return.
 */
#ifndef HEADGATE_CLUSTER_SPEND_RETURN_H
#define HEADGATE_CLUSTER_SPEND_RETURN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct charge;
struct node;

/* Gives back the tokens of a reservation. The caller must have locked the keys. */
void return_held(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns);
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
