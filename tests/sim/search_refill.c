/*
 * Adversarial schedules for limits that refill within some intervals. Whatever the schedule, the truth (one bucket
 * that is charged with every spend when it is made) must never fall below the declared overshoot, not even if all
 * nodes took now all that they may. And the truth must have no less than all nodes see together: see check_views.
 *
 * The one idea: the bound breaks if a view was refilled more than the truth. So some nodes sip, that is, they
 * spend only what their share of the refill pays off, and tell no peer; other nodes take all that they may; links
 * are held back, cut, or cut one way, for about the time in which a bucket refills. Then all messages are heard,
 * and all nodes take all.
 */
#include "tests/sim/schedule.h"

#include <stdio.h>

#define SECOND UINT64_C(1000000000)

enum {
    KEYS = 2,
    HEAR_MAX = 40,     /* quarters of an interval */
    WINDOW_PARTS = 16, /* times are drawn in sixteenths of an interval */
};

enum client { RESTS, SIPS, BITES, TAKES_ALL, CLIENTS };
enum way { PROMPT, LATE, HELD, CUT, WAYS };

struct attack {
    struct schedule *schedule;
    const struct limit *limit;
    unsigned fill_intervals; /* the time in which a bucket refills */
    struct truth truth[KEYS];
    uint64_t sips_ns[SIM_NODES_MAX][KEYS]; /* when the node began to sip from the key */
    bool precise;                          /* sips take exactly what refill pays off */
    double share[SIM_NODES_MAX];
    int64_t soon_units[SIM_NODES_MAX]; /* what the share of the node pays off within an interval */
    enum client client[SIM_NODES_MAX];
    enum way way[SIM_NODES_MAX][SIM_NODES_MAX];
    int64_t told_units; /* taken in this act by nodes that do not sip, and so told to peers */
    int64_t closest;    /* in units, as `above`: see struct outcome */
    double above;
};

static uint64_t drawn(struct attack *attack, uint64_t low, uint64_t high)
{
    return draw_between(&attack->schedule->random, low, high);
}

static bool one_in(struct attack *attack, uint64_t count)
{
    return draw_one_in(&attack->schedule->random, count);
}

static int64_t reach_units(const struct attack *attack, unsigned key)
{
    const struct schedule *schedule = attack->schedule;
    int64_t units = 0;
    for (unsigned i = 0; i < schedule->nodes; i++)
        units += (int64_t)schedule_may_take(schedule, i, key) * attack->limit->units_per_token;
    return units;
}

static void check_reach(struct attack *attack, unsigned key)
{
    const struct limit *limit = attack->limit;
    uint64_t now_ns = attack->schedule->now_ns;
    truth_refill(&attack->truth[key], limit, now_ns, now_ns);
    int64_t left = attack->truth[key].high - reach_units(attack, key) + limit->overshoot_units +
                   truth_rounding_units(attack->limit);
    attack->closest = left < attack->closest ? left : attack->closest;
}

/*
 * Invariant I4: the truth is at least the sum of all views, each times the share of its node, less all unsettled
 * spends (docs/accounting.md, "What is never told"). Shares are rounded.
 */
static void check_views(struct attack *attack, unsigned key)
{
    const struct schedule *schedule = attack->schedule;
    double seen = 0;
    for (unsigned i = 0; i < schedule->nodes; i++) {
        struct bucket bucket = node_bucket(schedule->node[i], schedule_key(key), 0, schedule->now_ns);
        seen += attack->share[i] * (double)bucket.settled - (double)bucket.unsettled;
        seen += (double)schedule_voucher_tokens(schedule, i, key) * (double)attack->limit->units_per_token;
    }
    double above =
        seen - (double)attack->truth[key].high - (double)truth_rounding_units(attack->limit) * schedule->nodes;
    attack->above = above > attack->above ? above : attack->above;
}

/* ---- clients ---- */

static void admit(struct attack *attack, unsigned i, unsigned key, uint64_t tokens)
{
    struct schedule *schedule = attack->schedule;
    if (tokens == 0 || !node_admit(schedule->node[i], schedule_key(key), 0, tokens, schedule->now_ns).allowed)
        return;
    truth_refill(&attack->truth[key], attack->limit, schedule->now_ns, schedule->now_ns);
    truth_spend(&attack->truth[key], attack->limit, tokens);
    if (attack->client[i] != SIPS)
        attack->told_units += (int64_t)tokens * attack->limit->units_per_token / KEYS;
}

