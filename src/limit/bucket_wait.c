#include "base/number.h"
#include "limit/bucket_inline.h"

/*
 * retry_after and reset_after. For a BUCKET the time is arithmetic; a CELL waits for the end of its window; for a
 * LOG the list is walked, oldest first, until enough tokens have left it; where events are to be spared, it waits for
 * the last one.
 */

enum {
    LOOKED_AT_MAX = 32,        /* events of a LOG whose held parts are looked at */
    END_IS_HEEDED_NS = 1000000 /* about so long after a reservation's end its tokens are given back */
};

/* ---- buckets ---- */

/* The least settled units at which `needed` unsettled units are allowed; above capacity: not even when full. */
static int64_t settled_for(int64_t needed, const struct budget *budget)
{
    if (budget->alone)
        return needed;
    int64_t beyond_slack = needed - budget->slack_units;
    if (beyond_slack <= 0)
        return needed;
    if (budget->spendable == 0)
        return INT64_MAX;
    uint128 part = (((uint128)(uint64_t)beyond_slack << 32) + budget->spendable - 1) / budget->spendable;
    if (part > UNITS_MOST * 4)
        return INT64_MAX;
    uint128 low = (part + 1) / 2, high = (part + (uint64_t)budget->reserve_units + 4) / 5;
    int64_t settled = (int64_t)(low < high ? low : high);
    return settled > needed ? settled : needed;
}

/* No peer acknowledges: settled refills up to capacity, then the spill pays off unsettled at this peer's share. */
static uint64_t wait_for_refill(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                                int64_t needed, int64_t floor)
{
    int64_t settled = settled_for(needed, budget);
    if (settled <= limit->capacity_units - floor)
        return limit_refill_ns(limit, settled + floor - bucket->settled);
    int64_t paid_off = needed - budget_allowance(budget, limit->capacity_units - floor);
    if (paid_off > bucket->unsettled || budget->share == 0)
        return UINT64_MAX;
    uint128 spill = (((uint128)(uint64_t)paid_off << 32) + budget->share - 1) / budget->share;
    uint128 refill = spill + ((uint64_t)limit->capacity_units - (uint64_t)bucket->settled);
    return refill > (uint128)INT64_MAX ? UINT64_MAX : limit_refill_ns(limit, (int64_t)refill);
}

/* All unsettled spends settle after settle_ns; before that time the refill may spill, after it not. */
static uint64_t wait_for_settling(const struct bucket *bucket, const struct limit *limit,
                                  const struct budget *budget, int64_t cost, int64_t floor, uint64_t settle_ns)
{
    int64_t needed = settled_for(cost, budget);
    if (needed > limit->capacity_units - floor)
        return UINT64_MAX;
    struct bucket then = {.settled = bucket->settled};
    (void)bucket_refill_settled(&then, limit, settle_ns);
    uint64_t refill_ns = limit_refill_ns(limit, needed + floor - (then.settled - bucket->unsettled));
    return number_sum(refill_ns, settle_ns);
}

/* ---- cells ---- */

static uint64_t until(uint64_t at_ns, uint64_t now_ns)
{
    return at_ns > now_ns ? at_ns - now_ns : 0;
}

static uint64_t wait_for_window(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                                const struct bucket_wait *wait)
{
    const struct bucket settled = {.settled = bucket->settled - bucket->unsettled},
                        fresh = {.settled = limit->capacity_units};
    uint64_t end_ns = until(wait->window_end_ns, wait->now_ns);
    if (wait->settle_ns < end_ns && bucket_allows(&settled, limit, budget, wait->cost, wait->floor_tokens))
        return wait->settle_ns;
    return bucket_allows(&fresh, limit, budget, wait->cost, wait->floor_tokens) ? end_ns : UINT64_MAX;
}

/* ---- logs ---- */

/* Tokens that leave a list, and when. */
struct leaving {
    uint64_t at_ns;
    uint32_t tokens;
};

/*
 * The first few events in the order in which they leave, with the held tokens of each apart, since those come back when
 * their reservation ends. Later events are taken to leave at the end of their period: this peer knows no earlier end of
 * tokens that other peers' reservations hold.
 */
struct departures {
    uint32_t count, next;
    uint32_t event; /* the first later event; 0: there is none */
    struct leaving leaving[2 * LOOKED_AT_MAX];
};

/* When the held tokens of an event come back. That is after now_ns, since they are still listed. */
static uint64_t held_until(const struct log_event *event, const struct limit *limit, uint64_t now_ns)
{
    const uint64_t end_ns = events_held_end_ns(event, limit->period_ns);
    return end_ns > now_ns ? end_ns : number_least(now_ns + END_IS_HEEDED_NS, event->at_ns + limit->period_ns);
}

static void depart(struct departures *departures, uint64_t at_ns, uint32_t tokens)
{
    uint32_t to = departures->count++;
    for (; to > 0 && departures->leaving[to - 1].at_ns > at_ns; to--)
        departures->leaving[to] = departures->leaving[to - 1];
    departures->leaving[to] = (struct leaving){at_ns, tokens};
}

