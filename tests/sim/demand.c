/*
 * Demand that goes where rights are not: bursts in one region, in all regions at once and one after the other, steady
 * loads, and limits so small that no share has a token. Each is run without grants, with them, and with a home, or
 * weights of a rule, as well, on the same arrivals.
 *
 * Whoever is refused does not come again, but where a row says so: rights that were granted to a region whose clients
 * are gone are of no use there. Held to: what is declared is never exceeded, with grants no less is admitted but for
 * first asks, and of some rows as much as they say.
 */
#include "tests/sim/modes.h"
#include "tests/sim/one_key.h"
#include "tests/sim/rows.h"
#include "tests/sim/scenarios.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SECOND UINT64_C(1000000000)

enum { NODES = 3, LIMITS = 5, SHORT_S = 100 };
/* HOME: with grants, and node 0 has the whole limit; WEIGHTS: with grants, and node 0 has nine tenths of it */
enum { WITHOUT, GRANTS, HOME, WEIGHTS, HOWS };

/* Of what one bucket admits: by so much may a mean of few runs differ. */
static const double tolerance = 0.02;

static const struct demand_limit {
    const char *name;
    struct limit_terms terms;
    unsigned load_seconds;
    double fills_s; /* how long an empty bucket takes, or so */
} limits[LIMITS] = {
    {"100, 100/s", {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = SECOND}, 20, 2},
    {"100, 30/s", {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 30, .period_ns = SECOND}, 20, 4},
    {"100, 100/m", {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 60 * SECOND}, 60, 61},
    {"100, 100/h", {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 100, .period_ns = 3600 * SECOND}, 60, 3601},
    {"3, 3/m", {.kind = LIMIT_BUCKET, .capacity = 3, .rate = 3, .period_ns = 60 * SECOND}, 60, 61},
};

struct drawing {
    struct load_list *list;
    struct random *random;
    const struct demand_limit *limit;
};

/* So many requests within 2 ms. */
static void burst(const struct drawing *to, unsigned node, double at, uint64_t count)
{
    for (uint64_t k = 0; k < count; k++)
        load_list_add(to->list, at + (double)k * 0.002 / (double)count, node);
}

static void steady(const struct drawing *to, unsigned node, double rate, double from, double until)
{
    load_list_poisson(to->list, to->random, node, rate, from, until);
}

/* The same clients come again until the tokens of a full bucket are gone. */
static void burst_again(const struct drawing *to, unsigned node, double at)
{
    for (unsigned times = 0; times < 5; times++)
        burst(to, node, at + times * 0.12, to->limit->terms.capacity);
}

static void one_burst(const struct drawing *to)
{
    burst(to, 0, 0, to->limit->terms.capacity);
}

static void one_burst_again(const struct drawing *to)
{
    burst_again(to, 0, 0);
}

static void one_burst_again_ten_times(const struct drawing *to)
{
    for (unsigned times = 0; times < 10; times++)
        burst_again(to, 0, times * to->limit->fills_s);
}

/* A burst that does not end: whoever is refused tries again at once. */
static void burst_goes_on(const struct drawing *to)
{
    burst(to, 0, 0, to->limit->terms.capacity);
    steady(to, 0, 500, 0.002, 0.4);
}

static void bursts_at_once(const struct drawing *to)
{
    for (unsigned i = 0; i < NODES; i++)
        burst(to, i, 0, to->limit->terms.capacity);
}

/* The later regions have spent nothing when the first one asks, and hear of it just before their own clients come. */
static void bursts_in_turn(const struct drawing *to)
{
    for (unsigned i = 0; i < NODES; i++)
        burst(to, i, 0.07 * i, to->limit->terms.capacity);
}

static void bursts_in_turn_again(const struct drawing *to)
{
    for (unsigned i = 0; i < NODES; i++)
        burst_again(to, i, 0.07 * i);
}

static void small_bursts_in_turn(const struct drawing *to)
{
    for (unsigned i = 0; i < NODES; i++)
        burst(to, i, 0.07 * i, to->limit->terms.capacity / 2);
}

