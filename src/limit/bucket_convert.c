#include "base/number.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

#include <assert.h>

/*
 * A bucket as one number and back, and as a bucket of another limit. All rounding is against the key.
 */

/* units * numerator / denominator, rounded up, at most UNITS_MOST; 0 for units <= 0. */
static int64_t units_scaled(int64_t units, int64_t numerator, int64_t denominator)
{
    if (units <= 0)
        return 0;
    uint128 scaled =
        ((uint128)(uint64_t)units * (uint64_t)numerator + (uint64_t)denominator - 1) / (uint64_t)denominator;
    return (int64_t)(scaled < UNITS_MOST ? scaled : UNITS_MOST);
}

static int64_t units_of_ns(const struct limit *limit, uint64_t ns)
{
    uint128 units = ((uint128)ns * (uint64_t)limit->units_per_tick + limit->tick_ns - 1) / limit->tick_ns;
    return (int64_t)(units < UNITS_MOST ? units : UNITS_MOST);
}

/* ---- as one number ---- */

/*
 * False for a bucket that takes centuries to fill: the time of its debt does not fit the number, and a number cut there
 * says that less is used than is. Such a bucket is told in tokens, as a CELL is.
 */
static bool is_told_by_time(const struct limit *limit)
{
    /* unsettled spends come on top of a whole debt */
    return limit->kind == LIMIT_BUCKET && limit_refill_ns(limit, limit->capacity_units) < LIMIT_TOLD_NS_MAX &&
           limit_refill_ns(limit, limit->overshoot_units) < LIMIT_TOLD_NS_MAX;
}

bool bucket_number_is_time(const struct limit_terms *terms)
{
    struct limit limit;
    struct error error;
    return terms->kind == LIMIT_BUCKET && limit_init(&limit, terms, &error) && is_told_by_time(&limit);
}

uint64_t bucket_number(const struct bucket *bucket, const struct limit *limit)
{
    int64_t used = limit->capacity_units - (bucket->settled - bucket->unsettled);
    assert(used >= 0);
    if (is_told_by_time(limit))
        return limit_refill_ns(limit, used);
    return ((uint64_t)used + (uint64_t)limit->units_per_token - 1) / (uint64_t)limit->units_per_token;
}

int64_t bucket_level_before_full(const struct limit *limit, uint64_t refill_ns)
{
    return limit->capacity_units - units_of_ns(limit, refill_ns);
}

int64_t bucket_level_of(const struct limit *limit, uint64_t number)
{
    if (is_told_by_time(limit))
        return bucket_level_before_full(limit, number);
    return limit->capacity_units - units_of_tokens(limit, number);
}

void bucket_lower_level(struct bucket *bucket, const struct limit *limit, int64_t level, uint64_t now_ns)
{
    if (level < -limit->debt_units)
        level = -limit->debt_units; /* as when a spend is charged */
    int64_t missing = bucket->settled - level;
    if (missing <= 0)
        return;
    if (limit->kind == LIMIT_LOG)
        missing = (int64_t)events_insert(limit->events, &bucket->events, (uint64_t)missing,
                                         limit_granted_at_ns(limit, now_ns));
    bucket->settled -= missing;
}

void bucket_lower_log(struct bucket *bucket, const struct limit *limit, int64_t level, const struct log_told *told,
                      uint64_t now_ns)
{
    assert(limit->kind == LIMIT_LOG);
    const struct events_part now = {.at_ns = limit_granted_at_ns(limit, now_ns), .tokens = UINT64_MAX};
    const uint64_t listed = (uint64_t)(limit->capacity_units - bucket->settled + bucket->unsettled),
                   others = events_others(limit->events, &bucket->events), own = number_minus(listed, others),
                   kept_others = number_least(told->lacks_others, others);
    const int64_t lowest = level < -limit->debt_units ? -limit->debt_units : level,
                  wanted = limit->capacity_units - lowest + bucket->unsettled;
    const uint64_t most = number_most(listed, wanted > 0 ? (uint64_t)wanted : 0);
    const struct events_told list = {.parts = told->count > 0 ? told->parts : &now,
                                     .count = told->count > 0 ? told->count : 1,
                                     .kept_own = told->lacks_own,
                                     .kept_others = kept_others,
                                     .others_most = most - own - kept_others};
    bucket->settled -= events_list_others(limit->events, &bucket->events, &list);
    bucket_lower_level(bucket, limit, level, now_ns); /* where the parts are fewer than the level says */
}

