/*
 * voucher_places: where the vouchers of a node stand, and what is left of them.
 *
 * The one idea: fixed places, found by the hash of the key; one place for each key. Where none is free, a voucher makes
 * way in which nothing is left. What is left is computed from
 * what was granted, less what was used, less what may have been lost since the ask. For the files of
 * vouchers, and for ages in renewal.c; where requests and steps may run side by side, requests hold vouchers_lock().
 */
#ifndef HEADGATE_CLUSTER_SPEND_VOUCHER_PLACES_H
#define HEADGATE_CLUSTER_SPEND_VOUCHER_PLACES_H

#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

void vouchers_lock(struct node *node);
void vouchers_unlock(struct node *node);

/* What refills in that time, at the rate of the fastest clock; 0 where nothing refills. Below 2^61. */
int64_t voucher_refilled_units(const struct limit *limit, uint64_t ns);
/* What decays in that time: what refills, less what lacks at the capacity, which is refilled first. */
int64_t voucher_decays(const struct limit *limit, uint64_t ns, int64_t lacking_units);
/* False: the rest of a key, of which only slow limits are asked for, and which says nothing of clients' habits. */
bool voucher_much_is_left(const struct limit *limit, int64_t left);
/* The time until an ask is answered: the longest round trip, and the waits of messages. */
uint64_t voucher_answer_ns(const struct node *node);
/* Requests that are refused so long after the first one have not come together with it. */
uint64_t voucher_gather_ns(const struct node *node);
/* Nobody waits for what was refused so long ago: what peers spent for it now would only be missing elsewhere. */
uint64_t voucher_wanted_ns(const struct node *node);
void voucher_drop_stale(const struct node *node, struct voucher *voucher, uint64_t now_ns);
void voucher_want_nothing(struct voucher *voucher);
/* 0 if `then_ns` is later. */
uint64_t voucher_since_ns(uint64_t then_ns, uint64_t now_ns);

/* The time by options.sleepless_ns; 0: there is no such clock. */
uint64_t voucher_sleepless_ns(const struct node *node);
/* The time since then, by the clock by which more has passed: that of decisions, or voucher_sleepless_ns. */
uint64_t voucher_age_ns(const struct node *node, uint64_t since_ns, uint64_t since_sleepless_ns, uint64_t now_ns);
/* More units than peers can have are no more than that. */
int64_t voucher_sum(int64_t units, int64_t more);
/*
 * What counts of a grant where others may still grant `awaited` units: a member that lies may say that it grants
 * more. Whoever grants much rounds it up to a whole token.
 */
int64_t voucher_takeable(const struct limit *limit, int64_t awaited, int64_t units);
/* The units of one ask, or of all asks of a voucher, that may be used now. */
int64_t voucher_ask_units(const struct node *node, const struct voucher *voucher, const struct voucher_ask *ask,
                          uint64_t now_ns);
/*
 * The units of one ask that may be used, or could have been: of limits whose grants are listed, as what nobody has used
 * in time must come off the list.
 */
int64_t voucher_ask_unused(const struct node *node, const struct voucher *voucher, const struct voucher_ask *ask,
                           uint64_t now_ns);
/* When the oldest of its tokens were asked for. */
uint64_t voucher_asked_first_ns(const struct voucher_ask *ask);
/* The oldest ask is about to make room: it may still be answered. */
void voucher_ask_ends(const struct node *node, struct voucher *voucher, const struct limit *limit);
/*
 * Units that answer an ask which has made room join the oldest one, less what decays from the first such ask on. False:
 * there is no such ask, or nothing is left of them.
 */
bool voucher_take_late(const struct node *node, struct voucher *voucher, uint64_t number, int64_t units);
int64_t voucher_units(const struct node *node, const struct voucher *voucher, uint64_t now_ns);

/* True: this node has no part of the limit, or all of it is at home, so that asking is all that clients here have. */
bool voucher_always_asks(const struct node *node, const struct limit *limit);
/*
 * The time between two asks of the voucher's key. While somebody is silent, what others may grant comes back at the
 * rate of their shares alone: of little, asked for often, all would have decayed when it is here. Where nothing decays,
 * it is asked for often.
 */
uint64_t voucher_pause_ns(const struct node *node, const struct voucher *voucher, uint64_t now_ns);
/* Of the shares that others have of the limit, the part whose members are heard, in 1/SHARE_ONE. */
uint64_t voucher_heard(const struct node *node, const struct limit *limit);
/*
 * The shares of all who are heard, this node's `share` of a limit aside. The whole only if one of them has all of it,
 * as at home.
 */
uint64_t voucher_asked_share(const struct node *node, const struct limit *limit, uint64_t share);
/* What peers with that share may spend together of a refilled bucket, as seen here. */
int64_t voucher_others_units(const struct limit *limit, const struct bucket *bucket, uint64_t share);

/* The place of the key's voucher, whatever its limit; NULL: it has none. */
struct voucher *voucher_of_key(struct node *node, struct key_id id);
/* The same; NULL as well if the voucher is of another limit. */
struct voucher *voucher_find(struct node *node, struct key_id id, uint16_t limit);
/* The same, or a new one. NULL: there is no room. */
struct voucher *voucher_obtain(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns);
/* True: few places are free, so nobody should keep one for long. */
bool voucher_places_are_scarce(const struct node *node);

/* The voucher wants tokens: a step looks at it. True: no other one has wanted any since the last step. */
bool voucher_wants(struct node *node, const struct voucher *voucher);
/* Takes the first voucher out of rights.wanting, which must not be empty. */
struct voucher *voucher_next_wanting(struct node *node);

#endif
