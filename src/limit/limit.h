/*
 * limit: what one limit is (capacity, rate, declared overshoot) and its exact arithmetic units.
 *
 * The one idea: a token is split into as many integer units as make one clock tick's refill a whole
 * number of units. Refilling and spending are then integer additions, with no rounding and no drift.
 * A limit knows nothing of keys, peers or time's origin.
 */
#ifndef HEADGATE_LIMIT_LIMIT_H
#define HEADGATE_LIMIT_LIMIT_H

#include "base/bytes.h"
#include "base/error.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    LIMIT_NAME_BYTES = 64, /* with the terminator */
    LIMITS_MAX = 64,
};

#define LIMIT_CAPACITY_MAX 1000000000000u /* tokens; also the largest rate and overshoot */
#define LIMIT_PERIOD_MAX_NS (366ull * 24 * 3600 * 1000000000ull)

struct limit {
    char name[LIMIT_NAME_BYTES];
    uint64_t capacity;  /* tokens, 1..LIMIT_CAPACITY_MAX */
    uint64_t rate;      /* tokens per period, 1..LIMIT_CAPACITY_MAX */
    uint64_t period_ns; /* 1..LIMIT_PERIOD_MAX_NS */
    uint64_t overshoot; /* tokens that the whole cluster may admit beyond the limit */
    /* Derived by limit_init: */
    uint32_t id;             /* a hash of the name: the same at every peer */
    int64_t units_per_token; /* >= 1 */
    int64_t units_per_tick;  /* >= 1 */
    uint64_t tick_ns;        /* the clock's step for this limit: 1, or coarser where 64 bits would not do */
    int64_t capacity_units;  /* capacity * units_per_token, <= 2^60 */
    int64_t overshoot_units; /* <= 2^60 */
};

struct limit_set {
    uint16_t count; /* 1..LIMITS_MAX */
    uint16_t by_default;
    struct limit limit[LIMITS_MAX];
};

/* Fills `limit`, derived fields included. False, with a sentence naming the field, when a value is out of range. */
bool limit_init(struct limit *limit, struct bytes name, uint64_t capacity, uint64_t rate, uint64_t period_ns,
                uint64_t overshoot, struct error *error);

/* The index of the limit of that name, or -1. */
int limit_set_find(const struct limit_set *set, struct bytes name);
/* The index of the limit with that id, or -1. */
int limit_set_find_id(const struct limit_set *set, uint32_t id);

/* How long `units` of `limit` take to refill, rounded up; saturates at UINT64_MAX. 0 for units <= 0. */
uint64_t limit_refill_ns(const struct limit *limit, int64_t units);

#endif
