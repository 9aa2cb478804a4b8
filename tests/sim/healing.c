/*
 * After a healed cut, lawful users go on. One of three even regions is cut off for 75 s; 0.8 of the limit is asked for
 * in all of them together, evenly, so that one bucket would refuse next to nothing. What refill has paid off of the
 * spends of the cut must not be owed once more when they are told at last (docs/accounting.md, "What is set aside").
 *
 * Counted is who is refused in the first 1, 10 and 30 s after healing, though one bucket would have admitted him; and
 * beside it, in the same arrivals, without any cut.
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

enum {
    NODES = 3,
    LIMITS = 3,
    OVERSHOOTS = 4,
    ARRIVALS_MAX = 16384,
};

/* Of the lawful, in the first second and in the first ten. */
static const unsigned refused_percent_max[2] = {20, 2};

static const uint64_t begin_ns = 3 * SECOND, cut_ns = 20 * SECOND, cut_for_ns = 75 * SECOND, after_ns = 30 * SECOND;
static const double demand = 0.8;
static const unsigned percents[OVERSHOOTS] = {0, 20, 100, 300};
static const uint64_t windows_ns[HEALING_WINDOWS] = {1 * SECOND, 10 * SECOND, 30 * SECOND};

static const struct {
    const char *name;
    uint64_t capacity, rate, period_ns;
} limits[LIMITS] = {
    {"20, 2/s", 20, 2, 1 * SECOND},
    {"100, 100/s", 100, 100, 1 * SECOND},
    {"100, 100/m", 100, 100, 60 * SECOND},
};

struct arrivals {
    struct arrival arrival[ARRIVALS_MAX];
    bool lawful[ARRIVALS_MAX]; /* one bucket would admit it */
    size_t count;
};

static double rate_per_s(unsigned limit)
{
    return (double)limits[limit].rate * 1e9 / (double)limits[limit].period_ns;
}

static void draw(struct arrivals *list, unsigned limit, uint64_t seed)
{
    struct random random;
    double at = 0, tokens = (double)limits[limit].capacity, before = 0, rate = rate_per_s(limit);
    random_seed(&random, seed);
    list->count = 0;
    while ((at -= log(1 - random_unit(&random)) / (demand * rate)) * 1e9 <
           (double)(cut_ns + cut_for_ns + after_ns)) {
        if (list->count == ARRIVALS_MAX)
            return;
        tokens = fmin((double)limits[limit].capacity, tokens + (at - before) * rate);
        before = at;
        list->lawful[list->count] = tokens >= 1;
        tokens -= tokens >= 1;
        list->arrival[list->count++] =
            (struct arrival){begin_ns + (uint64_t)(at * 1e9), (uint8_t)random_below(&random, NODES)};
    }
}

static void plan_world(struct sim *sim, unsigned limit, uint64_t overshoot, uint64_t seed, bool cut)
{
    struct plan *plan = &sim->plan;
    const struct limit_terms terms = {.capacity = limits[limit].capacity,
                                      .rate = limits[limit].rate,
                                      .period_ns = limits[limit].period_ns,
                                      .overshoot = overshoot};
    one_key_plan(sim, NODES, &terms, 0, seed);
    plan->silent_after_ns = SECOND;
    plan->safety_ns = begin_ns + cut_ns + cut_for_ns + after_ns;
    for (unsigned i = 1; cut && i < NODES; i++)
        sim->link[0][i] = sim->link[i][0] =
            (struct link){.cut_from_ns = begin_ns + cut_ns, .cut_until_ns = begin_ns + cut_ns + cut_for_ns};
}

void healing_note(struct sim *sim, bool allowed)
{
    struct healing *healing = sim->healing;
    size_t index = healing->asked_count++;
    for (unsigned w = 0; w < HEALING_WINDOWS; w++) {
        if (sim->now_ns < healing->from_ns || sim->now_ns >= healing->from_ns + windows_ns[w])
            continue;
        healing->asked[w]++;
        healing->refused[w] += !allowed && healing->lawful[index];
    }
}

/* False: more was spent than is declared. */
static bool run(struct sim *sim, const struct arrivals *list, struct healing *healing)
{
    healing->from_ns = begin_ns + cut_ns + cut_for_ns;
    healing->lawful = list->lawful;
    healing->asked_count = 0;
    sim->healing = healing;
    sim->arrivals = list->arrival;
    sim->arrival_count = list->count;
    bool ran = sim_run(sim);
    const struct limit *limit = &sim->plan.limits.limit[0];
    return ran && sim->truth[0].worst >= -limit->overshoot_units - truth_rounding_units(limit);
}

static bool measure(struct sim *sim, struct arrivals *list, unsigned limit, unsigned percent, unsigned seeds)
{
    struct healing healed = {0}, uncut = {0};
    uint64_t overshoot = limits[limit].capacity * percent / 100;
    bool within = true;
    for (unsigned seed = 1; seed <= seeds; seed++) {
        draw(list, limit, seed);
        plan_world(sim, limit, overshoot, seed, true);
        within &= run(sim, list, &healed);
        plan_world(sim, limit, overshoot, seed, false);
        within &= run(sim, list, &uncut);
    }
    bool few = true;
    for (unsigned w = 0; w < 2; w++)
        few &= 100 * healed.refused[w] <= refused_percent_max[w] * healed.asked[w];
    printf("# %-10s declared %3u%%: refused", limits[limit].name, percent);
    for (unsigned w = 0; w < HEALING_WINDOWS; w++)
        printf("%s %" PRIu64 " of %" PRIu64 " (%" PRIu64 ") in %" PRIu64 " s", w > 0 ? "," : "", healed.refused[w],
               healed.asked[w], uncut.refused[w], windows_ns[w] / SECOND);
    printf("%s%s\n", few ? "" : "   <-- TOO MANY", within ? "" : "   <-- EXCEEDED");
    return few && within;
}

int healing_run(struct sim *sim, unsigned seeds, bool tap)
{
    struct arrivals *list = calloc(1, sizeof *list);
    struct rows rows = {.tap = tap};
    if (list == NULL)
        return EXIT_FAILURE;
    for (unsigned limit = 0; limit < LIMITS; limit++) {
        bool holds = true;
        for (unsigned e = 0; e < OVERSHOOTS; e++)
            holds &= measure(sim, list, limit, percents[e], seeds);
        rows_add(&rows, holds, "after a healed cut lawful users of %s go on, within the declared overshoot",
                 limits[limit].name);
    }
    free(list);
    return rows_end(&rows);
}