/* A burst that is over, and seconds later what the others want. */
static void burst_then_others(const struct drawing *to)
{
    burst(to, 0, 0, to->limit->terms.capacity);
    for (unsigned i = 1; i < NODES; i++)
        steady(to, i, 10, 3, 13);
}

/* The same again whenever the bucket is full: clients have habits. */
static void bursts_in_turn_ten_times(const struct drawing *to)
{
    for (unsigned times = 0; times < 10; times++)
        for (unsigned i = 0; i < NODES; i++)
            burst(to, (i + times) % NODES, times * to->limit->fills_s + 0.07 * i, to->limit->terms.capacity);
}

static void burst_each_second(const struct drawing *to)
{
    for (unsigned second = 0; second < to->limit->load_seconds; second++)
        for (unsigned i = 0; i < NODES; i++)
            burst(to, i, second + 0.07 * i, to->limit->terms.capacity);
}

static void even_twice(const struct drawing *to)
{
    for (unsigned i = 0; i < NODES; i++)
        steady(to, i, 200.0 / NODES, 0, to->limit->load_seconds);
}

static void skewed_ten_times(const struct drawing *to)
{
    for (unsigned i = 0; i < NODES; i++)
        steady(to, i, i == 0 ? 800 : 100, 0, to->limit->load_seconds);
}

static void one_region_twice(const struct drawing *to)
{
    steady(to, 0, 200, 0, to->limit->load_seconds);
}

/* All demand is in another region each second. */
static void wandering(const struct drawing *to)
{
    for (unsigned second = 0; second < to->limit->load_seconds; second++)
        steady(to, second % NODES, 150, second, second + 1);
}

/* Few clients, each some seconds after the other, wherever they are. */
static void scattered(const struct drawing *to)
{
    for (unsigned i = 0; i < NODES; i++)
        steady(to, i, 1, 0, to->limit->load_seconds);
}

static const struct {
    const char *name;
    void (*draw)(const struct drawing *to);
    bool fills;           /* waits until the bucket is full again */
    double least[LIMITS]; /* with grants, by limit: where asking brings much, or would lose much */
    double first_costs;   /* at most, with grants: nodes that know no clients take the first ones to come back */
} loads[] = {
    {"burst in one region", one_burst, false, {0}, 0},
    {"the same, clients come again", one_burst_again, false, {0.77, 0.84, 0.93, 0.93}, 0},
    {"the same, ten times", one_burst_again_ten_times, true, {0.75, 0.86, 0.94, 0.94}, 0},
    {"burst that goes on, 500/s", burst_goes_on, false, {0.75, 0.84, 0.92, 0.92}, 0},
    {"bursts everywhere, at once", bursts_at_once, false, {0}, 0},
    {"bursts everywhere, in turn", bursts_in_turn, false, {0}, 0.13},
    {"the same, clients come again", bursts_in_turn_again, false, {0}, 0},
    {"bursts in turn, ten times", bursts_in_turn_ten_times, true, {0}, 0.05},
    {"bursts of C/2, in turn", small_bursts_in_turn, false, {0}, 0.1},
    {"burst, then others steadily", burst_then_others, false, {0}, 0.05},
    {"bursts in turn each second", burst_each_second, false, {0.63, 0.93, 0.95, 0.95}, 0},
    {"even, 200/s", even_twice, false, {0}, 0},
    {"80/10/10, 1000/s", skewed_ten_times, false, {0}, 0},
    {"one region, 200/s", one_region_twice, false, {0}, 0},
    {"each second elsewhere, 150/s", wandering, false, {0}, 0},
    {"one a second everywhere", scattered, false, {0}, 0},
};

enum { LOADS = sizeof loads / sizeof loads[0] };

struct outcome {
    double admitted, overshoot;
    struct rights_figures rights;
};

static unsigned load_seconds(const struct load_list *list)
{
    const uint64_t ends_ns = list->count > 0 ? list->arrival[list->count - 1].at_ns : one_key_begin_ns();
    return (unsigned)((ends_ns - one_key_begin_ns()) / SECOND) + 1;
}

