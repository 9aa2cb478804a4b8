/*
 * One of three even regions is gone for good: what the two others admit while they wait for its word, once it is
 * forgotten (docs/operations.md, "Forgetting"), and once it is taken over. Nobody takes its share in any case. While it
 * is waited for nothing settles, and each lives on its own share, all of which it has, since charges wait
 * (cluster/apply/uncharged.h), and on what the other one grants. Without it the two settle among themselves, and may
 * use the whole limit, less, after a takeover, what it may have spent unheard.
 */
#include "tests/sim/one_key.h"
#include "tests/sim/rows.h"
#include "tests/sim/scenarios.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum { NODES = 3, CAPACITY = 100, RATE = 100, ARRIVALS_MAX = 16384, LOADS = 2, OVERSHOOTS = 2 };
enum remedy { WAITED_FOR, FORGOTTEN, TAKEN_OVER };

/* The first two regions are there; the third one is out of reach before the load begins, or never starts. */
static const uint64_t begin_ns = 8 * SECOND, load_ns = 20 * SECOND, forgotten_ns = 3 * SECOND,
                      taken_ns = 2 * SECOND, away_ns = 4 * SECOND;
static const double demand = 2, utilisation_least = 0.95, waited_for_most = 0.75;
static const double waited_for_least[] = {0.64,
                                          0.59}; /* by load: two thirds, of which some decays where one asks */
static const char *const load_names[LOADS] = {"even load", "one region only"};
static const uint64_t overshoots[OVERSHOOTS] = {0, 20};

struct arrivals {
    struct arrival arrival[ARRIVALS_MAX];
    size_t count;
    double ideal; /* what one bucket would admit */
};

static void draw(struct arrivals *list, unsigned load, uint64_t seed)
{
    struct random random;
    double at = 0, before = 0, tokens = CAPACITY;
    random_seed(&random, seed);
    list->count = 0;
    list->ideal = 0;
    while ((at -= log(1 - random_unit(&random)) / (demand * RATE)) * 1e9 < (double)load_ns &&
           list->count < ARRIVALS_MAX) {
        tokens = fmin(CAPACITY, tokens + (at - before) * RATE);
        before = at;
        list->ideal += tokens >= 1;
        tokens -= tokens >= 1;
        uint8_t node = load == 0 ? (uint8_t)random_below(&random, NODES - 1) : 0;
        list->arrival[list->count++] = (struct arrival){begin_ns + (uint64_t)(at * 1e9), node};
    }
}

static void plan_world(struct sim *sim, uint64_t overshoot, uint64_t seed, enum remedy remedy)
{
    struct plan *plan = &sim->plan;
    const struct limit_terms terms = {.capacity = CAPACITY,
                                      .rate = RATE,
                                      .period_ns = SECOND,
                                      .overshoot = overshoot};
    one_key_plan(sim, NODES, &terms, 0, seed);
    plan->silent_after_ns = SECOND;
    plan->grants = true;
    plan->safety_ns = begin_ns + load_ns;
    for (unsigned i = 0; i + 1 < NODES && remedy != FORGOTTEN; i++)
        sim->link[i][NODES - 1] = sim->link[NODES - 1][i] =
            (struct link){.cut_from_ns = away_ns, .cut_until_ns = UINT64_MAX};
    if (remedy == FORGOTTEN)
        plan->node[NODES - 1].start_ns = begin_ns + 2 * load_ns;
    plan->forget_after_ns = remedy == FORGOTTEN ? forgotten_ns : 0;
    plan->takeover_after_ns = remedy == TAKEN_OVER ? taken_ns : 0;
}

/* The part of what one bucket would admit. HUGE_VAL: more was spent than is declared. */
static double measure(struct sim *sim, struct arrivals *list, unsigned load, uint64_t overshoot, unsigned seeds,
                      enum remedy remedy)
{
    double utilisation = 0;
    for (unsigned seed = 1; seed <= seeds; seed++) {
        draw(list, load, seed);
        plan_world(sim, overshoot, seed, remedy);
        sim->arrivals = list->arrival;
        sim->arrival_count = list->count;
        bool ran = sim_run(sim);
        const struct limit *limit = &sim->plan.limits.limit[0];
        if (!ran || sim->truth[0].worst < -limit->overshoot_units - truth_rounding_units(limit))
            return HUGE_VAL;
        utilisation += (double)sim->truth[0].admitted_tokens / list->ideal / seeds;
    }
    return utilisation;
}

int gone_run(struct sim *sim, unsigned seeds, bool tap)
{
    struct arrivals *list = calloc(1, sizeof *list);
    struct rows rows = {.tap = tap};
    if (list == NULL)
        return EXIT_FAILURE;
    for (unsigned load = 0; load < LOADS; load++)
        for (unsigned e = 0; e < OVERSHOOTS; e++) {
            double waited_for = measure(sim, list, load, overshoots[e], seeds, WAITED_FOR);
            double forgotten = measure(sim, list, load, overshoots[e], seeds, FORGOTTEN);
            double taken_over = measure(sim, list, load, overshoots[e], seeds, TAKEN_OVER);
            bool holds = waited_for >= waited_for_least[load] && waited_for <= waited_for_most &&
                         forgotten >= utilisation_least && forgotten < 2 && taken_over >= utilisation_least &&
                         taken_over < 2;
            printf("# %s at %.0f times the limit, declared %" PRIu64 ": waited for %.3f, forgotten %.3f, taken "
                   "over %.3f\n",
                   load_names[load], demand, overshoots[e], waited_for, forgotten, taken_over);
            rows_add(&rows, holds, "%s, declared %" PRIu64 ": without the region that is gone they use the limit",
                     load_names[load], overshoots[e]);
        }
    free(list);
    return rows_end(&rows);
}
