/*
 * kind: what other rooms must know of a kind of state, asked by property.
 *
 * The one idea: whoever stores, tells, merges or gives back tokens does not care which kind of state a key has, but
 * what such a state does as time passes. Each property is answered once here, for all kinds, by a switch that the
 * compiler keeps complete. A new kind that refills, expires or lists as another one does needs no change in cluster/.
 * How a kind counts is not said here: see bucket.h.
 */
#ifndef HEADGATE_LIMIT_KIND_H
#define HEADGATE_LIMIT_KIND_H

#include "limit/limit.h"

/*
 * Tokens come back bit by bit, up to the capacity. So refill may pay off a spend before anybody was told of it, what a
 * full key would gain is lost, and what was spent late is partly paid off.
 */
static inline bool kind_refills(enum limit_kind kind)
{
    switch (kind) {
    case LIMIT_BUCKET:
        return true;
    case LIMIT_CELL:
    case LIMIT_LOG:
    case LIMIT_KINDS:
        return false;
    }
    return false;
}

/*
 * The state of a key ends as a whole, at a time that it has from its first spend on. So this time travels with its
 * tokens and is kept with them, and a spend that comes after it concerns nothing.
 */
static inline bool kind_expires(enum limit_kind kind)
{
    switch (kind) {
    case LIMIT_CELL:
        return true;
    case LIMIT_BUCKET:
    case LIMIT_LOG:
    case LIMIT_KINDS:
        return false;
    }
    return false;
}

/*
 * Each spend ends by itself, at its own time, and is listed until then. So the list says what may be given back, a
 * return must be heeded before the spend that it is of has ended, and sums of tokens do not tell what is left.
 */
static inline bool kind_lists(enum limit_kind kind)
{
    switch (kind) {
    case LIMIT_LOG:
        return true;
    case LIMIT_BUCKET:
    case LIMIT_CELL:
    case LIMIT_KINDS:
        return false;
    }
    return false;
}

/*
 * What a voucher has paid can be given back by its holder, whole: nothing of it came back meanwhile, or it is an own
 * spend. Where tokens refill, a part of it may have come back to all since it was used.
 */
static inline bool kind_returns_granted(enum limit_kind kind)
{
    return kind_expires(kind) || kind_lists(kind);
}

/* A voucher is used within this time of the ask, by any clock that is not faster than others by a 16th. */
#define GRANTED_AHEAD_NS UINT64_C(4250000000)
/* Grants of as much time are one event: few stand before the spends of now. */
#define GRANTED_STEP_NS (UINT64_C(1) << 29)

/* A log of which several daemons may have shares: no view alone decides. */
static inline bool limit_is_shared_log(const struct limit *limit)
{
    return kind_lists((enum limit_kind)limit->kind) && !limit_home_is_one(limit->home);
}

/*
 * The tokens of a voucher may be used long after they were granted, by a spend that counts from then on. So a grant is
 * listed as a later spend, until its holder tells its own one; and so is what nobody knows of, whether it was granted.
 * That would be most of a short period: without one home nobody asks for tokens of a log that forgets sooner.
 */
static inline bool limit_lists_grants(const struct limit *limit)
{
    return kind_lists((enum limit_kind)limit->kind) &&
           (!limit_is_shared_log(limit) || limit->period_ns >= GRANTED_AHEAD_NS);
}

/*
 * From when on tokens count that were granted at that moment, or of which nobody knows whether they were. Of limits
 * whose grants are not listed: from that moment.
 */
static inline uint64_t limit_granted_at_ns(const struct limit *limit, uint64_t at_ns)
{
    if (!limit_lists_grants(limit))
        return at_ns;
    return (at_ns + GRANTED_AHEAD_NS + GRANTED_STEP_NS - 1) / GRANTED_STEP_NS * GRANTED_STEP_NS;
}

/* Spends travel with the time when they end, or when their returns do. */
static inline bool kind_travels_with_end(enum limit_kind kind, bool some_returned)
{
    return kind_expires(kind) || (kind_lists(kind) && some_returned);
}

#endif