static void measure(struct sim *sim, struct load_list *list, unsigned limit, unsigned load, unsigned seeds,
                    struct outcome outcomes[HOWS], double *ideal)
{
    *ideal = 0;
    memset(outcomes, 0, HOWS * sizeof *outcomes);
    for (unsigned seed = 1; seed <= seeds; seed++) {
        struct random random;
        random_seed(&random, seed);
        list->count = 0;
        loads[load].draw(&(struct drawing){list, &random, &limits[limit]});
        load_list_sort(list);
        *ideal += one_key_ideal(list, &limits[limit].terms) / seeds;
        for (unsigned with = 0; with < HOWS; with++) {
            struct limit_terms terms = limits[limit].terms;
            terms.home = with == HOME ? limit_home_of(bytes_of(world_region_name(0))) : 0;
            one_key_plan(sim, NODES, &terms, load_seconds(list), seed);
            sim->plan.grants = with >= GRANTS;
            if (with == WEIGHTS)
                rule_weights_plan(&sim->plan, (const double[NODES]){0.9, 0.05, 0.05});
            outcomes[with].overshoot = fmax(outcomes[with].overshoot, one_key_run(sim, list));
            outcomes[with].admitted += (double)sim->truth[0].admitted_tokens / seeds;
            outcomes[with].rights.asks += sim->rights.all.asks;
            outcomes[with].rights.granted += sim->rights.all.granted;
            outcomes[with].rights.used += sim->rights.all.used;
            outcomes[with].rights.returned += sim->rights.all.returned;
        }
    }
}

/* Returns how many rows of the limit break a promise. */
static unsigned run_limit(struct sim *sim, struct load_list *list, unsigned limit, unsigned seeds, bool tap)
{
    unsigned broken = 0;
    for (unsigned load = 0; load < LOADS; load++) {
        struct outcome outcomes[HOWS];
        if (tap && loads[load].fills && limits[limit].fills_s > SHORT_S)
            continue; /* ten hours */
        double ideal;
        measure(sim, list, limit, load, seeds, outcomes, &ideal);
        const struct rights_figures *rights = &outcomes[GRANTS].rights;
        const bool exceeded = fmax(fmax(outcomes[WITHOUT].overshoot, outcomes[GRANTS].overshoot),
                                   fmax(outcomes[HOME].overshoot, outcomes[WEIGHTS].overshoot)) > 0;
        const double cost = tolerance + loads[load].first_costs;
        const bool worse = outcomes[GRANTS].admitted < outcomes[WITHOUT].admitted - cost * ideal;
        const bool less = outcomes[GRANTS].admitted < loads[load].least[limit] * ideal;
        broken += exceeded || worse || less;
        printf("# %-10s %-29s %8.1f of one bucket: %.3f without, %.3f with grants (%" PRIu64 " asks, %" PRIu64
               " granted, %" PRIu64 " used, %" PRIu64 " given back), %.3f with a home, %.3f with weights%s%s%s\n",
               limits[limit].name, loads[load].name, ideal, outcomes[WITHOUT].admitted / ideal,
               outcomes[GRANTS].admitted / ideal, rights->asks, rights->granted, rights->used, rights->returned,
               outcomes[HOME].admitted / ideal, outcomes[WEIGHTS].admitted / ideal,
               exceeded ? "   <-- EXCEEDED" : "", worse ? "   <-- WORSE" : "", less ? "   <-- LESS" : "");
        (void)fflush(stdout);
    }
    return broken;
}

int demand_run(struct sim *sim, unsigned seeds, bool tap)
{
    struct load_list *list = calloc(1, sizeof *list);
    struct rows rows = {.tap = tap};
    if (list == NULL)
        return EXIT_FAILURE;
    for (unsigned limit = 0; limit < LIMITS; limit++) {
        const bool holds = run_limit(sim, list, limit, seeds, tap) == 0;
        rows_add(&rows, holds,
                 "%s: within the limit, but for first asks not less with grants than without, as much as held",
                 limits[limit].name);
    }
    free(list);
    return rows_end(&rows);
}
