/*
 * contest_credit: the keys for which regions contend, and what this node has left of its part of each.
 *
 * The one idea: a part is a credit, which grows by this node's share of the refill. It is kept for keys that are
 * watched, in fixed places; where none is free, nobody is held back. Internal to contest.c, which takes from credits,
 * and contest_words.c, which says and hears who is short: they hold the lock of vouchers, or run alone.
 */
#ifndef HEADGATE_CLUSTER_SPEND_CONTEST_CREDIT_H
#define HEADGATE_CLUSTER_SPEND_CONTEST_CREDIT_H

#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

#define CONTEST_CREDIT_NS UINT64_C(2000000000)      /* the part of so long is kept */
#define CONTEST_KEPT_MOST_NS UINT64_C(600000000000) /* no word and no wait lasts longer */

/* True: each node has a part of the limit. Other limits are paid otherwise, or are one region's. */
bool contest_has_parts(const struct node *node, const struct limit *limit);
/* This node's part of what refills in that time. */
int64_t contest_part_units(const struct node *node, uint16_t limit, uint64_t ns);
/* Units of so many tokens, or of the capacity if that is less. */
int64_t contest_cost_units(const struct node *node, uint16_t limit, uint64_t tokens);
/* The largest credit; and the credit that a key begins with. */
int64_t contest_credit_most(const struct node *node, const struct contest *contest);
int64_t contest_credit_begins(const struct node *node, const struct contest *contest);
/* Adds what refilled since the last call for the key. */
void contest_add_credit(const struct node *node, struct contest *contest, uint64_t now_ns);

/* NULL: nobody contends for the key under that limit. */
struct contest *contest_find(struct node *node, struct key_id id, uint16_t limit);
/* The same, or a place for it. `cost`: of a request for the key. NULL: there is no place. */
struct contest *contest_obtain(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns);
/* The key keeps its place until then at least. */
void contest_watch_until(struct contest *contest, uint64_t ns);
/* Frees the places of keys for which nobody contends any more. Alone. */
void contest_sweep(struct node *node);

#endif