static uint64_t remaining(const struct attack *attack, unsigned i, unsigned key)
{
    return schedule_may_take(attack->schedule, i, key);
}

/*
 * Spends what refill pays off in time. A node looks whether refill has paid off two intervals after the first sip,
 * so it sips only until about an interval before that.
 */
static void sip(struct attack *attack, unsigned i, unsigned key)
{
    struct schedule *schedule = attack->schedule;
    uint64_t *since_ns = &attack->sips_ns[i][key], age_ns = schedule->now_ns - *since_ns;
    struct bucket bucket = node_bucket(schedule->node[i], schedule_key(key), 0, schedule->now_ns);
    if (age_ns > 2 * schedule->interval_ns + schedule->interval_ns / 6)
        *since_ns = schedule->now_ns;
    else if (age_ns > schedule->interval_ns * 7 / 8 && !one_in(attack, 64))
        return;
    int64_t room = attack->soon_units[i] - bucket.unsettled;
    if (bucket.settled < attack->limit->capacity_units || room < attack->limit->units_per_token)
        return;
    uint64_t tokens = (uint64_t)(room / attack->limit->units_per_token);
    if (!attack->precise && one_in(attack, 4))
        tokens = drawn(attack, 1, tokens);
    admit(attack, i, key, tokens + (!attack->precise && one_in(attack, 64)));
}

static void serve(struct attack *attack, unsigned i, unsigned key)
{
    switch (attack->client[i]) {
    case RESTS:
    case CLIENTS:
        break;
    case SIPS:
        sip(attack, i, key);
        break;
    case BITES:
        if (one_in(attack, 4)) {
            uint64_t most = remaining(attack, i, key);
            admit(attack, i, key, most > 0 ? drawn(attack, 1, most) : 0);
        }
        break;
    case TAKES_ALL:
        admit(attack, i, key, remaining(attack, i, key));
        if (one_in(attack, 8)) /* is refused, and asks others */
            admit(attack, i, key, drawn(attack, 1, attack->limit->capacity));
        break;
    }
}

static void order(struct attack *attack, unsigned *of, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned other = (unsigned)drawn(attack, 0, i);
        of[i] = of[other];
        of[other] = i;
    }
}

static void move_link(struct attack *attack, unsigned from, unsigned to)
{
    struct schedule *schedule = attack->schedule;
    const struct wire *wire = &schedule->wire[from][to];
    switch (attack->way[from][to]) {
    case PROMPT:
        while (wire->count > 0 && !one_in(attack, 12))
            schedule_deliver(schedule, from, to,
                             one_in(attack, 8) ? (unsigned)drawn(attack, 0, wire->count - 1) : 0);
        break;
    case LATE:
        if (wire->count > 0 && one_in(attack, 8))
            schedule_deliver(schedule, from, to, (unsigned)drawn(attack, 0, wire->count - 1));
        break;
    case CUT:
        schedule_lose(schedule, from, to);
        break;
    case HELD:
    case WAYS:
        break;
    }
}

static void moment(struct attack *attack)
{
    struct schedule *schedule = attack->schedule;
    unsigned nodes[SIM_NODES_MAX], links[SIM_NODES_MAX * SIM_NODES_MAX], count = schedule->nodes;
    schedule->now_ns += schedule->interval_ns * drawn(attack, 1, 8) / WINDOW_PARTS;
    order(attack, nodes, count);
    for (unsigned n = 0; n < count; n++) {
        unsigned i = nodes[n];
        for (unsigned key = 0; key < KEYS; key++)
            serve(attack, i, key);
        bool wants = schedule->wake_ns[i] <= schedule->now_ns || node_wants_step(schedule->node[i]);
        if (wants && !one_in(attack, 8))
            schedule_wake(schedule, i);
    }
    order(attack, links, count * count);
    for (unsigned n = 0; n < count * count; n++)
        if (links[n] / count != links[n] % count)
            move_link(attack, links[n] / count, links[n] % count);
    for (unsigned key = 0; key < KEYS; key++)
        check_reach(attack, key);
    for (unsigned key = 0; key < KEYS; key++)
        check_views(attack, key);
}

