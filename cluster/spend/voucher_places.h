/*
 * voucher_places: where the vouchers of a node stand, and which of them want tokens.
 *
 * The one idea: fixed places, found by the hash of the key; one place for each key. Where none is free, a voucher makes
 * way in which nothing is left (voucher_left.h). Where requests and steps may run side by side, requests hold
 * vouchers_lock(). The calls that steps make, and those that drop vouchers, are in voucher.h.
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_PLACES_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_PLACES_H

#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

void vouchers_lock(struct node *node);
void vouchers_unlock(struct node *node);

/* The place of the key's voucher, whatever its limit; NULL: it has none. */
struct voucher *voucher_of_key(struct node *node, struct key_id id);
/* The same, of that limit; NULL as well if the voucher is of another one, and does not go over to it. */
struct voucher *voucher_find(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns);
/* The same as voucher_find, or a new one. NULL: there is no room. */
struct voucher *voucher_obtain(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns);
/* True: few places are free, so nobody should keep one for long. */
bool voucher_places_are_scarce(const struct node *node);

/* The voucher wants tokens: a step looks at it. True: no other one has wanted any since the last step. */
bool voucher_wants(struct node *node, const struct voucher *voucher);
/* Takes the first voucher out of rights.wanting, which must not be empty. */
struct voucher *voucher_next_wanting(struct node *node);
/* Nobody waits for tokens of the voucher any more. */
void voucher_want_nothing(struct voucher *voucher);
/* The same, if the requests that wanted them are older than voucher_wanted_ns(). */
void voucher_drop_stale(const struct node *node, struct voucher *voucher, uint64_t now_ns);

#endif
