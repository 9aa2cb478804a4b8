/*
 * Woven schedules: four even peers, no refill, links that hold everything back for long. Two pairs spend in turns all
 * that they may. Before a peer spends, it hears one peer of the other pair, not both; and it settles its last spend by
 * an acknowledgement of the peer that it does not hear, given before that one spent.
 *
 * The one idea: of all spends on their way each view lacks half, and never the same half. So the views together hold
 * more than there is, level after level. Schedules at random do not find that: a reserve of a quarter of what is left
 * holds in all that were ever run, and is exceeded by 0.06% of the capacity here.
 */
#include "tests/sim/rotations.h"
#include "tests/sim/scenarios.h"
#include "tests/sim/schedule.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { PEERS = 4, LEVELS = 16, CAPACITY = 1000000, CHANGES = 20000, CLIMBS = 10 };

struct weave {
    struct schedule schedule;
    uint64_t total; /* tokens */
};

static uint64_t available(const struct weave *weave, unsigned i)
{
    const struct schedule *schedule = &weave->schedule;
    return node_peek(schedule->node[i], schedule_key(0), 0, 1, schedule->now_ns).available_tokens;
}

static void spend_all(struct weave *weave, unsigned i)
{
    const uint64_t tokens = available(weave, i);
    if (tokens > 0 &&
        node_admit(weave->schedule.node[i], schedule_key(0), 0, tokens, weave->schedule.now_ns).allowed)
        weave->total += tokens;
}

/* `to` hears all that `from` has spent and knows. */
static void hear(struct weave *weave, unsigned to, unsigned from)
{
    struct schedule *schedule = &weave->schedule;
    schedule->now_ns += schedule->interval_ns;
    schedule_wake(schedule, from);
    while (schedule->wire[from][to].count > 0)
        schedule_deliver(schedule, from, to, 0);
    schedule->now_ns += schedule->interval_ns;
    schedule_wake(schedule, to);
}

/* The pair `spent` has spent. The peers of `next` hear each other and one of these each, and spend. */
static void level(struct weave *weave, const unsigned *spent, const unsigned *next)
{
    hear(weave, next[0], next[1]);
    hear(weave, next[1], next[0]);
    hear(weave, next[0], next[1]);
    for (unsigned i = 0; i < 2; i++) {
        hear(weave, spent[i], next[i]);
        hear(weave, next[i], spent[i]);
        hear(weave, spent[i], next[i]); /* that acknowledgement tells of no spend of this level */
    }
    spend_all(weave, next[0]);
    spend_all(weave, next[1]);
}

/* What is left of capacity and overshoot if all take now what they may, at the worst moment. */
static int64_t closest(struct weave *weave, uint64_t overshoot)
{
    unsigned pairs[2][2] = {{0, 1}, {2, 3}};
    int64_t closest = INT64_MAX;
    spend_all(weave, 0);
    spend_all(weave, 1);
    for (unsigned turn = 0; turn < LEVELS; turn++) {
        uint64_t reach = 0;
        level(weave, pairs[turn % 2], pairs[(turn + 1) % 2]);
        for (unsigned i = 0; i < PEERS; i++)
            reach += available(weave, i);
        int64_t left = (int64_t)(CAPACITY + overshoot) - (int64_t)(weave->total + reach);
        closest = left < closest ? left : closest;
        unsigned first = pairs[turn % 2][0]; /* who is not heard alternates */
        pairs[turn % 2][0] = pairs[turn % 2][1];
        pairs[turn % 2][1] = first;
    }
    return closest;
}

int woven_run(bool tap)
{
    static const uint64_t overshoots[] = {0, CAPACITY / 20, CAPACITY / 5, CAPACITY};
    static const uint64_t weights[PEERS] = {SHARE_ONE / 4, SHARE_ONE / 4, SHARE_ONE / 4, SHARE_ONE / 4};
    struct weave *weave = calloc(1, sizeof *weave);
    unsigned broken = 0;
    double least = DBL_MAX;
    if (weave == NULL)
        return EXIT_FAILURE;
    for (unsigned i = 0; i < sizeof overshoots / sizeof overshoots[0]; i++) {
        weave->total = 0;
        schedule_init(&weave->schedule, 1);
        (void)limits_add(&weave->schedule.limits, "woven", CAPACITY, 1, LIMIT_PERIOD_MAX_NS, overshoots[i]);
        bool started = schedule_start_with(&weave->schedule, PEERS, weights);
        double left = started ? (double)closest(weave, overshoots[i]) / CAPACITY : -1;
        schedule_close(&weave->schedule);
        least = left < least ? left : least;
        if (left < 0)
            printf("# seed %u, woven, exceeds the declared overshoot by %.6f of the capacity    (--woven)\n", i,
                   -left);
        broken += left < 0;
    }
    printf("# 4 woven schedules, %u broke a law, closest %.6f of capacity from the declared overshoot\n", broken,
           least);
    unsigned climbed = rotations_run(CHANGES, CLIMBS);
    if (tap)
        printf("%sok 1 - no woven schedule exceeds the declared overshoot\n"
               "%sok 2 - nor does the worst that a climb finds\n1..2\n",
               broken > 0 ? "not " : "", climbed > 0 ? "not " : "");
    free(weave);
    return broken + climbed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
