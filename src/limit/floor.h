/*
 * floor: the debt that keys evicted from one part of the table may still have.
 *
 * The one idea: a floor is the worst of all evicted states, in units that mean the same under every limit. For
 * BUCKETs these are durations: every evicted key is full by full_at_ns, and had no more unsettled than refills in
 * `unsettled` at the limit's whole rate. For CELLs and LOGs it is a part of the capacity: no evicted key had used
 * more than `used`, and all of that is over by until_ns. So a key that starts from the floor never has more than it
 * had, and a floor that has passed costs nothing. Every rounding is against the key. While all evicted keys had the
 * same limit, the floor concerns keys of that limit alone.
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
    uint32_t used;     /* in 1/FLOOR_USED_ONE of the capacity; UINT32_MAX: all of it */
    uint16_t limit;    /* an index, or FLOOR_MIXED */
} __attribute__((packed, aligned(2)));
_Static_assert(sizeof(struct floor) + sizeof(struct window_floor) == 30, "30 bytes for 16 slots: two bytes a slot");

/* Lowers `bucket`, which is full and belongs to limit number `index`, to the floor. */
void floor_apply(const struct floor *floor, const struct limit_set *limits, const struct budget *budgets,
                 uint16_t index, struct bucket *bucket);

/*
 * Pays off the unsettled part from full_at_ns on, at this peer's share of the limit concerned, or at the least share of
 * all limits, `share_min`. True: nothing is owed at now_ns, and the floor may be cleared.
 */
bool floor_age(struct floor *floor, const struct limit_set *limits, const struct budget *budgets,
               uint64_t share_min, uint64_t now_ns);

/* The most that an evicted key may owe, as ns of refill at the whole rate from now_ns until it is full and paid off. */
uint64_t floor_owed_ns(const struct floor *floor, uint64_t now_ns);

/* Makes the floor at least as low as keys of any limit that owe `owed_ns` of refill. Call floor_age before. */
void floor_lower(struct floor *floor, uint64_t owed_ns, uint64_t now_ns);

/* Makes the floor at least as low as the evicted `bucket` of limit number `index`. Call floor_age before. */
void floor_deepen(struct floor *floor, const struct limit_set *limits, uint16_t index, const struct bucket *bucket);

/* ---- CELLs and LOGs ---- */

/* When a CELL or LOG, refilled up to now, is full again. */
uint64_t window_over_ns(const struct bucket *bucket, const struct limit *limit);

/* The used part of the capacity; unsettled spends weigh as much as in the rule. */
uint32_t window_used(const struct bucket *bucket, const struct limit *limit, const struct budget *budget);

/* The highest settled level, in units, that a key of the limit may start from. After the end of the floor: full. */
int64_t window_floor_level(const struct window_floor *floor, const struct limit *limit, uint16_t index,
                           uint64_t now_ns);

/* Makes the floor at least as low as keys that have used `used` until `until_ns`. */
void window_floor_deepen(struct window_floor *floor, uint16_t index, uint32_t used, uint64_t until_ns,
                         uint64_t now_ns);

#endif
