#include "limit/limit.h"

#include "base/hash.h"

#include <stddef.h>
#include <string.h>
#include <sysexits.h>

enum {
    UNITS_MAX_BITS = 60,
    LENT_BITS =
        20, /* of a token: many times what the parts round in which grants are told (SPARE_BITS of batch.h) */
};
/* Longer than most grants are on their way, and tokens wait there until they are given back. */
#define LENT_NS UINT64_C(2000000000)
static const int64_t units_max = (int64_t)1 << UNITS_MAX_BITS;
_Static_assert(LIMIT_CAPACITY_MAX << LIMIT_CELL_BITS <= (uint64_t)1 << UNITS_MAX_BITS, "any cell fits");

static uint64_t greatest_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Mixes like the finalizer of MurmurHash3. Terms come from operators: an unkeyed hash does. */
uint32_t limit_terms_hash(const struct limit_terms *terms)
{
    const uint64_t place = terms->home << 16 | terms->home >> 48; /* 0 below the 16 bits, but for lists */
    const uint64_t words[] = {place ^ ((uint64_t)terms->kind << 8 | terms->flags), terms->capacity, terms->rate,
                              terms->period_ns, terms->overshoot};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        hash = (hash ^ words[i]) * 0xff51afd7ed558ccdu;
        hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53u;
        hash ^= hash >> 33;
    }
    return (uint32_t)hash;
}

enum { HOME_SHIFT = 8 }; /* flags are below */

_Static_assert(LIMIT_HOME_LIST << HOME_SHIFT == (uint64_t)1 << 63, "a number fits beside the flags");

uint64_t limit_terms_word(const struct limit_terms *terms)
{
    return terms->home << HOME_SHIFT | terms->flags;
}

bool limit_terms_set_word(struct limit_terms *terms, uint64_t word)
{
    terms->flags = (uint8_t)word;
    terms->home = word >> HOME_SHIFT;
    return terms->flags < LIMIT_FLAGS_END && (terms->home <= UINT32_MAX || terms->home >= LIMIT_HOME_DAEMON);
}

/* FNV-1a, as names of limits have it. */
uint32_t limit_home_of(struct bytes region)
{
    uint32_t home = 2166136261u;
    for (size_t i = 0; i < region.size; i++)
        home = (home ^ (uint8_t)region.data[i]) * 16777619u;
    return home != 0 ? home : 1;
}

/* Of a name, and of a 0 behind it. Peers compare these numbers. */
static uint64_t hash_terminated(uint64_t hash, struct bytes name)
{
    return hash_fnv_byte(hash_fnv(hash, name), 0);
}

/* For the highest bits, which FNV-1a leaves poor. */
static uint64_t mixed(uint64_t hash)
{
    hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 33;
}

uint64_t limit_home_of_daemon(struct bytes region, struct bytes daemon)
{
    return LIMIT_HOME_DAEMON |
           mixed(hash_terminated(hash_terminated(HASH_FNV_FIRST, region), daemon)) % LIMIT_HOME_DAEMON;
}

uint64_t limit_home_named(struct bytes text)
{
    const char *slash = memchr(text.data, '/', text.size);
    if (!slash)
        return limit_home_of(text);
    const size_t before = (size_t)(slash - text.data);
    return limit_home_of_daemon((struct bytes){text.data, before},
                                (struct bytes){slash + 1, text.size - before - 1});
}

/* FNV-1a in 64 bits of the names, each with its weight in eight bytes behind it. */
uint64_t limit_weights_number(const struct limit_weight *weights, uint32_t count)
{
    uint64_t hash = HASH_FNV_FIRST;
    for (uint32_t i = 0; i < count; i++) {
        hash = hash_terminated(hash, weights[i].region);
        for (unsigned shift = 0; shift < 64; shift += 8)
            hash = hash_fnv_byte(hash, (uint8_t)(weights[i].billionths >> shift));
    }
    return LIMIT_HOME_LIST | mixed(hash) % LIMIT_HOME_LIST;
}

/*
 * rate/period tokens per ns, with a tick of t ns, is (rate * t)/period tokens per tick. Reduced to lowest
 * terms p/q, a token is q units and a tick refills p. Coarser ticks make q smaller; the finest tick whose
 * numbers fit 60 bits is taken. A tick never exceeds 1 ms or the period.
 */
static bool choose_units(struct limit *limit)
{
    for (uint64_t tick = 1; tick <= 1000000 && tick <= limit->period_ns; tick *= 10) {
        uint64_t per_tick, units;
        if (__builtin_mul_overflow(limit->rate, tick, &per_tick))
            return false;
        uint64_t divisor = greatest_divisor(per_tick, limit->period_ns);
        uint64_t p = per_tick / divisor, q = limit->period_ns / divisor;
        uint64_t most = limit->capacity > limit->overshoot ? limit->capacity : limit->overshoot;
        if (__builtin_mul_overflow(q, most, &units) || units > (uint64_t)units_max || p > (uint64_t)units_max)
            continue;
        limit->tick_ns = tick;
        limit->units_per_token = (int64_t)q;
        limit->units_per_tick = (int64_t)p;
        limit->capacity_units = (int64_t)(q * limit->capacity);
        limit->overshoot_units = (int64_t)(q * limit->overshoot);
        return true;
    }
    return false;
}

