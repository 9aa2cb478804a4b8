/*
 * limit: what one limit is (its terms), its exact arithmetic units, and the set of all limits that are in use.
 *
 * The one idea: three kinds of state carry every algorithm. A BUCKET refills continuously: a token is split into
 * as many integer units as make one clock tick's refill a whole number of units, so that refilling and spending
 * are integer additions, with no rounding and no drift; now and the time until it is full are the theoretical arrival
 * time of GCRA. A CELL holds one window's tokens and is forgotten when it
 * expires; its tokens have parts, so that peers can grant each other theirs. In a LOG every spend counts for period_ns
 * from its time. A limit knows nothing of names, keys or peers:
 * equal terms are the same limit, and a set gives them an index.
 */
#ifndef HEADGATE_LIMIT_LIMIT_H
#define HEADGATE_LIMIT_LIMIT_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/number.h"

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

struct events;

enum limit_kind { LIMIT_BUCKET, LIMIT_CELL, LIMIT_LOG, LIMIT_KINDS };

enum {
    LIMIT_SPLIT = 1,      /* a static split: every peer has its share and tells no spend */
    LIMIT_PERSISTENT = 2, /* the store keeps the state of keys */
    LIMIT_FLAGS_END = 4,
    LIMIT_LOG_MAX = 10000,  /* tokens of a LOG: capacity and overshoot */
    LIMITS_MAX = 32767,     /* of one set: entry.limit has 15 bits */
    LIMIT_CELL_BITS = 16,   /* a token of a CELL is 2^16 units */
    LIMIT_WEIGHTS_MAX = 32, /* regions in a list of weights */
};

#define LIMIT_WEIGHTS_WHOLE UINT64_C(1000000000) /* the weights of a list add up to it */

#define LIMIT_CAPACITY_MAX 1000000000000u /* tokens; also the largest rate and overshoot */
/* A bucket that may take longer to refill is told in tokens, not as a time. */
#define LIMIT_TOLD_NS_MAX (UINT64_MAX / 4)
#define LIMIT_PERIOD_MAX_NS (366ull * 24 * 3600 * 1000000000ull)

/* A limit as peers tell it to each other. */
struct limit_terms {
    uint8_t kind;       /* enum limit_kind */
    uint8_t flags;      /* LIMIT_SPLIT, LIMIT_PERSISTENT */
    uint64_t capacity;  /* tokens, 1..LIMIT_CAPACITY_MAX (LOG: ..LIMIT_LOG_MAX) */
    uint64_t rate;      /* BUCKET: tokens per period, 1..LIMIT_CAPACITY_MAX; else 0 */
    uint64_t period_ns; /* 1..LIMIT_PERIOD_MAX_NS; LOG: how long a spend counts; CELL: 0 */
    uint64_t overshoot; /* tokens that the whole cluster may admit beyond the limit */
    /*
     * limit_home_of() of the region, or limit_home_of_daemon() of the daemon, that has the whole share; or
     * limit_weights_number() of a list that gives each region its part; 0: all regions have theirs by the weights of
     * the cluster.
     */
    uint64_t home;
};

/* A region's part of a limit, of LIMIT_WEIGHTS_WHOLE. */
struct limit_weight {
    struct bytes region;
    uint64_t billionths;
};

struct limit {
    uint8_t kind, flags; /* as in struct limit_terms */
    bool of_tiers;       /* a key may change it to and fro: see limit/limit_span.h */
    uint32_t hash;       /* of the terms; limit_init derives it and all fields below the terms */
    uint64_t home;       /* as in struct limit_terms */
    uint64_t capacity, rate, period_ns, overshoot;
    int64_t units_per_token; /* >= 1; CELL: 1 << LIMIT_CELL_BITS; LOG, and a CELL that is LIMIT_SPLIT: 1 */
    int64_t units_per_tick;  /* >= 1; CELL and LOG: 0 */
    uint64_t tick_ns;        /* the clock's step for this limit: 1, or coarser where 64 bits would not do */
    int64_t capacity_units;  /* capacity * units_per_token, <= 2^60 */
    int64_t overshoot_units; /* <= 2^60 */
    int64_t debt_units;      /* a debt stops there, see lowest_of in bucket.c; >= overshoot_units, < 2^61 */
    int64_t lent_units;      /* BUCKET with one home: a grant may take so much more than the home has; else 0 */
    int64_t wider_units;     /* of_tiers: the widest limit has more capacity by so much; else 0 */
    int64_t narrowest_units; /* of_tiers: the smallest capacity of all its rule's limits; else the own one */
    uint64_t slowest_ns;     /* BUCKET, of_tiers: of all its rule's limits, the longest refill of a token; else 0 */
    uint64_t fastest_ns;     /* ... the shortest one, rounded down */
    uint64_t token_reciprocal, tick_reciprocal; /* of units_per_token and units_per_tick: see limit_quotient */
    struct events *events;                      /* LOG: where spends are listed; the limit set's */
};