void bucket_lower_to(struct bucket *bucket, const struct limit *limit, uint64_t number, uint64_t now_ns)
{
    bucket_lower_level(bucket, limit, bucket_level_of(limit, number), now_ns);
}

/* ---- as a bucket of another limit ---- */

/* What `used` units of one limit are under another one. */
static int64_t used_under(int64_t used, const struct limit *from, const struct limit *to, enum bucket_inherit how)
{
    if (how == INHERIT_PROPORTIONAL)
        return units_scaled(used, to->capacity_units, from->capacity_units);
    if (how == INHERIT_TIME && from->kind == LIMIT_BUCKET && to->kind == LIMIT_BUCKET)
        return units_of_ns(to, limit_refill_ns(from, used));
    return units_scaled(used, to->units_per_token, from->units_per_token);
}

/* The list stays; its events count by the new period from now on. */
static void convert_log(struct bucket *bucket, const struct limit *from, const struct limit *to,
                        enum bucket_inherit how, uint64_t now_ns)
{
    int64_t listed = from->capacity_units - bucket->settled + bucket->unsettled;
    assert(from->events == to->events);
    if (how == INHERIT_PROPORTIONAL)
        listed = (int64_t)events_scale(to->events, &bucket->events, to->capacity, from->capacity);
    if (listed < bucket->unsettled) /* spends that other peers do not know yet keep their tokens */
        listed +=
            (int64_t)events_insert(to->events, &bucket->events, (uint64_t)(bucket->unsettled - listed), now_ns);
    if (listed < bucket->unsettled)
        bucket->unsettled = listed;
    bucket->settled = to->capacity_units - listed + bucket->unsettled;
}

void bucket_convert(struct bucket *bucket, const struct limit *from, const struct limit *to,
                    enum bucket_inherit how, uint64_t now_ns, uint64_t expires_ns)
{
    if (from->kind == LIMIT_LOG && to->kind == LIMIT_LOG) {
        convert_log(bucket, from, to, how, now_ns);
        return;
    }
    int64_t used = used_under(from->capacity_units - bucket->settled, from, to, how);
    int64_t unsettled = units_scaled(bucket->unsettled, to->units_per_token, from->units_per_token);
    bucket_close(bucket, from);
    /* Refilled up to now: the unfinished tick must not be refilled twice. */
    uint64_t tick_up_ns = now_ns > UINT64_MAX - to->tick_ns ? now_ns : now_ns + to->tick_ns - 1;
    bucket_fill(bucket, to, tick_up_ns, expires_ns);
    if (to->kind == LIMIT_LOG) {
        int64_t listed =
            (int64_t)events_insert(to->events, &bucket->events, (uint64_t)used + (uint64_t)unsettled, now_ns);
        bucket->unsettled = unsettled < listed ? unsettled : listed;
        bucket->settled = to->capacity_units - listed + bucket->unsettled;
        return;
    }
    bucket->unsettled = unsettled;
    bucket->settled = to->capacity_units - used;
    /* A smaller capacity must not leave a debt of hours; a cell's ends with its window. */
    const int64_t most = how == INHERIT_TIERS ? to->debt_units : to->overshoot_units;
    if (to->kind == LIMIT_BUCKET && bucket->settled < -most && how != INHERIT_TIME)
        bucket->settled = -most;
}

bool bucket_outgrows(const struct bucket *bucket, const struct limit *from, const struct limit *to, uint64_t now_ns,
                     struct bucket *seen)
{
    if (from->kind != LIMIT_BUCKET || to->kind != LIMIT_BUCKET)
        return false;
    const int64_t used = from->capacity_units - bucket->settled + bucket->unsettled;
    const int64_t most =
        units_scaled(to->capacity_units + to->overshoot_units, from->units_per_token, to->units_per_token);
    if (used <= most)
        return false;
    *seen = *bucket;
    bucket_convert(seen, from, to, INHERIT_KEEP, now_ns, 0);
    seen->settled = -to->overshoot_units - units_of_ns(to, limit_refill_ns(from, used - most));
    seen->unsettled = 0;
    return true;
}