/*
 * What refills while a grant is on its way, and most of a token at most: a rest must not look like a whole token,
 * however it is rounded.
 */
static int64_t lent_units(const struct limit *limit)
{
    const int64_t most = limit->units_per_token / 4 * 3;
    int64_t units;
    if (limit->kind != LIMIT_BUCKET || !limit_home_is_one(limit->home))
        return 0;
    if (__builtin_mul_overflow((int64_t)(LENT_NS / limit->tick_ns), limit->units_per_tick, &units))
        return most;
    units += limit->units_per_token >> LENT_BITS;
    return units < most ? units : most;
}

/* Tokens of a static split are never granted, and are divided whole. */
static int64_t units_unrefilled(const struct limit_terms *terms)
{
    return terms->kind == LIMIT_CELL && (terms->flags & LIMIT_SPLIT) == 0 ? (int64_t)1 << LIMIT_CELL_BITS : 1;
}

static bool times_are_valid(const struct limit_terms *terms, struct error *error)
{
    bool bucket = terms->kind == LIMIT_BUCKET;
    if (bucket ? terms->rate < 1 || terms->rate > LIMIT_CAPACITY_MAX : terms->rate != 0)
        return error_set(error, EX_CONFIG,
                         bucket ? "rate is %llu: expected 1 to %llu tokens per period"
                                : "rate is %llu: expected 0, since nothing refills",
                         (unsigned long long)terms->rate, (unsigned long long)LIMIT_CAPACITY_MAX);
    if (terms->kind == LIMIT_CELL && terms->period_ns != 0)
        return error_set(error, EX_CONFIG, "period is %llu ns: expected 0, since a cell's time is its key's",
                         (unsigned long long)terms->period_ns);
    if (terms->kind != LIMIT_CELL && (terms->period_ns < 1 || terms->period_ns > LIMIT_PERIOD_MAX_NS))
        return error_set(error, EX_CONFIG, "%s is %llu ns: expected at most 366 days",
                         bucket ? "rate's period" : "period", (unsigned long long)terms->period_ns);
    return true;
}

static bool terms_are_valid(const struct limit_terms *terms, struct error *error)
{
    uint64_t most = terms->kind == LIMIT_LOG ? LIMIT_LOG_MAX : LIMIT_CAPACITY_MAX;
    if (terms->kind >= LIMIT_KINDS || terms->flags >= LIMIT_FLAGS_END)
        return error_set(error, EX_CONFIG, "kind is %u with flags %u: expected a kind below %d and flags below %d",
                         terms->kind, terms->flags, LIMIT_KINDS, LIMIT_FLAGS_END);
    if (terms->capacity < 1 || terms->capacity > most)
        return error_set(error, EX_CONFIG, "capacity is %llu: expected 1 to %llu tokens",
                         (unsigned long long)terms->capacity, (unsigned long long)most);
    if (!times_are_valid(terms, error))
        return false;
    if (terms->overshoot > most)
        return error_set(error, EX_CONFIG, "overshoot is %llu: expected 0 to %llu tokens",
                         (unsigned long long)terms->overshoot, (unsigned long long)most);
    return true;
}

bool limit_init(struct limit *limit, const struct limit_terms *terms, struct error *error)
{
    if (!terms_are_valid(terms, error))
        return false;
    const int64_t units = units_unrefilled(terms);
    *limit = (struct limit){
        .kind = terms->kind,
        .flags = terms->flags,
        .capacity = terms->capacity,
        .rate = terms->rate,
        .period_ns = terms->period_ns,
        .overshoot = terms->overshoot,
        .hash = limit_terms_hash(terms),
        .home = terms->home,
        .units_per_token = units,
        .tick_ns = 1,
        .capacity_units = (int64_t)terms->capacity * units,
        .overshoot_units = (int64_t)terms->overshoot * units,
    };
    if (limit->kind == LIMIT_BUCKET && !choose_units(limit))
        return error_set(error, EX_CONFIG,
                         "capacity %llu at this rate needs more than 60 bits to count exactly: expected a smaller "
                         "capacity or a rate with a shorter or rounder period",
                         (unsigned long long)terms->capacity);
    limit->lent_units = lent_units(limit);
    limit->debt_units = limit->overshoot_units + limit->lent_units;
    limit->narrowest_units = limit->capacity_units;
    limit->token_reciprocal = UINT64_MAX / (uint64_t)limit->units_per_token;
    limit->tick_reciprocal = limit->units_per_tick > 0 ? UINT64_MAX / (uint64_t)limit->units_per_tick : 0;
    return true;
}

struct limit_terms limit_terms_of(const struct limit *limit)
{
    return (struct limit_terms){.kind = limit->kind,
                                .flags = limit->flags,
                                .capacity = limit->capacity,
                                .rate = limit->rate,
                                .period_ns = limit->period_ns,
                                .overshoot = limit->overshoot,
                                .home = limit->home};
}

struct limit_terms limit_terms_as_window(const struct limit_terms *terms)
{
    struct limit_terms window = *terms;
    window.kind = LIMIT_CELL;
    window.rate = window.period_ns = 0;
    return window;
}

bool limit_terms_equal(const struct limit_terms *a, const struct limit_terms *b)
{
    return a->kind == b->kind && a->flags == b->flags && a->capacity == b->capacity && a->rate == b->rate &&
           a->period_ns == b->period_ns && a->overshoot == b->overshoot && a->home == b->home;
}
