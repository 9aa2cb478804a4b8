/*
 * One clock runs fast, or slow: what the whole limit admits for good, with times as fast as the clocks, and with the
 * time of a fast clock held to the median (docs/accounting.md, "Time"). Demand is above the limit all the time, so what
 * is admitted is what refills. The first part of each run, in which clocks are not measured yet, does not count.
 */
#include "tests/sim/modes.h"
#include "tests/sim/one_key.h"
#include "tests/sim/rows.h"
#include "tests/sim/scenarios.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum { NODES_MAX = 5, CAPACITY = 100, RATE = 100 };

static const uint64_t begin_ns = 3 * SECOND, measured_from_ns = 40 * SECOND, measured_until_ns = 80 * SECOND;
static const double demand = 3;

static const struct {
    const char *name;
    unsigned nodes;
    int32_t drift_ppm[NODES_MAX];
    bool one_region;                /* all demand is at the first node */
    double held_most, unheld_least; /* parts of the limit */
} cases[] = {
    {"three clocks that agree", 3, {0}, false, 1.002, 0.96},
    {"one of three 1% fast", 3, {10000}, false, 1.015, 0.96},
    {"one of three 3% fast", 3, {30000}, false, 1.01, 1.01},
    {"one of three 10% fast", 3, {100000}, false, 1.01, 1.02},
    {"one of three 10% fast, with all demand", 3, {100000}, true, 1.01, 1.05},
    {"one of three 10% slow", 3, {-100000}, false, 1.01, 0.9},
    {"one of two 10% fast", 2, {100000}, false, 1.01, 1.03},
    {"two of five 10% and 5% fast", 5, {100000, 50000}, false, 1.01, 1.02},
};

enum { CASES = sizeof cases / sizeof cases[0] };

/* One clock or two run 2% to 20% fast, or slow, for long enough that all are measured while faults come. */
void clocks_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 12 + 5);
    for (unsigned n = draw_one_in(&random, 3) ? 2 : 1; n > 0; n--) {
        const int32_t ppm = (int32_t)draw_between(&random, 20000, 200000);
        plan->node[random_below(&random, plan->nodes)].drift_ppm = draw_one_in(&random, 4) ? -ppm : ppm;
    }
    plan->safety_ns = 60 * SECOND > plan->safety_ns ? 60 * SECOND : plan->safety_ns;
    plan->liveness = false; /* what is late, and what is left, depends on whose clock one asks */
}

static void draw(struct load_list *list, unsigned which, uint64_t seed)
{
    struct random random;
    double at = 0;
    random_seed(&random, seed);
    list->count = 0;
    while ((at -= log(1 - random_unit(&random)) / (demand * RATE)) * 1e9 < (double)(measured_until_ns - begin_ns) &&
           list->count < ONE_KEY_ARRIVALS_MAX) {
        uint8_t node = cases[which].one_region ? 0 : (uint8_t)random_below(&random, cases[which].nodes);
        list->arrival[list->count++] = (struct arrival){begin_ns + (uint64_t)(at * 1e9), node};
    }
}

static void plan_world(struct sim *sim, unsigned which, uint64_t seed, uint64_t until_ns)
{
    struct plan *plan = &sim->plan;
    const struct limit_terms terms = {.capacity = CAPACITY,
                                      .rate = RATE,
                                      .period_ns = SECOND,
                                      .overshoot = CAPACITY / 5};
    one_key_plan(sim, cases[which].nodes, &terms, 0, seed);
    plan->silent_after_ns = SECOND;
    plan->safety_ns = until_ns;
    for (unsigned i = 0; i < plan->nodes; i++)
        plan->node[i].drift_ppm = cases[which].drift_ppm[i];
}

static double admitted(struct sim *sim, const struct load_list *list, unsigned which, uint64_t seed,
                       uint64_t until_ns, bool held)
{
    plan_world(sim, which, seed, until_ns);
    sim->arrivals = list->arrival;
    sim->arrival_count = list->count;
    sim->unheld = !held;
    return sim_run(sim) ? (double)sim->truth[0].admitted_tokens : HUGE_VAL;
}

/* The part of the limit that is admitted while clocks are measured. */
static double measure(struct sim *sim, struct load_list *list, unsigned which, unsigned seeds, bool held)
{
    const double limit = (double)RATE * (double)(measured_until_ns - measured_from_ns) / 1e9;
    double part = 0;
    for (unsigned seed = 1; seed <= seeds; seed++) {
        draw(list, which, seed);
        /* the same run, cut short: the same seed gives the same run */
        const double before = admitted(sim, list, which, seed, measured_from_ns, held);
        part += (admitted(sim, list, which, seed, measured_until_ns, held) - before) / limit / seeds;
    }
    return part;
}

int clocks_run(struct sim *sim, unsigned seeds, bool tap)
{
    struct load_list *list = calloc(1, sizeof *list);
    struct rows rows = {.tap = tap};
    if (list == NULL)
        return EXIT_FAILURE;
    for (unsigned which = 0; which < CASES; which++) {
        const double unheld = measure(sim, list, which, seeds, false),
                     held = measure(sim, list, which, seeds, true);
        const bool holds = held <= cases[which].held_most && held >= 0.85 && unheld >= cases[which].unheld_least;
        printf("# %s: %.4f of the limit, %.4f with time held to the median\n", cases[which].name, unheld, held);
        rows_add(&rows, holds, "%s: what is admitted for good stays at the limit", cases[which].name);
    }
    free(list);
    return rows_end(&rows);
}
