/*
 * voucher_pause: how long a node waits between two asks of a key.
 *
 * The one idea: each ask costs the tokens that refill until it is answered. So the pause grows with the tokens that an
 * ask costs, and with the time in which those who are heard have a token to give. For the files of vouchers. It only
 * computes.
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_PAUSE_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_PAUSE_H

#include "cluster/state/node_state.h"

#include <stdint.h>

/*
 * The time between two asks of the voucher's key. While somebody is silent, tokens that others may grant come back at
 * the rate of their shares alone: a few tokens, asked for often, would all have decayed when they are here. Where
 * nothing decays, the node asks often.
 */
uint64_t voucher_pause_ns(const struct node *node, const struct voucher *voucher, uint64_t now_ns);

#endif
