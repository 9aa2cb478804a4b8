/*
 * voucher_lack: what refill may have lost since others were asked for tokens of a bucket, because the ground truth was
 * full. By so much a voucher decays.
 *
 * The one idea: the ground truth has all that this node spends of the key. A bucket that was full at the ask and is
 * charged with these spends alone is never below the truth, and loses no less of the refill. This file keeps what that
 * bucket lacks of its capacity. It knows no spend that is not seen as an increase of the unsettled tokens; what it
 * misses makes vouchers decay faster. docs/accounting.md, "Vouchers", has the argument. It changes no bucket.
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_LACK_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_LACK_H

#include "cluster/state/node_state.h"

#include <stdint.h>

struct spend;

/* A new voucher: nothing is known to be spent. */
void voucher_lack_init(const struct node *node, struct voucher *voucher, uint64_t now_ns);
/* Units that refill may have lost since they were last taken off: voucher_lack_take_off has not been called since. */
int64_t voucher_lack_lost(const struct node *node, const struct voucher *voucher, uint64_t now_ns);
/* What that bucket lacks of its capacity: refill loses nothing until it has made that good. */
int64_t voucher_lack_units(const struct node *node, const struct voucher *voucher, uint64_t now_ns);
/* Takes off all asks what refill may have lost until now. */
void voucher_lack_take_off(const struct node *node, struct voucher *voucher, uint64_t now_ns);
/* The same; a new ask is about to begin. */
void voucher_lack_begin(const struct node *node, struct voucher *voucher);
/* The same of the key's spends in the newest own batches and in the open one, whoever saw them. Alone. */
void voucher_lack_see_lately(struct node *node, struct voucher *voucher, const struct entry *entry);
/* The key's bucket, refilled: counts what this node has spent of it by its own share since it was last seen. */
void voucher_lack_see(const struct node *node, struct voucher *voucher, const struct bucket *bucket,
                      uint64_t now_ns);
/* The spend, which is in a ring, is about to be told while somebody is silent: the same of its key. Alone. */
void voucher_lack_told(struct node *node, const struct spend *spend);
/* So many units of the voucher were used just now, after voucher_lack_take_off; below 0: were not, after all. */
void voucher_lack_used(struct voucher *voucher, int64_t units);
/* So many units of the key's bucket became unsettled for somebody else: nobody has used them yet. */
void voucher_lack_granted(struct node *node, struct key_id id, int64_t units);
/* Spends of this node were given back, or not made after all: the truth may have more than its spends tell. */
void voucher_lack_forget(struct node *node, struct key_id id, uint64_t now_ns);

#endif
