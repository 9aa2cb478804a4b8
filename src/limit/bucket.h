/*
 * bucket: the state of one key at one peer, three numbers, and the rule that spends from it.
 *
 * The one idea: `settled` is what is left after all spends that every peer knows; `unsettled` is the own spends that
 * some peer may not know yet. A peer admits only while its unsettled spends stay within its share of `settled`.
 * docs/accounting.md states the rule and why the whole cluster then stays within the declared overshoot. The limit's
 * kind decides only how tokens come back: by refill (BUCKET), all at once when the cell expires (CELL), or each spend
 * after its time (LOG). Pure arithmetic on integers: no keys, no clock, no allocation.
 *
 * Times are nanoseconds of the caller's monotonic clock and may stand still or (ignored) run backwards.
 * A copy of a LOG shares its events with the original: the copy may be read, but must not be refilled or spent from.
 */
#ifndef HEADGATE_LIMIT_BUCKET_H
#define HEADGATE_LIMIT_BUCKET_H

#include "limit/events.h"
#include "limit/limit.h"

#include <stdbool.h>
#include <stdint.h>

#define SHARE_ONE ((uint64_t)1 << 32) /* the whole of a limit, as a share */

struct bucket {
    int64_t settled;   /* units; below zero is debt; never above the limit's capacity_units */
    int64_t unsettled; /* units, >= 0: own spends that some peer may not know yet */
    union {
        uint64_t last_refill_ns;  /* BUCKET */
        uint64_t expires_ns;      /* CELL */
        struct event_list events; /* LOG: every spend that counts, settled or not */
    };
};

/* What one peer may use of one limit; derived from its share, the same for all keys of the limit. */
struct budget {
    uint64_t share;     /* w, in 1/SHARE_ONE */
    uint64_t spendable; /* w / 4, in 1/SHARE_ONE, see bucket_allowance; LIMIT_SPLIT: about w / 2; the whole: 1/2 */
    int64_t reserve_units; /* 5 C / 4; LIMIT_SPLIT and the whole: 3 C, so that no level has a reserve */
    int64_t slack_units;   /* w * E; LIMIT_SPLIT: rounds the part of a full key to whole tokens */
    bool alone;            /* no other peer exists: spends settle at once, nothing is held back */
};

/*
 * `share` <= SHARE_ONE. Products are rounded down, so that shares never add up to more than the whole. LIMIT_SPLIT:
 * the part of a full key is w * C in whole tokens. If w * C with w of nine decimals is a whole number, the part is
 * that number (C up to 2^24; beyond, one token in 2^24 may be missing). The parts of 64 peers never add up to more
 * than C.
 */
void budget_init(struct budget *budget, const struct limit *limit, uint64_t share, bool alone);

/*
 * Others of these shares together are gone, and may each have spent all that they may unheard: w (C + E). The
 * allowance of every key is lowered by this peer's part of that. Nothing changes for LIMIT_SPLIT, or alone.
 */
void budget_lower(struct budget *budget, const struct limit *limit, uint64_t gone_share);
/* From now on no refill pays off what is unsettled. Nothing changes for LIMIT_SPLIT, which tells nobody anyway. */
void budget_stop(struct budget *budget, const struct limit *limit);

/* A key that nobody has spent from. `expires_ns`: CELL only. */
void bucket_fill(struct bucket *bucket, const struct limit *limit, uint64_t now_ns, uint64_t expires_ns);

/*
 * BUCKET: refills up to now_ns; what would rise above the capacity pays off unsettled spends at this peer's share.
 * CELL: at its expiry it is full again, and may be forgotten. LOG: spends older than the period no longer count.
 */
void bucket_refill(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t now_ns);

/*
 * The most that `unsettled` may become by admitting: min(settled, w (settled - reserve) + w E), where the reserve is
 * min(settled / 2, C / 16 + (C - settled) / 4). May be negative. Four times `settled - reserve` is the higher one of
 * 2 settled and 5 settled - 5 C / 4.
 */
int64_t bucket_allowance(const struct bucket *bucket, const struct budget *budget);

/* The same for any settled level: for callers that join several buckets. */
int64_t budget_allowance(const struct budget *budget, int64_t settled);

/* Whole tokens above the floor that nobody has spent, as far as this peer knows, after a refill. */
uint64_t bucket_remaining(const struct bucket *bucket, const struct limit *limit, uint64_t floor_tokens);

/* Whole tokens that this peer can admit at this moment, after a refill. */
uint64_t bucket_available(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                          uint64_t floor_tokens);

/* True if `cost` tokens may be spent now, after a refill; cost 0 whenever no debt stands. Changes nothing. */
bool bucket_allows(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                   uint64_t cost, uint64_t floor_tokens);