static void departures_begin(struct departures *departures, const struct bucket *bucket, const struct limit *limit,
                             uint64_t now_ns)
{
    uint32_t index = bucket->events.oldest, looks = events_hold_nothing(limit->events) ? 0 : LOOKED_AT_MAX;
    departures->count = departures->next = 0;
    for (; index != 0 && looks > 0; looks--) {
        const struct log_event *event = events_at(limit->events, index);
        if (event->held > 0)
            depart(departures, held_until(event, limit, now_ns), event->held);
        if (event->tokens > event->held)
            depart(departures, event->at_ns + limit->period_ns, event->tokens - event->held);
        index = event->newer;
    }
    departures->event = index;
}

/* False: no tokens are left. */
static bool departures_next(struct departures *departures, const struct limit *limit, struct leaving *next)
{
    if (departures->next < departures->count) {
        *next = departures->leaving[departures->next++];
        return true;
    }
    if (departures->event == 0)
        return false;
    const struct log_event *event = events_at(limit->events, departures->event);
    *next = (struct leaving){event->at_ns + limit->period_ns, event->tokens};
    departures->event = event->newer;
    return true;
}

/* How long until enough tokens have left the list for the cost, if `unsettled` stays as it is until then. */
static uint64_t wait_for_events(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                                const struct bucket_wait *wait, int64_t unsettled)
{
    int64_t listed = limit->capacity_units - bucket->settled + bucket->unsettled;
    uint64_t wait_ns = 0;
    struct departures departures;
    struct leaving leaving;
    departures_begin(&departures, bucket, limit, wait->now_ns);
    for (uint32_t count = 0;; count++) {
        int64_t own = unsettled < listed ? unsettled : listed;
        const struct bucket then = {.settled = limit->capacity_units - listed + own, .unsettled = own};
        if (bucket_allows(&then, limit, budget, wait->cost, wait->floor_tokens)) {
            events_add_looked(count);
            return wait_ns;
        }
        if (!departures_next(&departures, limit, &leaving))
            return UINT64_MAX;
        listed -= leaving.tokens;
        wait_ns = until(leaving.at_ns, wait->now_ns);
    }
}

/* When the last listed spend of a LOG ends. */
static uint64_t log_end_ns(const struct bucket *bucket, const struct limit *limit, uint64_t now_ns)
{
    uint64_t end_ns = 0;
    unsigned looks = 0;
    for (uint32_t index = bucket->events.newest; index != 0;) {
        const struct log_event *event = events_at(limit->events, index);
        bool ends_early = event->held == event->tokens && ++looks < LOOKED_AT_MAX;
        uint64_t event_end_ns = ends_early ? held_until(event, limit, now_ns) : event->at_ns + limit->period_ns;
        end_ns = event_end_ns > end_ns ? event_end_ns : end_ns;
        index = ends_early ? event->older : 0; /* all older events end before one without held tokens */
    }
    return end_ns;
}

static uint64_t wait_for_log(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                             const struct bucket_wait *wait)
{
    const struct bucket fresh = {.settled = limit->capacity_units};
    if (!bucket_allows(&fresh, limit, budget, wait->cost, wait->floor_tokens))
        return UINT64_MAX; /* without a walk through all of the list */
    uint64_t gone_ns = events_are_spared() ? until(log_end_ns(bucket, limit, wait->now_ns), wait->now_ns)
                                           : wait_for_events(bucket, limit, budget, wait, bucket->unsettled);
    if (budget->alone || gone_ns <= wait->settle_ns)
        return gone_ns;
    if (!events_are_spared())
        gone_ns = wait_for_events(bucket, limit, budget, wait, 0);
    return gone_ns > wait->settle_ns ? gone_ns : wait->settle_ns;
}

/* ---- all kinds ---- */

uint64_t bucket_retry_after_ns(const struct bucket *bucket, const struct limit *limit, const struct budget *budget,
                               const struct bucket_wait *wait)
{
    if (wait->cost > limit->capacity)
        return UINT64_MAX;
    if (bucket_allows(bucket, limit, budget, wait->cost, wait->floor_tokens))
        return 0;
    if (limit->kind == LIMIT_CELL)
        return wait_for_window(bucket, limit, budget, wait);
    if (limit->kind == LIMIT_LOG)
        return wait_for_log(bucket, limit, budget, wait);
    int64_t units = (int64_t)wait->cost * limit->units_per_token;
    int64_t floor = bucket_floor_units(limit, wait->floor_tokens);
    uint64_t refilled_ns = wait_for_refill(bucket, limit, budget, bucket->unsettled + units, floor);
    if (budget->alone || refilled_ns <= wait->settle_ns)
        return refilled_ns;
    return wait_for_settling(bucket, limit, budget, units, floor, wait->settle_ns);
}

uint64_t bucket_reset_window_ns(const struct bucket *bucket, const struct limit *limit, uint64_t now_ns,
                                uint64_t window_end_ns)
{
    if (limit->capacity_units - (bucket->settled - bucket->unsettled) <= 0)
        return 0;
    if (limit->kind == LIMIT_CELL)
        return until(window_end_ns, now_ns);
    return until(log_end_ns(bucket, limit, now_ns), now_ns);
}

uint64_t bucket_reset_after_ns(const struct bucket *bucket, const struct limit *limit, uint64_t now_ns,
                               uint64_t window_end_ns)
{
    return bucket_reset_after_ns_inline(bucket, limit, now_ns, window_end_ns);
}
