#include "base/number.h"
#include "limit/bucket_inline.h"
#include "limit/kind.h"

#include <assert.h>

enum {
    SPLIT_ROUNDING = 128,       /* 1/128 of a token: a part of a static split that lacks less is rounded up */
    SPLIT_SMALL_UNITS = 1 << 15 /* a capacity below needs no slack */
};

int64_t units_times(int64_t units, uint64_t fraction)
{
    assert(fraction <= SHARE_ONE);
    return units_times_inline(units, fraction);
}

/*
 * A share is a binary fraction that was rounded down, so 0.33 of 300 is a little below 99. A part that lacks less
 * than 1/128 of a token is rounded up. At most 64 peers raise the sum by half a token that way, and a sum of whole
 * tokens that is less than the capacity plus half a token is at most the capacity.
 *
 * A key may start below its capacity, after an eviction. The part of such a level is floor(level * units / capacity),
 * so that all parts are within the level. `spendable` is rounded up for that: the error of the product is less than
 * level / 2^31, and the quotient lacks at least 1 / capacity of the next whole unit. Where the capacity has more units,
 * slack makes the part of a full key exact; at lower levels it may be a unit too much for each peer.
 */
static void split(struct budget *budget, const struct limit *limit, uint64_t share)
{
    const uint64_t capacity_units = (uint64_t)limit->capacity_units;
    const uint64_t tokens = (uint64_t)(((uint128)limit->capacity * share + SHARE_ONE / SPLIT_ROUNDING) >> 32);
    const uint64_t units = tokens * (uint64_t)limit->units_per_token;
    const bool small = capacity_units < SPLIT_SMALL_UNITS;
    budget->spendable = (uint64_t)((((uint128)units << 31) + (small ? capacity_units - 1 : 0)) / capacity_units);
    budget->reserve_units = 3 * limit->capacity_units;
    budget->slack_units = (int64_t)units - units_times(2 * limit->capacity_units, budget->spendable);
}

void budget_init(struct budget *budget, const struct limit *limit, uint64_t share, bool alone)
{
    assert(share <= SHARE_ONE);
    budget->share = share;
    budget->spendable = share / 4;
    budget->reserve_units = limit->capacity_units + (limit->capacity_units + 3) / 4;
    budget->slack_units = units_times(limit->overshoot_units, share);
    budget->alone = alone;
    if ((limit->flags & LIMIT_SPLIT) != 0) {
        split(budget, limit, share);
    } else if (share == SHARE_ONE) { /* nobody else spends: nothing is on its way, and no reserve is needed */
        budget->spendable = share / 2;
        budget->reserve_units = 3 * limit->capacity_units;
    }
}

void budget_lower(struct budget *budget, const struct limit *limit, uint64_t gone_share)
{
    if ((limit->flags & LIMIT_SPLIT) != 0 || budget->alone)
        return;
    const int64_t unheard_units = units_times(limit->capacity_units + limit->overshoot_units, gone_share) + 1;
    budget->slack_units -= units_times(unheard_units, budget->share) + 1;
}

void budget_stop(struct budget *budget, const struct limit *limit)
{
    if ((limit->flags & LIMIT_SPLIT) == 0)
        budget->share = 0;
}

void bucket_fill(struct bucket *bucket, const struct limit *limit, uint64_t now_ns, uint64_t expires_ns)
{
    *bucket = (struct bucket){.settled = limit->capacity_units};
    if (limit->kind == LIMIT_BUCKET)
        bucket->last_refill_ns = whole_ticks(limit, now_ns);
    else if (limit->kind == LIMIT_CELL)
        bucket->expires_ns = expires_ns;
}

/*
 * In a LOG, settled is the capacity less all listed tokens, plus the unsettled part of them. The list does not note
 * which spends are unsettled: tokens that leave the list count as settled ones first, so `unsettled` is never too
 * low.
 */
