/*
 * floor: what keys that were evicted from one part of the table may still owe.
 *
 * The one idea: the worst of all evicted states, as durations: no evicted key was to be full later than
 * full_at_ns, and none had more unsettled than refills in `unsettled` at the limit's whole rate. Durations mean
 * the same under every limit. Whoever starts from the floor therefore never has more than he had, and once it
 * has passed it costs nothing. Every rounding is against the key. An id belongs to one limit only, so that
 * while all evicted keys had the same one, keys of others need not suffer.
 */
#ifndef HEADGATE_LIMIT_FLOOR_H
#define HEADGATE_LIMIT_FLOOR_H

#include "limit/bucket.h"
#include "limit/limit.h"

#include <stdint.h>

enum {
    FLOOR_SHIFT = 12, /* `unsettled` counts in 4,096 ns: 48 bits hold 36 years */
    FLOOR_MIXED = 0xffff,
};

struct floor {
    uint64_t full_at_ns;     /* 0: there is no floor */
    uint64_t unsettled : 48; /* in 2^FLOOR_SHIFT ns */
    uint64_t limit : 16;     /* an index, or FLOOR_MIXED */
};
_Static_assert(sizeof(struct floor) == 16, "16 bytes for 16 slots: a byte a slot");

/* Lowers `bucket`, which is full and belongs to limit number `index`, to the floor. */
void floor_apply(const struct floor *floor, const struct limit_set *limits, const struct budget *budgets,
                 uint16_t index, struct bucket *bucket);

/*
 * Pays off what is unsettled from full_at_ns on, at the smallest share of the limits concerned. True: at now_ns
 * nothing is owed any more, and the floor may be cleared.
 */
bool floor_age(struct floor *floor, const struct limit_set *limits, const struct budget *budgets, uint64_t now_ns);

/* What an evicted key may owe at most, as ns of refill at the whole rate from now_ns on: full and paid off. */
uint64_t floor_owed_ns(const struct floor *floor, uint64_t now_ns);

/* Makes the floor at least as low as keys of any limit that owe so many ns of refill. Age it before. */
void floor_lower(struct floor *floor, uint64_t owed_ns, uint64_t now_ns);

/* Makes the floor at least as low as the evicted `bucket` of limit number `index`. Age it before. */
void floor_deepen(struct floor *floor, const struct limit_set *limits, uint16_t index, const struct bucket *bucket);

#endif