/*
 * Spends what bucket_allows allowed. False, with nothing spent, only if a LOG finds no room for one more event.
 * bucket_unspend takes the very last spend back, at the same moment.
 */
bool bucket_spend(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t cost,
                  uint64_t now_ns);
void bucket_unspend(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t cost);

/*
 * Gives back tokens that were spent here: after a refill, at most the tokens that are taken, a part of a token
 * counted as a whole one. Returns the number of tokens given back. `credit` of them paid off unsettled spends:
 * those spends must not be charged when they settle (see struct settlement). A LOG gives back own spends that no
 * reservation holds, the oldest first, so that the rest counts for longest; its credit is 0.
 */
uint64_t bucket_return(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                       uint64_t tokens, uint64_t now_ns, uint64_t *credit);

/*
 * LOG: a reservation holds the tokens that were spent last, until `ends_ns`; until then bucket_return does not give
 * them back. Returns when they were spent: bucket_release and bucket_unhold find the tokens by that time. BUCKET
 * and CELL: nothing happens; 0.
 */
uint64_t bucket_hold(struct bucket *bucket, const struct limit *limit, uint64_t tokens, uint64_t ends_ns);
/*
 * LOG: tokens held since `spent_ns` are given back (bucket_release), or may be given back by bucket_return from now on
 * (bucket_unhold). Both return how many tokens that were.
 */
uint64_t bucket_release(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                        uint64_t tokens, uint64_t spent_ns, uint64_t now_ns);
uint64_t bucket_unhold(struct bucket *bucket, const struct limit *limit, uint64_t tokens, uint64_t spent_ns);
/*
 * LOG: lists tokens that a reservation of an earlier process took at `spent_ns` and holds until `ends_ns`, in place of
 * others' tokens where some are listed: then these stand for them. False, with nothing changed: there is no room.
 */
bool bucket_hold_again(struct bucket *bucket, const struct limit *limit, uint64_t tokens, uint64_t spent_ns,
                       uint64_t ends_ns);

/*
 * Charges what a batch of another peer spent, less what it returned, at `at_ns` on this peer's clock (the past; never
 * refunds refill twice). Debt stops at the declared overshoot: see lower() in bucket.c. LOG: the returned tokens were
 * spent at `since_ns` or later. The oldest spends of others since then are taken off the list. They end no later than
 * the returned ones, so the rest ends no earlier.
 */
void bucket_apply(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t tokens,
                  uint64_t returned, uint64_t at_ns, uint64_t since_ns);

/* ---- tokens that are spent on behalf of others ---- */

/* False: there is no room in the pool of a LOG. */
bool bucket_can_grant(const struct limit *limit);
/*
 * Spends units for another peer, of the allowance. LOG: they are listed as others' tokens from limit_granted_at_ns()
 * on: no client of this peer gives them back.
 */
void bucket_grant(struct bucket *bucket, const struct limit *limit, int64_t units, uint64_t now_ns);
/* LOG: bucket_apply of tokens that the maker of a batch has spent for others. */
void bucket_apply_granted(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                          uint64_t tokens, uint64_t at_ns);
/*
 * LOG: tokens that others spent for this peer at `since_ns` or later come off the list, as far as they are listed: this
 * peer has used them, by an own spend, or gives them back.
 */
void bucket_take_granted_off(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                             uint64_t tokens, uint64_t since_ns, uint64_t now_ns);

/*
 * An own batch's figures for one key, all in tokens. Credit stands against the oldest unsettled spends: against the
 * spends of this batch, and no more than those where later spends follow.
 */
struct settlement {
    uint64_t tokens; /* spent, returned ones included */
    uint64_t credit; /* see bucket_return */
    uint64_t later;  /* spent in later batches, returned ones included */
    uint64_t at_ns;  /* when the batch was closed */
};

/*
 * Every peer knows an own batch now: the batch is charged to `settled`, and at most the later spends stay unsettled.
 * Tokens that the spill has paid off count as the oldest spends; subtracting `tokens` instead would free later spends
 * that no peer knows of. A LOG has its own spends listed: the oldest unsettled ones become settled.
 */
void bucket_settle(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                   const struct settlement *settlement);

/* True: `settled` is at capacity and `unsettled` is 0. Such a key need not be remembered. */
bool bucket_is_full(const struct bucket *bucket, const struct limit *limit);

/* Frees the events of a LOG, which is full then. BUCKET and CELL: nothing happens. */
void bucket_close(struct bucket *bucket, const struct limit *limit);

/* ---- as one number, for snapshots and the store ---- */

