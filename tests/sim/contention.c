/*
 * Regions that all ask for more than there is: what each gets for good, beside its part of the refill. A region
 * that asks for as much gets at least nine tenths of its part, or of what it asks for if that is less; what others
 * leave goes to those who are short. The first seconds of each run, in which a full bucket is spent, do not count.
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

enum { NODES_MAX = 5, OVERSHOOTS = 2, TEXT_BYTES = 160 };

static const double floor_part = 0.9, utilisation_least = 0.95;
static const uint64_t overshoot_percent[OVERSHOOTS] = {0, 20};

static const struct contention {
    const char *name;
    unsigned nodes;
    double weight[NODES_MAX];   /* they add up to 1 */
    double demand[NODES_MAX];   /* in parts of the whole limit's refill */
    unsigned way_ms[NODES_MAX]; /* to any other region, plus that one's; 0: 40 ms between any two */
    int32_t drift_ppm[NODES_MAX];
    bool of_rule; /* the weights are those of a rule, and all regions have the same of other limits */
} cases[] = {
    {.name = "five, each 10 times its part", .nodes = 5, .weight = {.5, .2, .1, .1, .1}, .demand = {5, 2, 1, 1, 1}},
    {.name = "five, each 5 times the limit", .nodes = 5, .weight = {.5, .2, .1, .1, .1}, .demand = {5, 5, 5, 5, 5}},
    {.name = "five even, each 10 times its part",
     .nodes = 5,
     .weight = {.2, .2, .2, .2, .2},
     .demand = {2, 2, 2, 2, 2}},
    {.name = "three even, one asks for ten times the others'",
     .nodes = 3,
     .weight = {.334, .333, .333},
     .demand = {10, 1, 1}},
    {.name = "three even, one far",
     .nodes = 3,
     .weight = {.334, .333, .333},
     .demand = {2, 2, 2},
     .way_ms = {10, 10, 100}},
    {.name = "three even, a clock 0.4% fast",
     .nodes = 3,
     .weight = {.334, .333, .333},
     .demand = {2, 2, 2},
     .drift_ppm = {4000}},
    {.name = "a small one beside a big one", .nodes = 2, .weight = {.9, .1}, .demand = {9, 1}},
    {.name = "a small one beside a big one, by the rule's weights",
     .nodes = 2,
     .weight = {.9, .1},
     .demand = {9, 1},
     .of_rule = true},
    {.name = "five, each 5 times the limit, by the rule's weights",
     .nodes = 5,
     .weight = {.5, .2, .1, .1, .1},
     .demand = {5, 5, 5, 5, 5},
     .of_rule = true},
    {.name = "a small one that asks for 0.8 of its part",
     .nodes = 3,
     .weight = {.45, .45, .1},
     .demand = {5, 5, .08}},
    {.name = "a small one asks for all, the others for half",
     .nodes = 3,
     .weight = {.6, .3, .1},
     .demand = {.3, .15, 10}},
};

static const struct {
    const char *name;
    uint64_t capacity, rate, period_ns;
    unsigned before_s, measured_s;
} limits[] = {
    {"100, 100/s", 100, 100, SECOND, 3, 15},
    {"100, 600/m", 100, 600, 60 * SECOND, 60, 120},
};

enum { CASES = sizeof cases / sizeof cases[0], LIMITS = sizeof limits / sizeof limits[0] };

struct got {
    double of_node[NODES_MAX], all; /* in parts of what refilled */
    double asked[NODES_MAX];
};

static double refill_per_s(unsigned limit)
{
    return (double)limits[limit].rate * (double)SECOND / (double)limits[limit].period_ns;
}

static void draw(struct load_list *list, const struct contention *of, unsigned limit, uint64_t seed)
{
    const double rate = refill_per_s(limit), seconds = limits[limit].before_s + limits[limit].measured_s;
    struct random random;
    random_seed(&random, seed);
    list->count = 0;
    for (unsigned i = 0; i < of->nodes; i++)
        load_list_poisson(list, &random, i, of->demand[i] * rate, 0, seconds);
    load_list_sort(list);
}

