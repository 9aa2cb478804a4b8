#include "base/random.h"
#include "limit/bucket.h"
#include "limit/kind.h"
#include "tests/lib/bucket_take.h"
#include "tests/lib/limits.h"
#include "tests/lib/tap.h"

#include <stdlib.h>

/*
 * The two algorithms by single spends on one node against their definitions. Sliding log: the tokens of all spends
 * younger than the period. Concurrency: leases that are held until they are given back or the period is over; which
 * one is given back is not said, so that it is the oldest (and what stays is held for longest).
 */

enum { OPERATIONS = TAP_SLOW ? 100000 : 1000000 };
#define MS_NS 1000000ull
#define SECOND_NS 1000000000ull

static struct budget alone;
static struct events *events;

/* A peer says that as many are used as here, and not when they end. It lacks the newest `kept` tokens of others. */
static void renew_others(struct bucket *bucket, const struct limit *limit, uint64_t kept, uint64_t now_ns)
{
    bucket_lower_log(bucket, limit, bucket->settled, &(struct log_told){.lacks_others = kept}, now_ns);
}

/* ---- the definition: a plain array, oldest first ---- */

struct spent {
    uint64_t at_ns, tokens;
};

struct model {
    struct spent spent[2 * LIMIT_LOG_MAX + 2];
    size_t count;
};

static void model_drop(struct model *model, size_t count)
{
    memmove(model->spent, model->spent + count, (model->count - count) * sizeof *model->spent);
    model->count -= count;
}

static uint64_t model_sum(struct model *model, uint64_t period_ns, uint64_t now_ns)
{
    size_t gone = 0;
    uint64_t sum = 0;
    while (gone < model->count && model->spent[gone].at_ns + period_ns <= now_ns)
        gone++;
    model_drop(model, gone);
    for (size_t i = 0; i < model->count; i++)
        sum += model->spent[i].tokens;
    return sum;
}

static void model_spend(struct model *model, uint64_t tokens, uint64_t now_ns)
{
    if (tokens > 0)
        model->spent[model->count++] = (struct spent){now_ns, tokens};
}

static uint64_t model_give_back(struct model *model, uint64_t tokens)
{
    uint64_t given = 0;
    size_t gone = 0;
    for (; gone < model->count && given < tokens; gone++) {
        struct spent *oldest = &model->spent[gone];
        uint64_t part = oldest->tokens < tokens - given ? oldest->tokens : tokens - given;
        given += part;
        oldest->tokens -= part;
        if (oldest->tokens > 0)
            break;
    }
    model_drop(model, gone);
    return given;
}

/* ---- examples ---- */

static void examples(void)
{
    static const struct {
        uint64_t at_ms, cost, back;
        bool allowed;
        uint64_t remaining, retry_ms, reset_ms;
        const char *what;
    } rows[] = {
        {0, 0, 0, true, 3, 0, 0, "nothing"},
        {0, 1, 0, true, 2, 0, 1000, "the first of three in a second"},
        {400, 2, 0, true, 0, 0, 1000, "the others later"},
        {999, 1, 0, false, 0, 1, 401, "a fourth while the first counts"},
        {1000, 1, 0, true, 0, 0, 1000, "a second after the first it counts no longer"},
        {1399, 1, 0, false, 0, 1, 601, "no burst at any boundary"},
        {1400, 3, 0, false, 2, 600, 600, "two are gone"},
        {1400, 4, 0, false, 2, UINT64_MAX, 600, "more than the limit never fits"},
        {1400, 2, 0, true, 0, 0, 1000, "two can be had"},
        {1500, 0, 1, true, 1, 0, 900, "the oldest is given back"},
        {1500, 1, 0, true, 0, 0, 1000, "... and had again"},
        {2399, 1, 0, false, 0, 1, 101, "... the others still count"},
        {2400, 1, 0, true, 1, 0, 1000, "... for a second"},
        {90000, 3, 0, true, 0, 0, 1000, "idle for long: the limit"},
        {90000, 1, 0, false, 0, 1000, 1000, "... and no more"},
        {90000, 0, 9, true, 3, 0, 0, "no more is given back than was taken"},
    };
    const struct limit limit = log_limit(3, SECOND_NS, 0, events);
    struct bucket bucket;
    uint64_t credit;
    bucket_fill(&bucket, &limit, 0, 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint64_t now_ns = rows[i].at_ms * MS_NS;
        if (rows[i].back > 0)
            (void)bucket_return(&bucket, &limit, &alone, rows[i].back, now_ns, &credit);
        bool took = bucket_take(&bucket, &limit, &alone, rows[i].cost, 0, now_ns);
        const struct bucket_wait wait = {.cost = rows[i].cost, .now_ns = now_ns, .settle_ns = UINT64_MAX};
        uint64_t retry_ns = bucket_retry_after_ns(&bucket, &limit, &alone, &wait);
        OK(took == rows[i].allowed && bucket_available(&bucket, &limit, &alone, 0) == rows[i].remaining, "%s: %s",
           rows[i].what, took ? "allowed" : "refused");
        if (!took)
            OK_U64(retry_ns, rows[i].retry_ms == UINT64_MAX ? UINT64_MAX : rows[i].retry_ms * MS_NS,
                   "... retry when said");
        OK_U64(bucket_reset_after_ns(&bucket, &limit, now_ns, 0), rows[i].reset_ms * MS_NS,
               "... all over in %" PRIu64 " ms", rows[i].reset_ms);
    }
    bucket_close(&bucket, &limit);
}