static void leave_log(struct bucket *bucket, int64_t tokens, int64_t capacity)
{
    int64_t listed = capacity - bucket->settled + bucket->unsettled - tokens;
    assert(listed >= 0);
    if (bucket->unsettled > listed)
        bucket->unsettled = listed;
    bucket->settled = capacity - listed + bucket->unsettled;
}

void bucket_refill_window(struct bucket *bucket, const struct limit *limit, uint64_t now_ns)
{
    if (limit->kind == LIMIT_CELL) {
        if (now_ns >= bucket->expires_ns) {
            bucket->settled = limit->capacity_units;
            bucket->unsettled = 0;
        }
    } else if (now_ns >= limit->period_ns) {
        uint64_t gone = events_expire(limit->events, &bucket->events, now_ns - limit->period_ns);
        leave_log(bucket, (int64_t)gone, limit->capacity_units);
    }
}

void bucket_refill(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t now_ns)
{
    bucket_refill_inline(bucket, limit, budget, now_ns);
}

int64_t budget_allowance(const struct budget *budget, int64_t settled)
{
    return budget_allowance_inline(budget, settled);
}

int64_t bucket_allowance(const struct bucket *bucket, const struct budget *budget)
{
    return budget_allowance_inline(budget, bucket->settled);
}

int64_t bucket_floor_units(const struct limit *limit, uint64_t floor_tokens)
{
    return floor_tokens >= limit->capacity ? limit->capacity_units : (int64_t)floor_tokens * limit->units_per_token;
}

uint64_t bucket_remaining(const struct bucket *bucket, const struct limit *limit, uint64_t floor_tokens)
{
    return bucket_remaining_inline(bucket, limit, floor_tokens);
}

uint64_t bucket_available(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                          uint64_t floor_tokens)
{
    return bucket_available_inline(bucket, limit, budget, floor_tokens);
}

bool bucket_allows(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                   uint64_t cost, uint64_t floor_tokens)
{
    return bucket_allows_inline(bucket, limit, budget, cost, floor_tokens);
}

bool bucket_spend(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t cost,
                  uint64_t now_ns)
{
    assert(cost <= limit->capacity);
    return bucket_spend_inline(bucket, limit, budget, cost, now_ns);
}

void bucket_unspend(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t cost)
{
    int64_t units = (int64_t)cost * limit->units_per_token;
    if (limit->kind == LIMIT_LOG)
        (void)events_take_back(limit->events, &bucket->events, cost);
    if (budget->alone)
        bucket->settled += units;
    else
        bucket->unsettled -= units;
    assert(bucket->settled <= limit->capacity_units && bucket->unsettled >= 0);
}

int64_t units_of_tokens(const struct limit *limit, uint64_t tokens)
{
    const uint64_t most = (uint64_t)1 << 61;
    uint64_t units;
    if (__builtin_mul_overflow(tokens, (uint64_t)limit->units_per_token, &units) || units > most)
        units = most;
    return (int64_t)units;
}

/* ---- returns ---- */

static uint64_t whole_tokens(const struct limit *limit, int64_t units)
{
    return units > 0 ? (uint64_t)((units - 1) / limit->units_per_token + 1) : 0;
}

/*
 * A return raises what is left, here as in the world. Until other peers have heard of the return, it stands against own
 * spends that they have not heard of either. Those spends are paid off first and are not charged when they settle: this
 * part is the credit. A part of a taken token counts as a whole one: else a spend could not be returned whole after a
 * little refill.
 */
static uint64_t return_units(struct bucket *bucket, const struct limit *limit, uint64_t tokens, uint64_t *credit)
{
    int64_t token = limit->units_per_token, room = limit->capacity_units - bucket->settled;
    uint64_t taken = whole_tokens(limit, room + bucket->unsettled),
             unsettled = whole_tokens(limit, bucket->unsettled);
    uint64_t returned = tokens < taken ? tokens : taken, paid = returned < unsettled ? returned : unsettled;
    int64_t paid_units = (int64_t)paid * token < bucket->unsettled ? (int64_t)paid * token : bucket->unsettled;
    int64_t rest = (int64_t)returned * token - paid_units;
    bucket->unsettled -= paid_units;
    bucket->settled += rest < room ? rest : room;
    *credit = paid;
    return returned;
}

