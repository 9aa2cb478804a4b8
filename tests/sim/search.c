/*
 * Adversarial schedules: a limit that practically never refills, peers that spend all they may at random
 * moments, and links that hold everything back for long. Whatever the schedule, the sum of all spends stays
 * within capacity + overshoot. An event is a spend, a wake-up or the delivery of the oldest message of some link.
 * Limits that refill: search_refill.c.
 */
#include "tests/sim/scenarios.h"
#include "tests/sim/schedule.h"

#include <float.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    KEYS = 3,
    CAPACITY = 1000000,
    TOLD_MAX = 10,
};

struct attack {
    struct schedule *schedule;
    bool slow[SIM_NODES_MAX][SIM_NODES_MAX];
    uint64_t total[KEYS], allowed; /* tokens */
};

static void slow_down(struct attack *attack)
{
    struct schedule *schedule = attack->schedule;
    for (unsigned i = 0; i < schedule->nodes; i++)
        for (unsigned j = 0; j < schedule->nodes; j++)
            attack->slow[i][j] = random_below(&schedule->random, 100) < 35;
}

static void spend(struct attack *attack)
{
    struct schedule *schedule = attack->schedule;
    unsigned i = (unsigned)random_below(&schedule->random, schedule->nodes);
    unsigned key = (unsigned)random_below(&schedule->random, KEYS);
    struct node *node = schedule->node[i];
    uint64_t tokens = schedule_may_take(schedule, i, key);
    if (draw_one_in(&schedule->random, 6)) /* more than it may: it asks others */
        tokens = 1 + random_below(&schedule->random, CAPACITY);
    if (tokens > 0 && draw_one_in(&schedule->random, 3))
        tokens = 1 + random_below(&schedule->random, tokens);
    if (tokens > 0 && node_admit(node, schedule_key(key), 0, tokens, schedule->now_ns).allowed)
        attack->total[key] += tokens;
    if (!draw_one_in(&schedule->random, 3)) {
        schedule->now_ns += schedule->interval_ns;
        schedule_wake(schedule, i);
    }
}

static void deliver_some(struct attack *attack)
{
    struct schedule *schedule = attack->schedule;
    for (int attempt = 0; attempt < 20; attempt++) {
        unsigned i = (unsigned)random_below(&schedule->random, schedule->nodes);
        unsigned j = (unsigned)random_below(&schedule->random, schedule->nodes);
        if (schedule->wire[i][j].count == 0 || (attack->slow[i][j] && !draw_one_in(&schedule->random, 50)))
            continue;
        schedule_deliver(schedule, i, j, 0);
        return;
    }
}

/* What was spent and what all could spend at this moment. Refill: a token in a year. */
static uint64_t reach(const struct attack *attack, unsigned key)
{
    const struct schedule *schedule = attack->schedule;
    uint64_t sum = attack->total[key];
    for (unsigned i = 0; i < schedule->nodes; i++)
        sum += schedule_may_take(schedule, i, key);
    return sum;
}

/* How far from the limit it stayed, in tokens. */
static int64_t run(struct attack *attack)
{
    struct schedule *schedule = attack->schedule;
    unsigned length = draw_one_in(&schedule->random, 2) ? 60 : 300;
    int64_t closest = INT64_MAX;
    for (unsigned s = 0; s < length * schedule->nodes; s++) {
        if (s % 40 == 0)
            slow_down(attack);
        if (random_below(&schedule->random, 100) < 35)
            spend(attack);
        else
            deliver_some(attack);
        int64_t left = (int64_t)attack->allowed - (int64_t)reach(attack, s % KEYS);
        closest = left < closest ? left : closest;
    }
    return closest;
}

struct outcome search_still(struct schedule *schedule, uint64_t seed)
{
    static const uint8_t sizes[] = {2, 3, 3, 4, 5};
    static const uint64_t overshoots[] = {0, 0, CAPACITY / 5, CAPACITY};
    schedule_init(schedule, seed);
    unsigned nodes = sizes[random_below(&schedule->random, sizeof sizes)];
    uint64_t overshoot = overshoots[random_below(&schedule->random, 4)];
    struct attack attack = {.schedule = schedule, .allowed = CAPACITY + overshoot + 1};
    (void)limits_add(&schedule->limits, "search", CAPACITY, 1, LIMIT_PERIOD_MAX_NS, overshoot);
    double closest = schedule_start(schedule, nodes) ? (double)run(&attack) / CAPACITY : -1;
    schedule_close(schedule);
    return (struct outcome){.closest = closest};
}

static double wall_seconds(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* True if every law held. */
static bool tell(const struct outcome *outcome, const struct search_options *options, uint64_t seed, bool quiet)
{
    const char *refill = options->refill ? " --refill" : "";
    bool exceeds = outcome->closest < 0;
    if (!exceeds && outcome->above <= 0)
        return true;
    if (!quiet)
        printf("# schedule %" PRIu64 " %s by %.6f of the capacity    (--search 1 --from %" PRIu64 "%s)\n", seed,
               exceeds ? "exceeds the declared overshoot" : "has views above the truth",
               exceeds ? -outcome->closest : outcome->above, seed, refill);
    return false;
}

int search_run(const struct search_options *options)
{
    struct schedule *schedule = malloc(sizeof *schedule);
    uint64_t broken = 0, done = 0, steps = 0;
    double closest = DBL_MAX, until = wall_seconds() + options->seconds;
    if (schedule == NULL)
        return EXIT_FAILURE;
    for (; options->seconds > 0 ? wall_seconds() < until : done < options->trials; done++) {
        uint64_t seed = options->from + done;
        struct outcome outcome = options->refill ? search_refill(schedule, seed) : search_still(schedule, seed);
        steps += schedule->steps;
        closest = outcome.closest < closest ? outcome.closest : closest;
        broken += !tell(&outcome, options, seed, broken >= TOLD_MAX);
    }
    printf("# %" PRIu64 " schedules, %" PRIu64 " steps, %" PRIu64
           " broke a law, closest %.4f of capacity from the declared overshoot\n",
           done, steps, broken, closest);
    if (options->tap)
        printf("%sok 1 - no schedule exceeds the declared overshoot%s\n1..1\n", broken > 0 ? "not " : "",
               options->refill ? " or sees more than there is" : "");
    free(schedule);
    return broken > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
