/*
 * voucher_loss: whether the asks of a key pay. Where requests are refused all the time and few of their clients come
 * back, what peers grant decays before somebody uses it, and is missing when the share of this node could pay again.
 *
 * The one idea: of the newest asks, what came and what was lost of it. While much was lost, a request that the share
 * can pay at another time waits for the share; from time to time one ask is made all the same, and shows whether that
 * has changed. What waits (patience), and what the share can never pay, is asked for all the same.
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_LOSS_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_LOSS_H

#include "cluster/state/node_state.h"

/* An ask of the voucher ends; `kept` of its units live on in another one. Counts those that came to nothing. */
void voucher_loss_note(struct node *node, struct voucher *voucher, const struct voucher_ask *ask, int64_t kept);
/* True: an ask for `cost` units now would be lost, as the last ones were. `left`: what the voucher has, in units. */
bool voucher_loses(const struct limit *limit, const struct voucher *voucher, int64_t left, int64_t cost,
                   uint64_t now_ns);

#endif