/*
 * In a LOG, a spend whose return other peers do not hear of ends there by itself, and gives room at that time. So a
 * return must not make room for own spends that they do not know: the return counts as one of settled tokens.
 */
static uint64_t return_listed(struct bucket *bucket, const struct limit *limit, uint64_t tokens)
{
    uint64_t returned = events_remove_own(limit->events, &bucket->events, tokens);
    leave_log(bucket, (int64_t)returned, limit->capacity_units);
    return returned;
}

uint64_t bucket_return(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                       uint64_t tokens, uint64_t now_ns, uint64_t *credit)
{
    *credit = 0;
    bucket_refill(bucket, limit, budget, now_ns);
    return limit->kind == LIMIT_LOG ? return_listed(bucket, limit, tokens)
                                    : return_units(bucket, limit, tokens, credit);
}

uint64_t bucket_hold(struct bucket *bucket, const struct limit *limit, uint64_t tokens, uint64_t ends_ns)
{
    bool listed = limit->kind == LIMIT_LOG && bucket->events.newest != 0;
    return listed ? events_hold(limit->events, &bucket->events, tokens, ends_ns) : 0;
}

uint64_t bucket_release(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                        uint64_t tokens, uint64_t spent_ns, uint64_t now_ns)
{
    if (limit->kind != LIMIT_LOG)
        return 0;
    bucket_refill(bucket, limit, budget, now_ns);
    uint64_t released = events_release(limit->events, &bucket->events, tokens, spent_ns);
    leave_log(bucket, (int64_t)released, limit->capacity_units);
    return released;
}

uint64_t bucket_unhold(struct bucket *bucket, const struct limit *limit, uint64_t tokens, uint64_t spent_ns)
{
    return limit->kind == LIMIT_LOG ? events_unhold(limit->events, &bucket->events, tokens, spent_ns) : 0;
}

bool bucket_hold_again(struct bucket *bucket, const struct limit *limit, uint64_t tokens, uint64_t spent_ns,
                       uint64_t ends_ns)
{
    if (!events_append(limit->events, &bucket->events, (uint32_t)tokens, spent_ns))
        return false;
    bucket->settled -= (int64_t)tokens;
    leave_log(bucket, (int64_t)events_remove_others(limit->events, &bucket->events, tokens, 0),
              limit->capacity_units);
    events_hold_at(limit->events, &bucket->events, tokens, spent_ns, ends_ns);
    return true;
}

static void raise_settled(struct bucket *bucket, const struct limit *limit, uint64_t tokens)
{
    int64_t units = units_of_tokens(limit, tokens), room = limit->capacity_units - bucket->settled;
    bucket->settled += units < room ? units : room;
}

/* ---- spends of others, and settling ---- */

/*
 * The rule keeps the ground truth at or above -E. A view is never higher than the truth plus the spends that it has
 * not heard of, and that stays so for a view that stops at -E. Without the stop, spends of a long partition, told
 * late and all at once, would leave a debt that the truth does not have, and starve the key until the debt is
 * "repaid". (A level that is below already, because the limit was changed, stays there.) Where the rule has tiers, -E
 * is that of the widest tier, of which the truth is: see limit/limit_span.h. A LOG stops at -E by
 * dropping its oldest spends: the newest ones end last, and no more than those can count at any time.
 */
static int64_t lowest_of(const struct bucket *bucket, const struct limit *limit)
{
    return bucket->settled < -limit->debt_units ? bucket->settled : -limit->debt_units;
}

