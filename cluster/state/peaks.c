/*
 * peaks notes the highest level that a bucket had lately, in slots that keys share. A shared slot
 * can only hold too high a level, and too high a level credits too few tokens: the safe side. A
 * note takes a comparison and a store, and no division.
 */
#include "cluster/state/peaks.h"

#include "base/number.h"
#include "base/prefetch.h"
#include "limit/kind.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    KEYS_PER_PEAK = 4,
    LEVEL_BITS = 15,
    STAMPS_PER_SPAN = 1024,
    RAISED_SPANS = 64,
    PART_BITS = 16,   /* parts of a token, for keys of a rule with tiers */
    FIGURE_BITS = 10, /* behind the highest bit that is set, so many count in a level of such a key */
    RAISED_BITS =
        12, /* what returns raise such a key by is counted in so much coarser parts: in sixteenths of a token */
};

/*
 * A level is the settled units divided by a step and rounded up. The step is a power of two, and a
 * capacity has at least 2^14 steps, so a note needs no division. Keys of other limits that share a
 * slot have other steps; that has no worse effect than the sharing itself.
 *
 * A key of a rule with tiers is noted under one limit and credited under another one, so its levels must not depend on
 * either: they say how many tokens are used, the most for none. That is a logarithm in 16 bits, so it takes a division.
 */
struct peak {
    uint32_t span; /* the number of the span of time that `now` belongs to */
    uint16_t now, before;
    /*
     * By enum raise: the upper half says when a return last raised a bucket (stamp_of), the lower half by how many
     * levels those did that came within RAISED_SPANS of one another, up to that one.
     */
    _Atomic uint64_t raised[2];
};

bool peaks_init(struct peaks *peaks, uint64_t keys)
{
    unsigned bits = 6;
    while ((uint64_t)1 << bits < keys / KEYS_PER_PEAK)
        bits++;
    peaks->slot = calloc((size_t)1 << bits, sizeof *peaks->slot);
    peaks->shift = 64 - bits;
    return peaks->slot != NULL;
}

void peaks_close(struct peaks *peaks)
{
    free(peaks->slot);
    peaks->slot = NULL;
}

void *peaks_memory(const struct peaks *peaks, size_t *bytes)
{
    *bytes = sizeof *peaks->slot << (64 - peaks->shift);
    return peaks->slot;
}

/*
 * Slots stand in the order of ids: a caller that notes many keys in that order goes through memory
 * from its start to its end.
 */
static struct peak *slot_of(const struct peaks *peaks, struct key_id id)
{
    return &peaks->slot[id.high >> peaks->shift];
}

/* Brings the slot up to the present span. */
static struct peak *peak_of(const struct peaks *peaks, struct key_id id, uint64_t now_ns)
{
    struct peak *peak = slot_of(peaks, id);
    uint32_t span = (uint32_t)(now_ns / PEAKS_SPAN_NS), passed = span - peak->span;
    peak->before = passed == 0 ? peak->before : passed == 1 ? peak->now : 0;
    peak->now = passed == 0 ? peak->now : 0;
    peak->span = span;
    return peak;
}

/* The step of a level is 2 to the power of this, in units. */
static unsigned step_bits(const struct limit *limit)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll((uint64_t)limit->capacity_units);
    return bits > LEVEL_BITS ? bits - LEVEL_BITS : 0;
}

/* Units as parts of a token, rounded down, and back, rounded up. */
static uint64_t parts_of(const struct limit *limit, int64_t units)
{
    return (uint64_t)(((uint128)(uint64_t)units << PART_BITS) / (uint64_t)limit->units_per_token);
}

static int64_t units_of_parts(const struct limit *limit, uint64_t parts)
{
    const uint128 units = (uint128)parts * (uint64_t)limit->units_per_token;
    const uint128 rounded = (units + ((uint64_t)1 << PART_BITS) - 1) >> PART_BITS;
    return rounded > INT64_MAX ? INT64_MAX : (int64_t)rounded;
}

