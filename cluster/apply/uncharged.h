/*
 * uncharged: spends of others that this node has heard of and does not charge yet.
 *
 * The one idea: while some member is silent, no own spend settles, so what refill makes good must not go to the
 * spends of those who are still heard. A charge waits until all are heard again; meanwhile the key is spent from as if
 * this node were cut off from everybody. So regions that are left have their joint share of a limit. A digest that
 * names such spends says so, and nothing settles by it. docs/accounting.md, "Partitions and intervals", has the
 * argument. At most UNCHARGED_KEYS_MAX keys wait, and at most half of a step's keys: what is heard of further ones is
 * charged.
 */
#ifndef HEADGATE_CLUSTER_APPLY_UNCHARGED_H
#define HEADGATE_CLUSTER_APPLY_UNCHARGED_H

#include "cluster/codec/batch.h"
#include "limit/table.h"

#include <stdbool.h>
#include <stdint.h>

struct node;

enum { UNCHARGED_KEYS_MAX = 1024 };

/*
 * Decides whether charges may wait from now on, and charges all if not. Each step must call this before shares are
 * computed.
 */
void uncharged_refresh(struct node *node);
/* True if this node's digest names spends that it has not charged. */
bool uncharged_are_some(const struct node *node);
/*
 * True if the charge of that spend waits: the caller must not charge it. `fresh` is the part of a spend of `batch`
 * that is not applied; the batch is new as a whole, and its maker is `member`.
 */
bool uncharged_takes(struct node *node, const struct entry *entry, uint32_t member, const struct batch *batch,
                     const struct spend *fresh);
/* True if spends of the key wait: they must be charged before a return of the key counts. */
bool uncharged_has(const struct node *node, struct key_id id);
/* Charges all that waits: before figures of this node are given away, or are joined with those of others. */
void uncharged_charge(struct node *node);
void uncharged_close(struct node *node);

#endif