static void go_on(struct attack *attack, uint64_t parts)
{
    const struct schedule *schedule = attack->schedule;
    uint64_t until_ns = schedule->now_ns + schedule->interval_ns * parts / WINDOW_PARTS;
    while (schedule->now_ns < until_ns && attack->closest >= 0)
        moment(attack);
}

/* ---- acts ---- */

static void all_ways(struct attack *attack, enum way way)
{
    for (unsigned i = 0; i < SIM_NODES_MAX * SIM_NODES_MAX; i++)
        attack->way[i / SIM_NODES_MAX][i % SIM_NODES_MAX] = way;
}

static void all_clients(struct attack *attack, enum client client)
{
    for (unsigned i = 0; i < SIM_NODES_MAX; i++)
        attack->client[i] = client;
}

/* About the time in which the bucket, or a part of it, refills. */
static uint64_t some_time(struct attack *attack)
{
    uint64_t parts =
        drawn(attack, 1, 2 * WINDOW_PARTS) * attack->fill_intervals + drawn(attack, 0, 4 * WINDOW_PARTS);
    return parts < 80 * WINDOW_PARTS ? parts : 80 * WINDOW_PARTS;
}

static enum way bad_way(struct attack *attack)
{
    static const enum way ways[] = {PROMPT, LATE, HELD, HELD, CUT, CUT};
    return ways[drawn(attack, 0, sizeof ways / sizeof ways[0] - 1)];
}

/*
 * Goes on until the told spends of this act have refilled, or nearly. Then the views are full again, and a sip
 * that a node took for paid off, although it was not, is missing from all of them.
 */
static void go_on_until_refilled(struct attack *attack)
{
    struct schedule *schedule = attack->schedule;
    uint64_t since_ns = schedule->now_ns, fill_ns = attack->fill_intervals * schedule->interval_ns;
    uint64_t most_ns = fill_ns * drawn(attack, 1, 3);
    double part = (double)drawn(attack, 7, 9) / 8;
    attack->told_units = 0;
    do {
        moment(attack);
    } while (attack->closest >= 0 && schedule->now_ns - since_ns < most_ns &&
             (double)(schedule->now_ns - since_ns) / (double)fill_ns <
                 part * (double)attack->told_units / (double)attack->limit->capacity_units);
}

static void go_on_for_long(struct attack *attack)
{
    if (one_in(attack, 3))
        go_on(attack, some_time(attack));
    else
        go_on_until_refilled(attack);
}

/*
 * Two sides that hear little of each other, or one side nothing. One side sips; on the other side some nodes take
 * all.
 */
static void act_apart(struct attack *attack)
{
    unsigned nodes = attack->schedule->nodes;
    bool whole = one_in(attack, 2);
    uint64_t sipping = drawn(attack, 1, (1u << nodes) - 2);
    enum way there = bad_way(attack), back = bad_way(attack);
    all_ways(attack, PROMPT);
    for (unsigned i = 0; i < nodes; i++) {
        attack->client[i] = (sipping >> i & 1) != 0 ? SIPS : one_in(attack, 3) ? RESTS : TAKES_ALL;
        for (unsigned j = 0; j < nodes; j++)
            if ((sipping >> i & 1) != (sipping >> j & 1))
                attack->way[i][j] = whole ? ((sipping >> i & 1) != 0 ? there : back) : bad_way(attack);
    }
    go_on_for_long(attack);
}

/* As act_apart, but the nodes that take all do so only at the beginning. */
static void act_bite_apart(struct attack *attack)
{
    act_apart(attack);
    for (unsigned i = 0; i < attack->schedule->nodes; i++)
        if (attack->client[i] == TAKES_ALL)
            attack->client[i] = one_in(attack, 2) ? SIPS : RESTS;
    go_on_for_long(attack);
}

static void act_any(struct attack *attack)
{
    for (unsigned i = 0; i < attack->schedule->nodes; i++) {
        attack->client[i] = (enum client)drawn(attack, 0, CLIENTS - 1);
        for (unsigned j = 0; j < attack->schedule->nodes; j++)
            attack->way[i][j] = bad_way(attack);
    }
    go_on_for_long(attack);
}

