/*
 * peaks notes the highest level that a bucket had lately, in slots that keys share. A shared slot
 * can only hold too high a level, and too high a level credits too few tokens: the safe side. A
 * note takes a comparison and a store, and no division.
 */
#include "cluster/state/peaks.h"

#include "base/prefetch.h"
#include "limit/kind.h"

#include <assert.h>
#include <stdlib.h>

enum { KEYS_PER_PEAK = 4, LEVEL_BITS = 15 };

/*
 * A level is the settled units divided by a step and rounded up. The step is a power of two, and a
 * capacity has at least 2^14 steps, so a note needs no division. Keys of other limits that share a
 * slot have other steps; that has no worse effect than the sharing itself.
 */
struct peak {
    uint32_t span; /* the number of the span of time that `now` belongs to */
    uint16_t now, before;
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

static struct peak peak_of(const struct peaks *peaks, struct key_id id, uint64_t now_ns)
{
    struct peak peak = *slot_of(peaks, id);
    uint32_t span = (uint32_t)(now_ns / PEAKS_SPAN_NS), passed = span - peak.span;
    peak.before = passed == 0 ? peak.before : passed == 1 ? peak.now : 0;
    peak.now = passed == 0 ? peak.now : 0;
    peak.span = span;
    return peak;
}

/* The step of a level is 2 to the power of this, in units. */
static unsigned step_bits(const struct limit *limit)
{
    unsigned bits = 64 - (unsigned)__builtin_clzll((uint64_t)limit->capacity_units);
    return bits > LEVEL_BITS ? bits - LEVEL_BITS : 0;
}

static uint16_t level_of(const struct bucket *bucket, const struct limit *limit)
{
    unsigned bits = step_bits(limit);
    if (bucket->settled <= 0)
        return 0;
    return (uint16_t)(((uint64_t)bucket->settled + ((uint64_t)1 << bits) - 1) >> bits);
}

void peaks_prefetch(const struct peaks *peaks, struct key_id id)
{
    prefetch_write(slot_of(peaks, id));
}

void peaks_note(struct peaks *peaks, struct key_id id, const struct bucket *bucket, const struct limit *limit,
                uint64_t now_ns)
{
    struct peak peak = peak_of(peaks, id, now_ns);
    uint16_t level = level_of(bucket, limit);
    peak.now = level > peak.now ? level : peak.now;
    *slot_of(peaks, id) = peak;
}

/* The units that refill in `ns`, rounded up. */
static int64_t refilled_units(const struct limit *limit, uint64_t ns)
{
    uint64_t ticks = ns / limit->tick_ns, units;
    if (ticks++ == UINT64_MAX || __builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &units) ||
        units > INT64_MAX)
        return INT64_MAX;
    return (int64_t)units;
}

int64_t peaks_credit(const struct peaks *peaks, struct key_id id, const struct bucket *bucket,
                     const struct limit *limit, int64_t units, uint64_t age_ns, uint64_t now_ns)
{
    assert(kind_refills(limit->kind));
    /*
     * The lost tokens are at most the tokens that have refilled since they were spent. One span is
     * added: until a spend settles, its own node sees less refill.
     */
    int64_t lost = refilled_units(limit, age_ns < UINT64_MAX - PEAKS_SPAN_NS ? age_ns + PEAKS_SPAN_NS : UINT64_MAX);
    int64_t credit = lost < units ? units - lost : 0;
    if (age_ns > PEAKS_SPAN_NS)
        return credit;
    struct peak peak = peak_of(peaks, id, now_ns);
    uint16_t highest = level_of(bucket, limit);
    highest = peak.now > highest ? peak.now : highest;
    highest = peak.before > highest ? peak.before : highest;
    int64_t room = limit->capacity_units - ((int64_t)highest << step_bits(limit));
    room = room < 0 ? 0 : room < units ? room : units;
    return room > credit ? room : credit;
}
