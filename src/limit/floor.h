/*
 * floor: what keys that were evicted from one part of the table may still owe.
 *
 * The one idea: the worst of all evicted states, in what means the same under every limit. For BUCKETs durations: no
 * evicted key was to be full later than full_at_ns, and none had more unsettled than refills in `unsettled` at the
 * limit's whole rate. For CELLs and LOGs a part of the capacity: no evicted key had used more than `used`, and all
 * of it is over by until_ns. Whoever starts from the floor therefore never has more than he had, and once it has
 * passed it costs nothing. Every rounding is against the key. While all evicted keys had the same limit, keys of
 * others need not suffer.
 */
#ifndef HEADGATE_LIMIT_FLOOR_H
#define HEADGATE_LIMIT_FLOOR_H

#include "limit/bucket.h"
#include "limit/limit.h"

#include <stdint.h>

enum {
    FLOOR_SHIFT = 12, /* `unsettled` counts in 4,096 ns: 48 bits hold 36 years */
    FLOOR_MIXED = 0xffff,
    FLOOR_USED_ONE = 1 << 24,
};

struct floor {
    uint64_t full_at_ns;     /* 0: there is no floor */
    uint64_t unsettled : 48; /* in 2^FLOOR_SHIFT ns */
    uint64_t limit : 16;     /* an index, or FLOOR_MIXED */
};
struct window_floor {
    uint64_t until_ns; /* 0: there is no floor */
    uint32_t used;     /* in 1/FLOOR_USED_ONE of the capacity; UINT32_MAX: all there is */
    uint16_t limit;    /* an index, or FLOOR_MIXED */
} __attribute__((packed, aligned(2)));
_Static_assert(sizeof(struct floor) + sizeof(struct window_floor) == 30, "30 bytes for 16 slots: two bytes a slot");

/* Lowers `bucket`, which is full and belongs to limit number `index`, to the floor. */
void floor_apply(const struct floor *floor, const struct limit_set *limits, const struct budget *budgets,
                 uint16_t index, struct bucket *bucket);

/*
 * Pays off what is unsettled from full_at_ns on, at the share of the limit concerned, or at the smallest share that
 * there is, `share_min`. True: at now_ns nothing is owed any more, and the floor may be cleared.
 */
bool floor_age(struct floor *floor, const struct limit_set *limits, const struct budget *budgets,
               uint64_t share_min, uint64_t now_ns);

/* What an evicted key may owe at most, as ns of refill at the whole rate from now_ns on: full and paid off. */
uint64_t floor_owed_ns(const struct floor *floor, uint64_t now_ns);

/* Makes the floor at least as low as keys of any limit that owe so many ns of refill. Age it before. */
void floor_lower(struct floor *floor, uint64_t owed_ns, uint64_t now_ns);

/* Makes the floor at least as low as the evicted `bucket` of limit number `index`. Age it before. */
void floor_deepen(struct floor *floor, const struct limit_set *limits, uint16_t index, const struct bucket *bucket);

/* ---- CELLs and LOGs ---- */

/* When a CELL or LOG, refilled up to now, owes nothing any more. */
uint64_t window_over_ns(const struct bucket *bucket, const struct limit *limit);

/* What the bucket has used, as a part of the capacity; what is unsettled weighs as much as it does in the rule. */
uint32_t window_used(const struct bucket *bucket, const struct limit *limit, const struct budget *budget);

/* The highest that a key of the limit may start from: settled units. Above the floor's end: full. */
int64_t window_floor_level(const struct window_floor *floor, const struct limit *limit, uint16_t index,
                           uint64_t now_ns);

/* Makes the floor at least as low as keys that have used so much and owe until then. */
void window_floor_deepen(struct window_floor *floor, uint16_t index, uint32_t used, uint64_t until_ns,
                         uint64_t now_ns);

#endif