/* ---- random spends ---- */

/* When the definition would allow it, if nobody spends. */
static uint64_t model_retry_ns(const struct model *model, const struct limit *limit, uint64_t sum, uint64_t cost,
                               uint64_t now_ns)
{
    if (cost > limit->capacity)
        return UINT64_MAX;
    uint64_t wait_ns = 0;
    for (size_t i = 0; i < model->count && sum + cost > limit->capacity; i++) {
        sum -= model->spent[i].tokens;
        wait_ns = model->spent[i].at_ns + limit->period_ns - now_ns;
    }
    return wait_ns;
}

static void random_spends(uint64_t capacity, uint64_t period_ns, uint64_t returns_in_16, uint64_t seed)
{
    static struct model model;
    const struct limit limit = log_limit(capacity, period_ns, 0, events);
    struct random random;
    random_seed(&random, seed);
    uint64_t now_ns = period_ns, wrong = 0, allowed = 0, returned = 0, count;
    struct bucket bucket;
    bucket_fill(&bucket, &limit, now_ns, 0);
    model.count = 0;
    int operations = capacity > 1000 ? OPERATIONS / 50 : OPERATIONS; /* the definition is slow */
    for (int i = 0; i < operations; i++) {
        now_ns += random_below(&random, 2) ? 0 : random_below(&random, 1 + 4 * period_ns / (capacity + 8));
        now_ns += random_below(&random, 5000) == 0 ? random_below(&random, 3 * period_ns) : 0;
        uint64_t sum = model_sum(&model, period_ns, now_ns), credit;
        uint64_t cost = random_below(&random, random_below(&random, 64) == 0 ? capacity + 2 : 3);
        if (random_below(&random, 16) < returns_in_16) {
            uint64_t gives = model_give_back(&model, cost);
            wrong += bucket_return(&bucket, &limit, &alone, cost, now_ns, &credit) != gives || credit != 0;
            returned += gives;
            continue;
        }
        bool took = bucket_take(&bucket, &limit, &alone, cost, 0, now_ns);
        wrong += took != (sum + cost <= capacity);
        const struct bucket_wait wait = {.cost = cost, .now_ns = now_ns, .settle_ns = UINT64_MAX};
        if (!took)
            wrong += bucket_retry_after_ns(&bucket, &limit, &alone, &wait) !=
                     model_retry_ns(&model, &limit, sum, cost, now_ns);
        if (took)
            model_spend(&model, cost, now_ns);
        sum += took ? cost : 0;
        wrong += bucket_number(&bucket, &limit) != sum;
        allowed += took;
        if (i % 1024 == 0)
            wrong += events_check(events, &bucket.events, &count) != sum || count > sum;
    }
    bucket_close(&bucket, &limit);
    OK(wrong == 0 && allowed > (uint64_t)operations / 8 && allowed < (uint64_t)operations &&
           (returned > 0) == (returns_in_16 > 0),
       "%" PRIu64 " in any %" PRIu64 " ns in %d operations (%" PRIu64 " allowed, %" PRIu64 " tokens given back)",
       capacity, period_ns, operations, allowed, returned);
}

