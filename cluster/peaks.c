#include "cluster/peaks.h"

#include <assert.h>
#include <stdlib.h>

enum { KEYS_PER_PEAK = 4, PEAK_BITS = 16 };

/* Levels in 1/2^16 of the capacity, rounded up. */
struct peak {
    uint32_t span; /* the number of the span that `now` is of */
    uint16_t now, before;
};

bool peaks_init(struct peaks *peaks, uint64_t keys)
{
    uint64_t count = 64;
    while (count < keys / KEYS_PER_PEAK)
        count *= 2;
    peaks->slot = calloc(count, sizeof *peaks->slot);
    peaks->mask = count - 1;
    return peaks->slot != NULL;
}

void peaks_close(struct peaks *peaks)
{
    free(peaks->slot);
    peaks->slot = NULL;
}

static struct peak peak_of(const struct peaks *peaks, struct key_id id, uint64_t now_ns)
{
    struct peak peak = peaks->slot[id.low & peaks->mask];
    uint32_t span = (uint32_t)(now_ns / PEAKS_SPAN_NS), passed = span - peak.span;
    peak.before = passed == 0 ? peak.before : passed == 1 ? peak.now : 0;
    peak.now = passed == 0 ? peak.now : 0;
    peak.span = span;
    return peak;
}

static uint16_t level_of(const struct bucket *bucket, const struct limit *limit)
{
    __extension__ typedef unsigned __int128 wide;
    if (bucket->settled <= 0)
        return 0;
    wide level = (((wide)(uint64_t)bucket->settled << PEAK_BITS) + (uint64_t)limit->capacity_units - 1) /
                 (uint64_t)limit->capacity_units;
    return level > UINT16_MAX ? UINT16_MAX : (uint16_t)level;
}

void peaks_note(struct peaks *peaks, struct key_id id, const struct bucket *bucket, const struct limit *limit,
                uint64_t now_ns)
{
    struct peak peak = peak_of(peaks, id, now_ns);
    uint16_t level = level_of(bucket, limit);
    peak.now = level > peak.now ? level : peak.now;
    peaks->slot[id.low & peaks->mask] = peak;
}

/* Units that refill in so many ns, rounded up. */
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
    assert(limit->kind == LIMIT_BUCKET);
    /* Whatever happened, no more was lost than refilled since. */
    int64_t lost = refilled_units(limit, age_ns);
    int64_t credit = lost < units ? units - lost : 0;
    if (age_ns > PEAKS_SPAN_NS)
        return credit;
    struct peak peak = peak_of(peaks, id, now_ns);
    uint16_t highest = level_of(bucket, limit);
    highest = peak.now > highest ? peak.now : highest;
    highest = peak.before > highest ? peak.before : highest;
    int64_t room = units_times(limit->capacity_units, (uint64_t)(UINT16_MAX - highest) << PEAK_BITS);
    room = room < units ? room : units;
    return room > credit ? room : credit;
}