/* Spends and returns of one batch: the batch may have returned its own spends, so debt stops after both are counted. */
static void change_log(struct bucket *bucket, const struct limit *limit, uint64_t tokens, uint64_t returned,
                       uint64_t at_ns, uint64_t since_ns)
{
    int64_t lowest = lowest_of(bucket, limit);
    bucket->settled -= (int64_t)events_insert(limit->events, &bucket->events, tokens, at_ns);
    if (returned > 0)
        leave_log(bucket, (int64_t)events_remove_others(limit->events, &bucket->events, returned, since_ns),
                  limit->capacity_units);
    if (bucket->settled < lowest)
        bucket->settled +=
            (int64_t)events_remove_oldest(limit->events, &bucket->events, (uint64_t)(lowest - bucket->settled));
}

static void lower(struct bucket *bucket, const struct limit *limit, uint64_t tokens, uint64_t at_ns)
{
    int64_t lowest = lowest_of(bucket, limit);
    if (limit->kind == LIMIT_LOG) {
        change_log(bucket, limit, tokens, 0, at_ns, 0);
        return;
    }
    bucket->settled -= units_of_tokens(limit, tokens);
    if (bucket->settled < lowest)
        bucket->settled = lowest;
}

/*
 * A spend made at a moment that this bucket has not been refilled to yet is charged at that moment: the spill
 * before that moment must not be lost twice.
 */
void bucket_apply(struct bucket *bucket, const struct limit *limit, const struct budget *budget, uint64_t tokens,
                  uint64_t returned, uint64_t at_ns, uint64_t since_ns)
{
    bucket_refill(bucket, limit, budget, at_ns);
    if (limit->kind == LIMIT_LOG)
        change_log(bucket, limit, tokens, returned, at_ns, since_ns);
    else if (tokens > returned)
        lower(bucket, limit, tokens - returned, at_ns);
    else if (returned > tokens)
        raise_settled(bucket, limit, returned - tokens);
}

bool bucket_can_grant(const struct limit *limit)
{
    return limit->kind != LIMIT_LOG || events_have_room(limit->events);
}

void bucket_grant(struct bucket *bucket, const struct limit *limit, int64_t units, uint64_t now_ns)
{
    if (limit->kind == LIMIT_LOG)
        units = (int64_t)events_insert(limit->events, &bucket->events, (uint64_t)units,
                                       limit_granted_at_ns(limit, now_ns));
    bucket->unsettled += units;
}

void bucket_apply_granted(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                          uint64_t tokens, uint64_t at_ns)
{
    bucket_refill(bucket, limit, budget, at_ns);
    lower(bucket, limit, tokens, limit_granted_at_ns(limit, at_ns));
}

void bucket_take_granted_off(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                             uint64_t tokens, uint64_t since_ns, uint64_t now_ns)
{
    bucket_refill(bucket, limit, budget, now_ns);
    leave_log(bucket, (int64_t)events_remove_others(limit->events, &bucket->events, tokens, since_ns),
              limit->capacity_units);
}

void bucket_settle(struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                   const struct settlement *settlement)
{
    int64_t later = units_of_tokens(limit, settlement->later);
    bucket_refill(bucket, limit, budget, settlement->at_ns);
    if (limit->kind != LIMIT_LOG) {
        if (settlement->tokens >= settlement->credit)
            lower(bucket, limit, settlement->tokens - settlement->credit, settlement->at_ns);
        else
            raise_settled(bucket, limit, settlement->credit - settlement->tokens);
    }
    if (later < bucket->unsettled) {
        if (limit->kind == LIMIT_LOG) /* the spend is listed already */
            bucket->settled -= bucket->unsettled - later;
        bucket->unsettled = later;
    }
}

void bucket_close(struct bucket *bucket, const struct limit *limit)
{
    if (limit->kind == LIMIT_LOG)
        (void)events_clear(limit->events, &bucket->events);
    bucket->settled = limit->capacity_units;
    bucket->unsettled = 0;
}

bool bucket_is_full(const struct bucket *bucket, const struct limit *limit)
{
    return bucket->settled == limit->capacity_units && bucket->unsettled == 0;
}
