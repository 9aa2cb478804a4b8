/*
 * Demand that sits where the weight does not: what each node knows of what regions are asked for.
 *
 * A region that is held down by its weight must not look content, nor one whose refused clients ask again and again
 * like many. So each region counts as much as one bucket of its own would have given it. Held to: every node finds each
 * region's part of that within a tenth of the whole.
 */
#include "tests/sim/by_demand.h"

#include "tests/sim/one_key.h"
#include "tests/sim/rows.h"
#include "tests/sim/scenarios.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND UINT64_C(1000000000)

enum { NODES = 3, LOAD_SECONDS = 40, LIMIT_RATE = 100 };

static const double tolerance = 0.1;
static const double weights[NODES] = {0.1, 0.45, 0.45};

static const struct demand_scene {
    const char *name;
    double rate[NODES]; /* of requests, a second */
    bool grants, split;
} scenes[] = {
    {"80/10/10, 90/s", {72, 9, 9}, false, false},
    {"the same with grants", {72, 9, 9}, true, false},
    {"the same, a static split", {72, 9, 9}, false, true},
    {"80/10/10, 300/s", {240, 30, 30}, false, false},
    {"the same with grants", {240, 30, 30}, true, false},
    {"one asks again and again, 1000/s", {940, 30, 30}, false, false},
    {"the same with grants", {940, 30, 30}, true, false},
    {"even, 90/s", {30, 30, 30}, false, false},
    {"even, 3/s", {1, 1, 1}, false, false},
};

void demand_watch_sample(struct sim *sim)
{
    struct weights_report report;
    struct demand_watch *watch = sim->demand_watch;
    if (watch == NULL || sim->now_ns < watch->from_ns || sim->now_ns > watch->until_ns)
        return;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (sim->node[i].node == NULL)
            continue;
        node_weights(sim->node[i].node, &report);
        for (unsigned r = 0; r < sim->plan.regions; r++) {
            watch->given[i][r] += report.row[r].demand_tokens_per_s;
            watch->wanted[i][r] += report.row[r].wanted_tokens_per_s;
        }
    }
}

static double part_of(const double *parts, unsigned r)
{
    double sum = 0;
    for (unsigned i = 0; i < NODES; i++)
        sum += parts[i];
    return sum > 0 ? parts[r] / sum : 0;
}

/* The worst of all nodes' figures for the first region: by what was given, and by what was asked for. */
static void parts_found(const struct demand_watch *watch, const double *truth, double *given, double *asked)
{
    for (unsigned i = 0; i < NODES; i++) {
        double all[NODES];
        for (unsigned r = 0; r < NODES; r++)
            all[r] = watch->given[i][r] + watch->wanted[i][r];
        if (i == 0 || fabs(part_of(watch->given[i], 0) - part_of(truth, 0)) > fabs(*given - part_of(truth, 0)))
            *given = part_of(watch->given[i], 0);
        if (i == 0 || fabs(part_of(all, 0) - part_of(truth, 0)) > fabs(*asked - part_of(truth, 0)))
            *asked = part_of(all, 0);
    }
}

static void run_scene(struct sim *sim, struct load_list *list, const struct demand_scene *scene, uint64_t seed)
{
    static struct demand_watch watch;
    struct random random;
    const struct limit_terms terms = {.kind = LIMIT_BUCKET,
                                      .flags = scene->split ? LIMIT_SPLIT : 0,
                                      .capacity = LIMIT_RATE,
                                      .rate = LIMIT_RATE,
                                      .period_ns = SECOND};
    random_seed(&random, seed);
    list->count = 0;
    for (unsigned i = 0; i < NODES; i++)
        load_list_poisson(list, &random, i, scene->rate[i], 0, LOAD_SECONDS);
    load_list_sort(list);
    one_key_plan(sim, NODES, &terms, LOAD_SECONDS, seed);
    sim->plan.grants = scene->grants;
    for (unsigned i = 0; i < NODES; i++)
        sim->plan.weight[i] = (uint64_t)(weights[i] * (double)SHARE_ONE);
    watch = (struct demand_watch){.from_ns = one_key_begin_ns() + 5 * SECOND,
                                  .until_ns = one_key_begin_ns() + LOAD_SECONDS * SECOND};
    sim->demand_watch = &watch;
    (void)one_key_run(sim, list);
}

int by_demand_run(struct sim *sim, unsigned seeds, bool tap)
{
    struct load_list *list = calloc(1, sizeof *list);
    struct rows rows = {.tap = tap};
    if (list == NULL)
        return EXIT_FAILURE;
    for (size_t s = 0; s < sizeof scenes / sizeof scenes[0]; s++) {
        double truth[NODES], given = 0, asked = 0, worst = 0;
        for (unsigned i = 0; i < NODES; i++)
            truth[i] = fmin(scenes[s].rate[i], LIMIT_RATE);
        for (unsigned seed = 1; seed <= seeds; seed++) {
            run_scene(sim, list, &scenes[s], seed);
            parts_found(sim->demand_watch, truth, &given, &asked);
            worst = fmax(worst, fabs(asked - part_of(truth, 0)));
        }
        printf("# %-34s part of the first region %.3f, as given %.3f, as asked for %.3f\n", scenes[s].name,
               part_of(truth, 0), given, asked);
        rows_add(&rows, worst <= tolerance, "%s: all nodes know what its first region is asked for",
                 scenes[s].name);
    }
    free(list);
    return rows_end(&rows);
}