/* Fills `limit`, derived fields included. False, with a sentence naming the field, when a value is out of range. */
bool limit_init(struct limit *limit, const struct limit_terms *terms, struct error *error);

struct limit_terms limit_terms_of(const struct limit *limit);
bool limit_terms_equal(const struct limit_terms *a, const struct limit_terms *b);
/* The same amount without a refill: a window's, as far as terms tell of one. */
struct limit_terms limit_terms_as_window(const struct limit_terms *terms);
uint32_t limit_terms_hash(const struct limit_terms *terms);

/* The number by which terms name a region; never 0. Two regions of one cluster must not have the same (node_create). */
uint32_t limit_home_of(struct bytes region);
/* The number by which terms name a daemon of a region; no region has such a number. */
uint64_t limit_home_of_daemon(struct bytes region, struct bytes daemon);
/* The number of a home as rules name it: REGION, or REGION/DAEMON. */
uint64_t limit_home_named(struct bytes text);
/*
 * The number by which terms name a list of weights; no region and no daemon has such a number. The list must be
 * sorted by the bytes of its regions, each of which stands there once, with a weight above 0.
 */
uint64_t limit_weights_number(const struct limit_weight *weights, uint32_t count);
/* Numbers have 56 bits: those of lists have the highest one, those of daemons the next one; regions have 32. */
#define LIMIT_HOME_LIST ((uint64_t)1 << 55)
#define LIMIT_HOME_DAEMON ((uint64_t)1 << 54)
/* True: a list of weights says what each region has. */
static inline bool limit_home_is_list(uint64_t home)
{
    return home >= LIMIT_HOME_LIST;
}
/* True: one region, or one daemon, has the whole. */
static inline bool limit_home_is_one(uint64_t home)
{
    return home != 0 && !limit_home_is_list(home);
}
/*
 * The flags and the home as one number, for messages and the store. Without a home it is the flags, as earlier releases
 * know them, which refuse larger numbers.
 */
uint64_t limit_terms_word(const struct limit_terms *terms);
/* False: no terms of this release have such a word; they are filled in all the same. */
bool limit_terms_set_word(struct limit_terms *terms, uint64_t word);

/* dividend / divisor, with reciprocal = UINT64_MAX / divisor: far cheaper than a division. */
static inline uint64_t limit_quotient(uint64_t dividend, uint64_t divisor, uint64_t reciprocal)
{
    uint64_t quotient = (uint64_t)(((uint128)dividend * reciprocal) >> 64); /* right, or one too low */
    return quotient + (dividend - quotient * divisor >= divisor);
}

/* BUCKET: how long `units` take to refill, rounded up; saturates at UINT64_MAX. 0 for units <= 0. */
static inline uint64_t limit_refill_ns(const struct limit *limit, int64_t units)
{
    assert(limit->kind == LIMIT_BUCKET);
    if (units <= 0)
        return 0;
    uint64_t per_tick = (uint64_t)limit->units_per_tick, ns;
    uint64_t ticks = limit_quotient((uint64_t)units + per_tick - 1, per_tick, limit->tick_reciprocal);
    return __builtin_mul_overflow(ticks, limit->tick_ns, &ns) ? UINT64_MAX : ns;
}

/* ---- all limits of a node: equal terms share one index, which stays while it is in use ---- */

struct limit_set {
    uint32_t count; /* every index in use is below */
    uint32_t room;
    uint32_t used;         /* indices in use */
    struct limit *limit;   /* `room` of them; capacity 0: a free slot */
    uint64_t tick_max_ns;  /* the coarsest tick of all limits that were ever in the set */
    struct events *events; /* the caller's, for its LOG limits; NULL: LOG limits are refused */
    uint16_t *slot;        /* by hash, open addressing: index + 1; 0: empty */
    uint32_t slot_mask;
    uint16_t *free; /* a stack of free indices below `count` */
    uint32_t free_count;
};

/* A set with room for `room` limits, 1..LIMITS_MAX. False without memory. */
bool limit_set_init(struct limit_set *set, uint32_t room, struct events *events);
void limit_set_close(struct limit_set *set);

/* The index of the limit with these terms; -1 with `error` when they are out of range or the set is full. No
 * allocation. */
int limit_set_intern(struct limit_set *set, const struct limit_terms *terms, struct error *error);
/* The same without adding it: -1 when there is none. */
int limit_set_find(const struct limit_set *set, const struct limit_terms *terms);

/* Frees every index for which `in_use` returns false. All other limits keep their index. */
void limit_set_sweep(struct limit_set *set, bool (*in_use)(void *context, uint16_t index), void *context);

static inline bool limit_set_has(const struct limit_set *set, uint32_t index)
{
    return index < set->count && set->limit[index].capacity != 0;
}

#endif
