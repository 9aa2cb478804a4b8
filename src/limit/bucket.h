/*
 * bucket: the state of one key at one peer, three numbers, and the rule that spends from it.
 *
 * The one idea: `settled` is a token bucket charged with what everybody knows; `unsettled` is what this
 * peer spent and somebody may not know yet. A peer admits only while its unsettled spends stay within
 * its share of what is settled. docs/accounting.md states the rule and why the whole cluster then stays
 * within the declared overshoot. Pure arithmetic on integers: no keys, no clock, no allocation.
 *
 * Times are nanoseconds of the caller's monotonic clock and may stand still or (ignored) run backwards.
 */
#ifndef HEADGATE_LIMIT_BUCKET_H
#define HEADGATE_LIMIT_BUCKET_H

#include "limit/limit.h"

#include <stdbool.h>
#include <stdint.h>

#define SHARE_ONE ((uint64_t)1 << 32) /* the whole of a limit, as a share */

struct bucket {
    int64_t settled;   /* units; below zero is debt; never above the limit's capacity_units */
    int64_t unsettled; /* units, >= 0: own spends that some peer may not know yet */
    uint64_t last_refill_ns;
};

/* What one peer may use of one limit; derived from its share, the same for all keys of the limit. */
struct budget {
    uint64_t share;      /* w, in 1/SHARE_ONE */
    uint64_t spendable;  /* (1 - k) * w with the reserve k = 1/4, in 1/SHARE_ONE */
    int64_t slack_units; /* w * E */
    bool alone;          /* no other peer exists: spends settle at once, nothing is held back */
};

/* `share` <= SHARE_ONE. Products are rounded down, so that shares never add up to more than the whole. */
void budget_init(struct budget *budget, const struct limit *limit, uint64_t share, bool alone);

/* A key that nobody has spent from. */
void bucket_fill(struct bucket *bucket, const struct limit *limit, uint64_t now_ns);

/* Refills up to now_ns; what would rise above the capacity pays off unsettled spends at this peer's share. */
void bucket_refill(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t now_ns);

/* The most that `unsettled` may become by admitting: min(settled, (1-k) w settled + w E). May be negative. */
int64_t bucket_allowance(const struct bucket *bucket, const struct budget *budget);

/* Whole tokens that can be admitted at this moment, after a refill. */
uint64_t bucket_remaining(const struct bucket *bucket, const struct limit *limit, const struct budget *budget);

/* Refills, then takes `cost` tokens if the rule allows; cost 0 is allowed whenever no debt stands. */
bool bucket_take(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t cost,
                 uint64_t now_ns);

/*
 * Charges a spend of another peer, made at `at_ns` on this peer's clock (the past; never refunds refill twice).
 * Debt stops at the declared overshoot: see lower() in bucket.c.
 */
void bucket_charge(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t tokens,
                   uint64_t at_ns);

/*
 * An own spend of `tokens`, made at `at_ns`, is now known everywhere: it is charged to settled. `later_tokens` were
 * spent after it: no more than those stays unsettled. What the spill has paid off counts as the oldest spends;
 * subtracting `tokens` instead would free later spends that nobody knows of.
 */
void bucket_settle(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t tokens,
                   uint64_t later_tokens, uint64_t at_ns);

/* Nothing is owed: settled is at capacity and nothing is unsettled. Such a key need not be remembered. */
bool bucket_is_full(const struct bucket *bucket, const struct limit *limit);

/*
 * Min tokens, max last refill: refills both up to the later last_refill_ns (without paying off anything
 * unsettled), then keeps the fewer settled tokens and the more unsettled ones. Commutative, associative,
 * idempotent; never raises what may be spent.
 */
void bucket_merge(struct bucket *bucket, const struct bucket *other, const struct limit *limit,
                  const struct budget *budget);

/*
 * How long until `cost` tokens can be admitted if nobody spends meanwhile, for a bucket refilled up to now.
 * `settle_ns` is how long an unsettled spend is expected to take until everyone knows it; UINT64_MAX when a
 * peer is out of reach and only the refill helps. UINT64_MAX: never (the cost exceeds what a share can hold).
 */
uint64_t bucket_retry_after_ns(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                               uint64_t cost, uint64_t settle_ns);

/* How long until the bucket is full if nobody spends meanwhile; own unsettled spends counted as spent. */
uint64_t bucket_reset_after_ns(const struct bucket *bucket, const struct limit *limit);

/* units * fraction / SHARE_ONE, rounded towards minus infinity; fraction <= SHARE_ONE. */
int64_t units_times(int64_t units, uint64_t fraction);

#endif