/* What is used of a key of a rule with tiers, rounded down, as a level: the less, the higher. */
static uint16_t level_of_used(const struct bucket *bucket, const struct limit *limit)
{
    const uint64_t parts = parts_of(limit, limit->capacity_units - bucket->settled);
    if (parts >> FIGURE_BITS == 0)
        return (uint16_t)(UINT16_MAX - parts);
    const unsigned shift = 63 - (unsigned)__builtin_clzll(parts) - FIGURE_BITS;
    return (uint16_t)(UINT16_MAX - ((uint64_t)shift << FIGURE_BITS) - (parts >> shift));
}

static int64_t used_at_level(const struct limit *limit, uint16_t level)
{
    const uint32_t code = (uint32_t)UINT16_MAX - level, shift = code >> FIGURE_BITS,
                   figures = code & (((uint32_t)1 << FIGURE_BITS) - 1);
    const uint64_t parts = shift == 0 ? figures : (uint64_t)(figures | (uint32_t)1 << FIGURE_BITS) << (shift - 1);
    return (int64_t)((uint128)parts * (uint64_t)limit->units_per_token >> PART_BITS);
}

static uint16_t level_of(const struct bucket *bucket, const struct limit *limit)
{
    if (limit->of_tiers)
        return level_of_used(bucket, limit);
    unsigned bits = step_bits(limit);
    if (bucket->settled <= 0)
        return 0;
    return (uint16_t)(((uint64_t)bucket->settled + ((uint64_t)1 << bits) - 1) >> bits);
}

/*
 * Times in parts of a span. They repeat after 52 days: then a return of long ago counts as a new one, for a moment.
 * Nothing returned is 0, which is 26 days after the clock began, as nodes often run from there on.
 */
static uint32_t stamp_of(uint64_t now_ns)
{
    return (uint32_t)(now_ns / (PEAKS_SPAN_NS / STAMPS_PER_SPAN)) + ((uint32_t)1 << 31);
}

/* How many levels returns may have raised buckets by in the last `ns`. */
static uint32_t raised_levels(uint64_t raised, uint64_t ns, uint64_t now_ns)
{
    uint32_t passed = stamp_of(now_ns) - (uint32_t)(raised >> 32);
    return passed <= ns / (PEAKS_SPAN_NS / STAMPS_PER_SPAN) + 1 ? (uint32_t)raised : 0;
}

void peaks_raise(struct peaks *peaks, struct key_id id, const struct limit *limit, int64_t units, enum raise raise,
                 uint64_t now_ns)
{
    _Atomic uint64_t *at = &slot_of(peaks, id)->raised[raise];
    uint64_t levels =
        (limit->of_tiers ? parts_of(limit, units) >> RAISED_BITS : (uint64_t)units >> step_bits(limit)) + 1;
    uint64_t sum;
    uint64_t before = atomic_load_explicit(at, memory_order_relaxed);
    do {
        sum = raised_levels(before, RAISED_SPANS * PEAKS_SPAN_NS, now_ns) + levels;
        sum = sum < UINT32_MAX ? sum : UINT32_MAX;
    } while (!atomic_compare_exchange_weak_explicit(at, &before, (uint64_t)stamp_of(now_ns) << 32 | sum,
                                                    memory_order_relaxed, memory_order_relaxed));
}

void peaks_prefetch(const struct peaks *peaks, struct key_id id)
{
    prefetch_write(slot_of(peaks, id));
}

void peaks_note(struct peaks *peaks, struct key_id id, const struct bucket *bucket, const struct limit *limit,
                uint64_t now_ns)
{
    struct peak *peak = peak_of(peaks, id, now_ns);
    uint16_t level = level_of(bucket, limit);
    peak->now = level > peak->now ? level : peak->now;
}

/* The units that refill in `ns` under any of the tiers, rounded up. */
static int64_t refilled_units(const struct limit *limit, uint64_t ns)
{
    uint64_t ticks = ns / limit->tick_ns, units;
    if (ticks++ == UINT64_MAX || __builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &units) ||
        units > INT64_MAX)
        return INT64_MAX;
    if (!limit->of_tiers)
        return (int64_t)units;
    const uint128 most =
        limit->fastest_ns > 0 ? (uint128)ns * (uint64_t)limit->units_per_token / limit->fastest_ns + 1 : INT64_MAX;
    if (most >= INT64_MAX)
        return INT64_MAX;
    return (int64_t)number_most(units, (uint64_t)most);
}