/*
 * How much of a key is used, after a refill, unsettled spends included. BUCKET: the ns until it is full; CELL, LOG, and
 * a BUCKET that takes more than 146 years to fill: the tokens, rounded up. 0: full.
 */
uint64_t bucket_number(const struct bucket *bucket, const struct limit *limit);
/* True: bucket_number of a limit of these terms is a time, of which less is left as time passes. */
bool bucket_number_is_time(const struct limit_terms *terms);
/* The settled level, in units, of a bucket of which only that number is known. May be far below zero. */
int64_t bucket_level_of(const struct limit *limit, uint64_t number);
/* The level of a BUCKET that is full after so many ns of refill, rounded down. May be far below zero. */
int64_t bucket_level_before_full(const struct limit *limit, uint64_t refill_ns);
/*
 * Lowers `settled` to `level` units, but not below the declared overshoot; never raises it. A LOG lists the
 * difference as one spend of limit_granted_at_ns() of now.
 */
void bucket_lower_level(struct bucket *bucket, const struct limit *limit, int64_t level, uint64_t now_ns);
/* What another peer says of a LOG, beside its level. */
struct log_told {
    const struct events_part *parts; /* newest first, as events_parts() there told them */
    uint32_t count;                  /* 0: it does not say when its spends end */
    uint64_t lacks_own,
        lacks_others; /* so many tokens that are listed here, the newest ones, are not in the parts */
};

/*
 * Lowers a LOG to `level` as bucket_lower_level does. The spends of others end no earlier than the parts say, nor than
 * they did before. Where another peer does not say when its spends end, nor which of the spends here are among them, no
 * spend of others that it may have may end before all of them do: all count from limit_granted_at_ns() of now on. Own
 * spends end at their time, which this peer knows: counted as newer ones, they would be told as newer ones when they
 * are given back, and others would take off a spend that ends later.
 */
void bucket_lower_log(struct bucket *bucket, const struct limit *limit, int64_t level, const struct log_told *told,
                      uint64_t now_ns);
/*
 * Merges a number that was read at now_ns into a refilled bucket: no more is left than the number says. See
 * bucket_lower_level.
 */
void bucket_lower_to(struct bucket *bucket, const struct limit *limit, uint64_t number, uint64_t now_ns);

/* ---- another limit for a key that has a state ---- */

enum bucket_inherit {
    INHERIT_KEEP,         /* tokens used stay used */
    INHERIT_PROPORTIONAL, /* the used part of the capacity stays */
    INHERIT_TIME,         /* the time until it is full stays */
    /* Of a rule with tiers: as INHERIT_KEEP, but for a bucket that bucket_outgrows: that keeps its limit. */
    INHERIT_TIERS,
};

/*
 * Makes the bucket, refilled up to now_ns under `from`, a bucket of `to`. Unsettled tokens stay unsettled. Rounds
 * against the key. docs/rules.md says what each pair of kinds keeps. `expires_ns`: of `to`, if a CELL.
 */
void bucket_convert(struct bucket *bucket, const struct limit *from, const struct limit *to,
                    enum bucket_inherit how, uint64_t now_ns, uint64_t expires_ns);

/*
 * True: the BUCKET, refilled up to now_ns under `from`, has used more than a BUCKET of `to` can owe. As a bucket of
 * `to` it would forget the rest, so that a key which changes its limit to and fro would never run out. *seen becomes
 * what a request under `to` sees: a debt that ends when the bucket has refilled so far that nothing is forgotten, and
 * `to` has paid off what it can owe.
 */
bool bucket_outgrows(const struct bucket *bucket, const struct limit *from, const struct limit *to, uint64_t now_ns,
                     struct bucket *seen);

/* ---- when ---- */

struct bucket_wait {
    uint64_t cost, floor_tokens;
    uint64_t now_ns;
    uint64_t window_end_ns; /* CELL: when the next window begins */
    uint64_t settle_ns; /* expected time until every peer knows an unsettled spend; UINT64_MAX when a peer is out of
                           reach and only time helps */
};

/*
 * How long until `cost` tokens can be admitted if no peer spends meanwhile, for a bucket refilled up to now.
 * UINT64_MAX: never (the cost exceeds what a share can hold).
 */
uint64_t bucket_retry_after_ns(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                               const struct bucket_wait *wait);

/* How long until the bucket is full if no peer spends meanwhile; own unsettled spends count as spent. */
uint64_t bucket_reset_after_ns(const struct bucket *bucket, const struct limit *limit, uint64_t now_ns,
                               uint64_t window_end_ns);

/* units * fraction / SHARE_ONE, rounded towards minus infinity; fraction <= SHARE_ONE. */
int64_t units_times(int64_t units, uint64_t fraction);

#endif