static bool all_is_heard(const struct schedule *schedule)
{
    for (unsigned i = 0; i < schedule->nodes; i++) {
        struct node_stats stats;
        node_stats(schedule->node[i], &stats);
        if (stats.log_batches != 0 || stats.open_keys != 0 || stats.batches_waiting != 0)
            return false;
    }
    return true;
}

/* Goes on until all messages are heard, or nearly all: then the views are highest. */
static void act_hear(struct attack *attack)
{
    bool nearly = one_in(attack, 2);
    all_ways(attack, PROMPT);
    all_clients(attack, one_in(attack, 4) ? SIPS : RESTS);
    for (unsigned count = 0; count < HEAR_MAX && !all_is_heard(attack->schedule) && !(nearly && one_in(attack, 8));
         count++)
        go_on(attack, WINDOW_PARTS / 4);
}

static void act_rush(struct attack *attack)
{
    all_clients(attack, TAKES_ALL);
    go_on(attack, drawn(attack, 1, 4 * WINDOW_PARTS));
}

static void act_rest(struct attack *attack)
{
    all_ways(attack, PROMPT);
    all_clients(attack, RESTS);
    go_on(attack, attack->fill_intervals * WINDOW_PARTS + drawn(attack, 0, 4 * WINDOW_PARTS));
}

static void run(struct attack *attack)
{
    static void (*const acts[])(struct attack *) = {act_apart, act_apart, act_bite_apart, act_any};
    for (unsigned count = (unsigned)drawn(attack, 1, 5); count > 0; count--) {
        acts[drawn(attack, 0, sizeof acts / sizeof acts[0] - 1)](attack);
        if (!one_in(attack, 8))
            act_hear(attack);
        if (one_in(attack, 3))
            act_rush(attack);
        if (one_in(attack, 6))
            act_rest(attack);
    }
}

static void draw_limit(struct attack *attack)
{
    static const uint8_t fills[] = {1, 2, 4, 8, 12, 20, 30};
    static const uint64_t parts[] = {0, 0, 5, 1};
    struct schedule *schedule = attack->schedule;
    attack->fill_intervals = fills[drawn(attack, 0, sizeof fills - 1)];
    uint64_t capacity = one_in(attack, 4) ? drawn(attack, 20, 400) : 1000000;
    uint64_t part = parts[drawn(attack, 0, 3)];
    while (!limits_add(&schedule->limits, "refill", capacity, capacity,
                       attack->fill_intervals * schedule->interval_ns, part ? capacity / part : 0))
        capacity--;
    attack->limit = &schedule->limits.limit[0];
}

struct outcome search_refill(struct schedule *schedule, uint64_t seed)
{
    static const uint8_t sizes[] = {2, 2, 3, 3, 4, 5, 7}, silences[] = {2, 4, 12};
    struct attack attack = {.schedule = schedule, .closest = INT64_MAX};
    schedule_init(schedule, seed);
    schedule->interval_ns = one_in(&attack, 2) ? SECOND / 10 : SECOND / 100;
    if (seed % 2 == 1) /* then spends that are told late are set aside: cluster/log/aside.h */
        schedule->silent_after_ns = silences[seed / 2 % sizeof silences] * schedule->interval_ns;
    draw_limit(&attack);
    attack.precise = !one_in(&attack, 3);
    bool started = schedule_start(schedule, sizes[drawn(&attack, 0, sizeof sizes - 1)]);
    for (unsigned i = 0; i < schedule->nodes; i++) {
        struct node_status status;
        node_status(schedule->node[i], &status);
        attack.share[i] = (double)status.share / (double)SHARE_ONE;
        attack.soon_units[i] =
            (int64_t)((double)attack.limit->capacity_units / attack.fill_intervals * attack.share[i]);
    }
    for (unsigned key = 0; key < KEYS; key++)
        truth_init(&attack.truth[key], attack.limit, schedule->now_ns, schedule->now_ns);
    if (started)
        run(&attack);
    double capacity = (double)attack.limit->capacity_units;
    schedule_close(schedule);
    return (struct outcome){.closest = started ? (double)attack.closest / capacity : -1,
                            .above = attack.above / capacity};
}