/* The units that so many levels of `raised` are at most; INT64_MAX: as much as the key may use, or more. */
static int64_t raised_units(const struct limit *limit, uint64_t levels)
{
    if (limit->of_tiers)
        return levels >= UINT32_MAX ? INT64_MAX : units_of_parts(limit, levels << RAISED_BITS);
    return levels >> LEVEL_BITS > 0 ? INT64_MAX : (int64_t)(levels << step_bits(limit));
}

/*
 * Of tokens that were spent at most `since_ns` ago and returned, so many are lost at most: as many as have refilled
 * since, and as many as were returned of older ones and credited here. One span is in `since_ns`: until a spend
 * settles, its own node sees less refill.
 */
static int64_t lost_units(const struct peak *peak, const struct limit *limit, uint64_t since_ns, enum raise raise,
                          uint64_t now_ns)
{
    uint64_t levels = 0;
    int64_t refilled = refilled_units(limit, since_ns);
    for (unsigned i = raise == RAISE_OTHER ? RAISE_OWN_UNSETTLED : RAISE_OTHER; i <= RAISE_OTHER; i++)
        levels += raised_levels(atomic_load_explicit(&peak->raised[i], memory_order_relaxed), since_ns, now_ns);
    const int64_t raised = raised_units(limit, levels), most = limit->capacity_units + limit->wider_units;
    if (since_ns > RAISED_SPANS * PEAKS_SPAN_NS || raised == INT64_MAX || raised > 2 * most || refilled >= most)
        return INT64_MAX;
    return refilled + raised;
}

/*
 * What the bucket could have held all the time: had the tokens come back at once, the bucket would have been fuller by
 * as many since. INT64_MIN: nobody knows.
 */
static int64_t room_since(const struct peaks *peaks, struct key_id id, const struct bucket *bucket,
                          const struct limit *limit, uint64_t age_ns, uint64_t now_ns)
{
    if (age_ns > PEAKS_SPAN_NS)
        return INT64_MIN;
    const struct peak *peak = peak_of(peaks, id, now_ns);
    uint16_t highest = level_of(bucket, limit);
    highest = peak->now > highest ? peak->now : highest;
    highest = peak->before > highest ? peak->before : highest;
    return limit->of_tiers ? used_at_level(limit, highest)
                           : limit->capacity_units - ((int64_t)highest << step_bits(limit));
}

static uint64_t since_of(uint64_t age_ns)
{
    return age_ns < UINT64_MAX - PEAKS_SPAN_NS ? age_ns + PEAKS_SPAN_NS : UINT64_MAX;
}

int64_t peaks_refilled(const struct limit *limit, uint64_t age_ns)
{
    return refilled_units(limit, since_of(age_ns));
}

int64_t peaks_return(const struct peaks *peaks, struct key_id id, const struct limit *limit, int64_t units,
                     uint64_t age_ns, uint64_t now_ns)
{
    const int64_t lost = lost_units(slot_of(peaks, id), limit, since_of(age_ns), RAISE_OTHER, now_ns);
    return lost < units ? units - lost : 0;
}

int64_t peaks_credit(struct peaks *peaks, struct key_id id, const struct bucket *bucket, const struct limit *limit,
                     int64_t units, uint64_t age_ns, enum raise raise, uint64_t now_ns)
{
    assert(kind_refills(limit->kind));
    const uint64_t since_ns = since_of(age_ns);
    int64_t lost = lost_units(slot_of(peaks, id), limit, since_ns, raise, now_ns);
    int64_t credit = lost < units ? units - lost : 0;
    int64_t room = room_since(peaks, id, bucket, limit, age_ns, now_ns);
    room = room < units ? room : units;
    if (room <= credit)
        return credit;
    peaks_raise(peaks, id, limit, room - credit, raise, now_ns);
    return room;
}