/* ---- spends of others: in any order, from any time ---- */

static int by_time(const void *a, const void *b)
{
    const struct spent *x = a, *y = b;
    return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static void late_spends(void)
{
    static struct model model;
    const struct limit limit = log_limit(50, SECOND_NS, 10, events);
    struct budget budget;
    struct bucket bucket;
    struct random random;
    random_seed(&random, 45);
    budget_init(&budget, &limit, SHARE_ONE / 2, false);
    bucket_fill(&bucket, &limit, 0, 0);
    model.count = 0;
    uint64_t now_ns = 10 * SECOND_NS, wrong = 0, count;
    for (int i = 0; i < OPERATIONS / 10; i++) {
        now_ns += random_below(&random, 40 * MS_NS);
        uint64_t sum = model_sum(&model, SECOND_NS, now_ns), tokens = random_below(&random, 4);
        uint64_t at_ns = now_ns - random_below(&random, 2 * SECOND_NS);
        bucket_refill(&bucket, &limit, &budget, now_ns);
        wrong += bucket_number(&bucket, &limit) != sum;
        bucket_apply(&bucket, &limit, &budget, tokens, 0, at_ns, 0);
        model_spend(&model, tokens, at_ns);
        qsort(model.spent, model.count, sizeof *model.spent, by_time);
        if (random_below(&random, 4) == 0) {
            (void)model_sum(&model, SECOND_NS, now_ns);
            bucket_refill(&bucket, &limit, &budget, now_ns);
            tokens = random_below(&random, 4);
            (void)model_give_back(&model, tokens);
            bucket_apply(&bucket, &limit, &budget, 0, tokens, now_ns, 0);
        }
        wrong += (int64_t)events_check(events, &bucket.events, &count) !=
                 limit.capacity_units - bucket.settled + bucket.unsettled;
    }
    OK_U64(wrong, 0, "spends of others count for the period from their time, in whatever order they come");
    bucket_close(&bucket, &limit);
}

/* ---- unsettled spends ---- */

static void settling(void)
{
    const struct limit limit = log_limit(16, SECOND_NS, 0, events);
    struct budget budget;
    struct bucket bucket;
    uint64_t credit;
    budget_init(&budget, &limit, SHARE_ONE / 2, false);
    bucket_fill(&bucket, &limit, 0, 0);
    OK_U64(bucket_available(&bucket, &limit, &budget, 0), 7, "half a share of 15");
    OK(bucket_take(&bucket, &limit, &budget, 7, 0, 10) && !bucket_take(&bucket, &limit, &budget, 1, 0, 10),
       "... 7, and no eighth");
    const struct bucket_wait wait = {.cost = 1, .now_ns = 10, .settle_ns = 100 * MS_NS},
                             deaf = {.cost = 1, .now_ns = 10, .settle_ns = UINT64_MAX};
    OK_U64(bucket_retry_after_ns(&bucket, &limit, &budget, &wait), 100 * MS_NS, "... until they settle");
    OK_U64(bucket_retry_after_ns(&bucket, &limit, &budget, &deaf), SECOND_NS, "... or until they are over");
    bucket_settle(&bucket, &limit, &budget, &(struct settlement){.tokens = 4, .later = 3, .at_ns = 10});
    OK(bucket.unsettled == 3 && bucket.settled == 12, "four of them are known to all: 12 are left");
    OK_U64(bucket_available(&bucket, &limit, &budget, 0), 2, "... 5 less the 3 that are not");
    OK_U64(bucket_return(&bucket, &limit, &budget, 3, 20, &credit), 3, "three are given back");
    OK(bucket.unsettled == 3 && bucket.settled == 15 && credit == 0, "... none of which makes room for own spends");
    bucket_settle(&bucket, &limit, &budget, &(struct settlement){.tokens = 3, .at_ns = 20});
    OK(bucket.unsettled == 0 && bucket.settled == 12, "... before those are known");
    bucket_refill(&bucket, &limit, &budget, SECOND_NS + 10);
    OK(bucket_is_full(&bucket, &limit), "a period later nothing counts");
    (void)bucket_take(&bucket, &limit, &budget, 5, 0, 2 * SECOND_NS);
    bucket_refill(&bucket, &limit, &budget, 3 * SECOND_NS);
    OK(bucket_is_full(&bucket, &limit), "... acknowledged or not");
}

/* ---- whose tokens ---- */

/* What others return is one of theirs, and the one that it was, as near as its age tells. */
static void whose(void)
{
    const struct limit limit = log_limit(16, SECOND_NS, 0, events);
    struct budget budget;
    struct bucket bucket;
    uint64_t credit, count;
    budget_init(&budget, &limit, SHARE_ONE, false);
    bucket_fill(&bucket, &limit, 0, 0);
    for (uint64_t at = 1; at <= 4; at++)
        bucket_apply(&bucket, &limit, &budget, 1, 0, at * 100 * MS_NS, 0);
    (void)bucket_take(&bucket, &limit, &budget, 2, 0, 450 * MS_NS);
    (void)bucket_take(&bucket, &limit, &budget, 3, 0, 460 * MS_NS);
    uint64_t spent_ns = bucket_hold(&bucket, &limit, 3, 700 * MS_NS);
    OK(spent_ns == 460 * MS_NS && bucket.settled - bucket.unsettled == 7,
       "4 of others, 2 own ones, 3 that are held");
    bucket_apply(&bucket, &limit, &budget, 0, 1, 470 * MS_NS, 280 * MS_NS);
    bucket_refill(&bucket, &limit, &budget, 1300 * MS_NS);
    OK(bucket.settled - bucket.unsettled == 10 && events_at(events, bucket.events.oldest)->at_ns == 400 * MS_NS,
       "others return what they spent at 300 ms: the spends of 100 and 200 ms end at their time");
    bucket_apply(&bucket, &limit, &budget, 0, 9, 1300 * MS_NS, 0);
    OK(bucket.settled - bucket.unsettled == 11, "they cannot return what this peer spent");
    OK_U64(bucket_return(&bucket, &limit, &budget, 9, 1300 * MS_NS, &credit), 2, "nor can this peer what is held");
    OK_U64(bucket_release(&bucket, &limit, &budget, 1, spent_ns, 1300 * MS_NS), 1, "but whoever holds it");
    OK_U64(bucket_unhold(&bucket, &limit, 1, spent_ns), 1, "what is held no longer");
    OK_U64(bucket_return(&bucket, &limit, &budget, 9, 1300 * MS_NS, &credit), 1, "anybody can return");
    renew_others(&bucket, &limit, 0, 1310 * MS_NS);
    OK_U64(bucket_return(&bucket, &limit, &budget, 9, 1310 * MS_NS, &credit), 0,
           "what is held stays so while others' spends are renewed");
    OK_U64(bucket_release(&bucket, &limit, &budget, 9, spent_ns, 1310 * MS_NS), 1,
           "and known by when it was spent");
    OK(bucket_is_full(&bucket, &limit) && events_check(events, &bucket.events, &count) == 0, "that was all");
}

/* ---- merging ---- */

/*
 * Another's number says how many count, not which, nor until when, nor which of them were granted and are used later.
 * When own ones end is known here.
 */
static void renewing(void)
{
    const struct limit limit = log_limit(16, SECOND_NS, 0, events);
    struct budget budget;
    struct bucket bucket;
    const uint64_t later_ns = limit_granted_at_ns(&limit, 300 * MS_NS),
                   last_ns = limit_granted_at_ns(&limit, 500 * MS_NS) + SECOND_NS;
    uint64_t count;
    budget_init(&budget, &limit, SHARE_ONE / 2, false);
    bucket_fill(&bucket, &limit, 0, 0);
    bucket_apply(&bucket, &limit, &budget, 3, 0, 100 * MS_NS, 0);
    (void)bucket_take(&bucket, &limit, &budget, 2, 0, 200 * MS_NS);
    renew_others(&bucket, &limit, 1, 300 * MS_NS);
    const struct log_event *oldest = events_at(events, bucket.events.oldest),
                           *newest = events_at(events, bucket.events.newest);
    OK(oldest->at_ns == 100 * MS_NS && oldest->tokens == 1 && newest->at_ns == later_ns && newest->tokens == 2,
       "of 3 tokens of others, the 2 oldest count as granted now and one is kept");
    renew_others(&bucket, &limit, 0, 500 * MS_NS);
    OK(bucket.settled == 13 && bucket.unsettled == 2, "3 of others and 2 own ones stay as many");
    OK_U64(events_oldest_own_ns(events, &bucket.events), 200 * MS_NS, "own ones stay at their time");
    bucket_lower_level(&bucket, &limit, 16 - 4, 500 * MS_NS);
    OK(bucket.settled == 12 && bucket.unsettled == 2, "4 of others are used, it is said: which ones is not");
    OK_U64(events_check(events, &bucket.events, &count), 6, "all are listed");
    bucket_refill(&bucket, &limit, &budget, last_ns - 1);
    OK_U64(bucket_number(&bucket, &limit), 4,
           "own ones end in time, and none of the others' before the last one may");
    bucket_refill(&bucket, &limit, &budget, last_ns);
    OK(bucket_is_full(&bucket, &limit), "... a period after the last use of what was granted then");
    renew_others(&bucket, &limit, 0, last_ns);
    OK(bucket_is_full(&bucket, &limit), "nothing is nothing");
}

/* ---- the pool ---- */

static void pool(void)
{
    struct events *small = events_create(32);
    const struct limit limit = log_limit(1000, SECOND_NS, 1000, small);
    struct bucket a, b;
    struct events_stats stats;
    uint64_t count, taken = 0;
    bucket_fill(&a, &limit, 0, 0);
    bucket_fill(&b, &limit, 0, 0);
    while (taken < 100 && bucket_take(&a, &limit, &alone, 1, 0, taken))
        taken++;
    OK_U64(taken, 30, "30 of 32 events are for own spends");
    OK(bucket_take(&a, &limit, &alone, 1, 0, taken - 1), "... one more at the same moment needs none");
    OK(bucket_available(&a, &limit, &alone, 0) == 969, "a spend that finds no room takes nothing");
    bucket_apply(&a, &limit, &alone, 1, 0, 10, 0);
    bucket_apply(&a, &limit, &alone, 1, 0, 500, 0);
    bucket_apply(&a, &limit, &alone, 1, 0, 501, 0);
    OK_U64(events_check(small, &a.events, &count), 34, "spends of others have room where own ones have none");
    bucket_apply(&a, &limit, &alone, 5, 0, 100, 0);
    bucket_apply(&a, &limit, &alone, 5, 0, 600, 0);
    OK_U64(events_check(small, &a.events, &count), 44, "... and join their neighbours when there is none at all");
    bucket_refill(&a, &limit, &alone, SECOND_NS + 500);
    OK_U64(bucket_number(&a, &limit), 6, "... which then count for longer, never for less");
    bucket_refill(&a, &limit, &alone, SECOND_NS + 600);
    OK(bucket_is_full(&a, &limit), "... until all are over");
    for (uint64_t i = 0; i < 32; i++)
        bucket_apply(&a, &limit, &alone, 1, 0, 3 * SECOND_NS + i, 0);
    bucket_apply(&b, &limit, &alone, 7, 0, 3 * SECOND_NS, 0);
    OK(bucket_is_full(&b, &limit), "a log that lists nothing cannot take what finds no room");
    events_stats(small, &stats);
    OK(stats.room == 32 && stats.used == 32 && stats.refused == 1 && stats.merged == 2 && stats.lost == 1,
       "all of which is counted: %" PRIu64 " refused, %" PRIu64 " merged, %" PRIu64 " lost", stats.refused,
       stats.merged, stats.lost);
    bucket_close(&a, &limit);
    events_stats(small, &stats);
    OK_U64(stats.used, 0, "what is forgotten is free again");
    events_destroy(&small);
    OK(small == NULL, "destroyed");
}

/* Others' spends arrive while the pool is used up. The time of own spends is told when they are given back. */
static void own_time_in_a_full_pool(void)
{
    struct event_list list = {0};
    struct events *full = events_create(2);
    (void)events_insert(full, &list, 5, SECOND_NS);
    (void)events_append(full, &list, 3, 2 * SECOND_NS);
    OK_U64(events_insert(full, &list, 4, 3 * SECOND_NS), 4,
           "a spend of others is listed where the pool is used up");
    OK_U64(events_oldest_own_ns(full, &list), 2 * SECOND_NS, "own tokens keep their time");
    OK_U64(events_expire(full, &list, 2 * SECOND_NS), 3, "and end with it");
    OK_U64(events_expire(full, &list, 3 * SECOND_NS), 9, "others' tokens end when the newest of them does");
    events_destroy(&full);
}

static void own_time_is_lost(void)
{
    uint64_t count;
    struct event_list list = {0};
    struct events *full = events_create(1);
    (void)events_append(full, &list, 3, SECOND_NS);
    uint64_t at_ns = events_hold(full, &list, 2, 5 * SECOND_NS);
    (void)events_insert(full, &list, 4, 3 * SECOND_NS);
    OK_U64(events_check(full, &list, &count), 7, "where all events have own tokens, one takes tokens of others");
    OK_U64(events_remove_own(full, &list, 3), 0, "its own tokens are not given back: their time is lost");
    OK_U64(events_held_end_ns(events_at(full, list.newest), 60 * SECOND_NS), 5 * SECOND_NS,
           "a reservation ends as before");
    OK_U64(events_release(full, &list, 2, at_ns), 2, "and has its tokens");
    OK_U64(events_clear(full, &list), 5, "all others count on");
    events_destroy(&full);
}

/* The time of a reservation is over, and no step has given its tokens back yet: they come in a moment, not now. */
static void ended_reservations(void)
{
    const struct limit limit = log_limit(1, SECOND_NS, 0, events);
    const struct bucket_wait early = {.cost = 1, .now_ns = 199 * MS_NS, .settle_ns = UINT64_MAX},
                             late = {.cost = 1, .now_ns = 250 * MS_NS, .settle_ns = UINT64_MAX},
                             last = {.cost = 1, .now_ns = SECOND_NS - 1, .settle_ns = UINT64_MAX};
    struct bucket bucket;
    bucket_fill(&bucket, &limit, 0, 0);
    OK(bucket_take(&bucket, &limit, &alone, 1, 0, 0), "the only place is taken");
    (void)bucket_hold(&bucket, &limit, 1, 200 * MS_NS);
    OK_U64(bucket_retry_after_ns(&bucket, &limit, &alone, &early), MS_NS, "it is free when its reservation ends");
    OK_U64(bucket_retry_after_ns(&bucket, &limit, &alone, &late), MS_NS, "... or a moment later, while it is held");
    OK_U64(bucket_reset_after_ns(&bucket, &limit, late.now_ns, 0), MS_NS, "... and nothing is used then");
    OK_U64(bucket_retry_after_ns(&bucket, &limit, &alone, &last), 1, "... or when the period ends");
    bucket_close(&bucket, &limit);
}

int main(void)
{
    own_time_in_a_full_pool();
    own_time_is_lost();
    events = events_create(100000);
    const struct limit any = log_limit(1, 1, 0, events);
    budget_init(&alone, &any, SHARE_ONE, true);
    examples();
    ended_reservations();
    random_spends(1, SECOND_NS, 0, 41);
    random_spends(20, 60 * SECOND_NS, 1, 42);
    random_spends(200, 86400 * SECOND_NS, 0, 43);
    random_spends(LIMIT_LOG_MAX, 3600 * SECOND_NS, 1, 44);
    random_spends(10, 30 * SECOND_NS, 7, 46); /* leases: most are given back */
    random_spends(100, 30 * SECOND_NS, 7, 47);
    late_spends();
    settling();
    whose();
    renewing();
    pool();
    struct events_stats stats;
    events_stats(events, &stats);
    OK_U64(stats.used, 0, "no event is left behind");
    events_destroy(&events);
    return tap_done();
}