static void plan_world(struct sim *sim, const struct contention *of, const struct limit_terms *terms, uint64_t seed,
                       uint64_t until_ns)
{
    struct plan *plan = &sim->plan;
    one_key_plan(sim, of->nodes, terms, 0, seed);
    plan->grants = true;
    plan->safety_ns = until_ns;
    for (unsigned i = 0; i < of->nodes; i++) {
        plan->weight[i] = of->of_rule ? SHARE_ONE / of->nodes : (uint64_t)(of->weight[i] * (double)SHARE_ONE);
        plan->node[i].drift_ppm = of->drift_ppm[i];
        for (unsigned j = 0; j < of->nodes && of->way_ms[0] > 0; j++) {
            plan->latency_ns[i][j] = (of->way_ms[i] + of->way_ms[j]) * MS;
            if (plan->latency_ns[i][j] > plan->latency_max_ns)
                plan->latency_max_ns = plan->latency_ns[i][j];
        }
    }
    if (of->of_rule)
        rule_weights_plan(plan, of->weight);
}

/* Adds `sign` times what each node has admitted until then. False: more than the limit was. */
static bool add_admitted(struct sim *sim, const struct load_list *list, const struct contention *of,
                         const struct limit_terms *terms, uint64_t seed, uint64_t until_ns, double times,
                         struct got *got)
{
    plan_world(sim, of, terms, seed, until_ns);
    if (one_key_run(sim, list) > (double)terms->overshoot)
        return false;
    for (unsigned i = 0; i < of->nodes; i++) {
        got->of_node[i] += times * (double)sim->node[i].admitted_requests;
        got->all += times * (double)sim->node[i].admitted_requests;
    }
    return true;
}

static void add_asked(const struct load_list *list, uint64_t from_ns, uint64_t until_ns, double times,
                      struct got *got)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->arrival[i].at_ns >= from_ns && list->arrival[i].at_ns < until_ns)
            got->asked[list->arrival[i].node] += times;
}

static bool measure(struct sim *sim, struct load_list *list, unsigned which, unsigned limit, uint64_t percent,
                    unsigned seeds, struct got *got)
{
    const struct contention *of = &cases[which];
    const struct limit_terms terms = {.kind = LIMIT_BUCKET,
                                      .capacity = limits[limit].capacity,
                                      .rate = limits[limit].rate,
                                      .period_ns = limits[limit].period_ns,
                                      .overshoot = limits[limit].capacity * percent / 100};
    const double refill = refill_per_s(limit) * limits[limit].measured_s;
    const uint64_t from_ns = one_key_begin_ns() + limits[limit].before_s * SECOND,
                   until_ns = from_ns + limits[limit].measured_s * SECOND;
    bool kept = true;
    *got = (struct got){0};
    for (unsigned seed = 1; seed <= seeds; seed++) {
        draw(list, of, limit, seed);
        add_asked(list, from_ns, until_ns, 1 / refill / seeds, got);
        /* the same run, cut short: the same seed gives the same run */
        kept &= add_admitted(sim, list, of, &terms, seed, from_ns, -1 / refill / seeds, got) &&
                add_admitted(sim, list, of, &terms, seed, until_ns, 1 / refill / seeds, got);
    }
    return kept;
}

/* Returns the least part that a node got of what its weight gives it, or of what it asked for. */
static double print_row(unsigned which, unsigned limit, uint64_t percent, const struct got *got)
{
    const struct contention *of = &cases[which];
    double least = HUGE_VAL;
    printf("# %s, E = %" PRIu64 "%%, %s:", limits[limit].name, percent, of->name);
    for (unsigned i = 0; i < of->nodes; i++) {
        const double due = fmin(of->weight[i], got->asked[i]);
        printf(" %.3f", got->of_node[i]);
        least = fmin(least, got->of_node[i] / due);
    }
    printf("; all %.3f; the least %.2f of its part\n", got->all, least);
    return least;
}

int contention_run(struct sim *sim, unsigned seeds, bool tap)
{
    struct load_list *list = calloc(1, sizeof *list);
    struct rows rows = {.tap = tap};
    if (list == NULL)
        return EXIT_FAILURE;
    for (unsigned limit = 0; limit < LIMITS; limit++)
        for (unsigned e = 0; e < OVERSHOOTS; e++)
            for (unsigned which = 0; which < CASES; which++) {
                struct got got;
                const bool kept = measure(sim, list, which, limit, overshoot_percent[e], seeds, &got);
                const double least = print_row(which, limit, overshoot_percent[e], &got);
                const bool holds = kept && least >= floor_part && got.all >= utilisation_least;
                rows_add(&rows, holds, "%s, %s, E = %" PRIu64 "%%: each gets its part", limits[limit].name,
                         cases[which].name, overshoot_percent[e]);
            }
    free(list);
    return rows_end(&rows);
}
