/*
 * What weights that follow demand bring: demand that sits in a region of small weight, moves each hour or each minute,
 * with a cut between, on the same arrivals with fixed weights and with such that follow. Ten minutes are 10 s here: an
 * hour is a minute, a minute a second. Held to: no less is admitted than with fixed weights, nothing beyond the limit
 * (a static split has no such bound across a raise), and demand that is even, or swings each minute, changes next to
 * nothing (ten minutes do not hold three of them evenly).
 */
#include "tests/sim/one_key.h"
#include "tests/sim/rows.h"
#include "tests/sim/scenarios.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND UINT64_C(1000000000)

enum {
    NODES = 3,
    HOURS = 4,
    HOUR_S = 60,
    LOAD_SECONDS = HOURS * HOUR_S,
    LIMIT_RATE = 100,
    PERIOD_S = 10,
    VERSIONS_FEW = 2
};

/* Of what one bucket admits: by so much may a mean of few runs differ. */
static const double tolerance = 0.02;

enum moves { STAYS, EACH_HOUR, EACH_MINUTE };

static const struct follow_scene {
    const char *name;
    double rate; /* of all requests, a second */
    double part; /* of these in the region where most are */
    enum moves moves;
    bool even, split, grants, cut; /* even: weights; else 0.1, 0.45, 0.45 */
    bool none;                     /* next to no version may be made: VERSIONS_FEW */
} scenes[] = {
    {.name = "stays, 90/s", .rate = 90, .part = 0.8},
    {.name = "stays, 200/s", .rate = 200, .part = 0.8},
    {.name = "stays, 200/s, grants", .rate = 200, .part = 0.8, .grants = true},
    {.name = "stays, 90/s, static split", .rate = 90, .part = 0.8, .split = true},
    {.name = "stays, 200/s, static split", .rate = 200, .part = 0.8, .split = true},
    {.name = "moves each hour, 90/s", .rate = 90, .part = 0.8, .moves = EACH_HOUR, .even = true},
    {.name = "moves each hour, 200/s, static split",
     .rate = 200,
     .part = 0.8,
     .moves = EACH_HOUR,
     .even = true,
     .split = true},
    {.name = "moves each hour, static split, a cut",
     .rate = 200,
     .part = 0.8,
     .moves = EACH_HOUR,
     .even = true,
     .split = true,
     .cut = true},
    {.name = "moves each minute, 90/s", .rate = 90, .part = 0.8, .moves = EACH_MINUTE, .even = true, .none = true},
    {.name = "moves each minute, static split",
     .rate = 90,
     .part = 0.8,
     .moves = EACH_MINUTE,
     .even = true,
     .split = true,
     .none = true},
    {.name = "even, 200/s", .rate = 200, .part = 1.0 / 3, .even = true, .none = true},
};

static void fill_load(struct load_list *list, const struct follow_scene *scene, uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    list->count = 0;
    for (unsigned second = 0; second < LOAD_SECONDS; second++) {
        const unsigned at = scene->moves == EACH_HOUR     ? second / HOUR_S % NODES
                            : scene->moves == EACH_MINUTE ? second % NODES
                                                          : 0;
        for (unsigned i = 0; i < NODES; i++) {
            const double part = i == at ? scene->part : (1 - scene->part) / (NODES - 1);
            load_list_poisson(list, &random, i, scene->rate * part, second, second + 1);
        }
    }
    load_list_sort(list);
}

static struct limit_terms terms_of(const struct follow_scene *scene)
{
    return (struct limit_terms){.kind = LIMIT_BUCKET,
                                .flags = scene->split ? LIMIT_SPLIT : 0,
                                .capacity = LIMIT_RATE,
                                .rate = LIMIT_RATE,
                                .period_ns = SECOND};
}

/* The last region is cut off for half of the second hour. */
static void cut(struct sim *sim)
{
    for (unsigned i = 0; i + 1 < NODES; i++) {
        struct link *const links[] = {&sim->link[i][NODES - 1], &sim->link[NODES - 1][i]};
        for (unsigned l = 0; l < 2; l++) {
            links[l]->cut_from_ns = one_key_begin_ns() + HOUR_S * SECOND;
            links[l]->cut_until_ns = one_key_begin_ns() + HOUR_S * 3 / 2 * SECOND;
        }
    }
}

static void plan_scene(struct sim *sim, const struct follow_scene *scene, bool follows, uint64_t seed)
{
    static const double uneven[NODES] = {0.1, 0.45, 0.45};
    const struct limit_terms terms = terms_of(scene);
    one_key_plan(sim, NODES, &terms, LOAD_SECONDS, seed);
    for (unsigned i = 0; i < NODES && !scene->even; i++)
        sim->plan.weight[i] = (uint64_t)(uneven[i] * (double)SHARE_ONE);
    sim->plan.grants = scene->grants;
    if (scene->cut)
        cut(sim);
    if (follows) {
        sim->plan.weights = sim->plan.weights_alone = true;
        sim->plan.weights_by_demand_ns = PERIOD_S * SECOND;
    }
}

struct figures {
    double admitted[2], overshoot[2]; /* with fixed weights, and with such that follow */
    double versions, ideal;
};

static struct figures measure(struct sim *sim, struct load_list *list, const struct follow_scene *scene,
                              unsigned seeds)
{
    struct figures figures = {0};
    const struct limit_terms terms = terms_of(scene);
    for (unsigned seed = 1; seed <= seeds; seed++) {
        fill_load(list, scene, seed);
        figures.ideal += one_key_ideal(list, &terms) / seeds;
        for (unsigned follows = 0; follows < 2; follows++) {
            plan_scene(sim, scene, follows == 1, seed);
            figures.overshoot[follows] = fmax(figures.overshoot[follows], one_key_run(sim, list));
            figures.admitted[follows] += (double)sim->truth[0].admitted_tokens / seeds;
        }
        figures.versions += (double)sim->weights.by_demand / seeds;
    }
    return figures;
}

int follow_run(struct sim *sim, unsigned seeds, bool tap)
{
    struct load_list *list = calloc(1, sizeof *list);
    struct rows rows = {.tap = tap};
    if (list == NULL)
        return EXIT_FAILURE;
    for (size_t s = 0; s < sizeof scenes / sizeof scenes[0]; s++) {
        const struct follow_scene *scene = &scenes[s];
        const struct figures figures = measure(sim, list, scene, seeds);
        const double fixed = figures.admitted[0] / figures.ideal, follows = figures.admitted[1] / figures.ideal;
        const bool exceeded = !scene->split && (figures.overshoot[0] > 0 || figures.overshoot[1] > 0);
        printf("# %-38s %8.0f of one bucket: %.3f with fixed weights, %.3f by demand (%.1f versions, overshoot "
               "%.0f)\n",
               scene->name, figures.ideal, fixed, follows, figures.versions, figures.overshoot[1]);
        (void)fflush(stdout);
        rows_add(&rows,
                 !exceeded && follows >= fixed - tolerance && (!scene->none || figures.versions <= VERSIONS_FEW),
                 "%s: within the limit, no less than with fixed weights%s", scene->name,
                 scene->none ? ", and next to no version is made" : "");
    }
    free(list);
    return rows_end(&rows);
}
