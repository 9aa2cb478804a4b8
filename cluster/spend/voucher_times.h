/*
 * voucher_times: how long asks take and how old they are, what refills meanwhile, and how much of a limit is with
 * members that are heard.
 *
 * The one idea: an ask is answered within a round trip and the waits of messages; all times of vouchers are counted in
 * such answers and in intervals. For the files of vouchers and contests, and for ages in renewal.c. It knows no voucher
 * and only computes.
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_TIMES_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_TIMES_H

#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

/* More than what may be granted of a key, the overshoot included; sums of three fit 64 bits. */
#define VOUCHER_UNITS_MAX (INT64_C(1) << 61)

/* The time until an ask is answered: the longest round trip, and the waits of messages. */
uint64_t voucher_answer_ns(const struct node *node);
/* The time until an answer is used: a client may come back a little too late. */
uint64_t voucher_use_ns(const struct node *node);
/* Requests that are refused so long after the first one have not come together with it. */
uint64_t voucher_gather_ns(const struct node *node);
/* Nobody waits for a request that was refused so long ago: tokens for it would only be missing elsewhere. */
uint64_t voucher_wanted_ns(const struct node *node);
/* The time by options.sleepless_ns; 0: there is no such clock. */
uint64_t voucher_sleepless_ns(const struct node *node);
/* The time since then, by the clock by which more has passed: that of decisions, or voucher_sleepless_ns. */
uint64_t voucher_age_ns(const struct node *node, uint64_t since_ns, uint64_t since_sleepless_ns, uint64_t now_ns);

/*
 * What refills in that time, at the rate of the fastest clock and of the fastest tier of the rule, VOUCHER_UNITS_MAX at
 * most; 0 where nothing refills.
 */
int64_t voucher_refilled_units(const struct limit *limit, uint64_t ns);
/* The units that decay in that time: those that refill, less those that lack at the capacity and are refilled first. */
int64_t voucher_decays(const struct limit *limit, uint64_t ns, int64_t lacking_units);

/* True: this node has no part of the limit, or all of it is at home, so that clients here have only tokens of asks. */
bool voucher_always_asks(const struct node *node, const struct limit *limit);
/* Of the shares that others have of the limit, the part whose members are heard, in 1/SHARE_ONE. */
uint64_t voucher_heard(const struct node *node, const struct limit *limit);
/*
 * The shares of all who are heard, this node's `share` of a limit aside. The whole only if one of them has all of it,
 * as at home.
 */
uint64_t voucher_asked_share(const struct node *node, const struct limit *limit, uint64_t share);

#endif
