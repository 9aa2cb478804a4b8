/*
 * The reference model's scenarios (one key, C = 100, R = 100/s, interval 100 ms, latency 40 ms) with the
 * real node: declared overshoot never exceeded, utilisation no worse than the model's own.
 */
#include "tests/sim/scenarios.h"
#include "tests/sim/one_key.h"
#include "tests/sim/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define SECOND UINT64_C(1000000000)

enum {
    CAPACITY = 100,
    RATE = 100,
    LOAD_SECONDS = 20,
    NETWORKS = 4,
    LOADS = 7,
};

#include "tests/sim/floors.h"

/* Arrivals are drawn by another generator than the model's, and averaged over other seeds. */
static const double tolerance = 0.01;

static const char *const network_names[NETWORKS] = {"clean", "loss 20% dup 20% jitter", "region 0 cut off 5..15 s",
                                                    "one-way cut 0->1 5..15 s"};
static const char *const load_names[LOADS] = {
    "even load, 2x the limit",      "even load, 10x the limit", "one region only, 2x",
    "one region only, 0.9x",        "80/20 skew, 3x",           "burst of C everywhere each s",
    "one burst of C in one region",
};
static const uint64_t overshoots[3] = {0, 20, 100};

struct figures {
    double utilisation, overshoot;
    uint64_t per_peer[SIM_NODES_MAX];
};

static void burst(struct load_list *list, unsigned nodes, double at)
{
    for (int k = 0; k < CAPACITY; k++)
        for (unsigned i = 0; i < nodes; i++)
            load_list_add(list, at + k * 0.0005, i);
}

static void fill_load(struct load_list *list, unsigned load, unsigned nodes, uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    list->count = 0;
    for (unsigned i = 0; i < nodes; i++) {
        const double of_load[] = {2.0 * RATE / nodes,
                                  10.0 * RATE / nodes,
                                  i == 0 ? 2.0 * RATE : 0,
                                  i == 0 ? 0.9 * RATE : 0,
                                  i == 0 ? 2.4 * RATE : 0.6 * RATE / (nodes - 1),
                                  0,
                                  0};
        load_list_poisson(list, &random, i, of_load[load], 0, LOAD_SECONDS);
    }
    for (int second = 0; load == 5 && second < LOAD_SECONDS; second++)
        burst(list, nodes, second + 0.01);
    if (load == 6)
        burst(list, 1, 0.01);
    load_list_sort(list);
}

static void cut(struct sim *sim, unsigned from, unsigned to)
{
    sim->link[from][to].cut_from_ns = one_key_begin_ns() + 5 * SECOND;
    sim->link[from][to].cut_until_ns = one_key_begin_ns() + 15 * SECOND;
}

static struct limit_terms terms_of(uint64_t overshoot)
{
    return (struct limit_terms){.kind = LIMIT_BUCKET,
                                .capacity = CAPACITY,
                                .rate = RATE,
                                .period_ns = SECOND,
                                .overshoot = overshoot};
}

static void fill_plan(struct sim *sim, unsigned nodes, unsigned network, uint64_t overshoot, uint64_t seed)
{
    const struct limit_terms terms = terms_of(overshoot);
    one_key_plan(sim, nodes, &terms, LOAD_SECONDS, seed);
    if (network == 1) {
        sim->plan.jitter = 58982; /* +-90% */
        sim->plan.loss = sim->plan.duplicate = 13107;
    }
    for (unsigned i = 1; network == 2 && i < nodes; i++) {
        cut(sim, 0, i);
        cut(sim, i, 0);
    }
    if (network == 3)
        cut(sim, 0, 1);
}

static void measure(struct sim *sim, struct load_list *list, unsigned nodes, unsigned network, unsigned load,
                    const struct scenario_options *options, uint64_t overshoot, struct figures *figures)
{
    const struct limit_terms terms = terms_of(overshoot);
    *figures = (struct figures){0};
    for (unsigned seed = 1; seed <= options->seeds; seed++) {
        fill_load(list, load, nodes, seed);
        fill_plan(sim, nodes, network, overshoot, seed);
        sim->plan.grants = options->grants;
        figures->overshoot = fmax(figures->overshoot, one_key_run(sim, list));
        figures->utilisation +=
            (double)sim->truth[0].admitted_tokens / one_key_ideal(list, &terms) / options->seeds;
        for (unsigned i = 0; i < nodes; i++)
            figures->per_peer[i] = sim->node[i].admitted_requests;
    }
}

static void print_row(unsigned nodes, unsigned network, unsigned load, unsigned e, const struct figures *figures,
                      double floor, const char *verdict)
{
    printf("# N=%u %-24s %-29s declared %-3" PRIu64 " overshoot %-6.2f utilisation %.4f floor %.4f [", nodes,
           network_names[network], load_names[load], overshoots[e], fmax(0, figures->overshoot),
           figures->utilisation, floor);
    for (unsigned i = 0; i < nodes; i++)
        printf("%s%" PRIu64, i > 0 ? ", " : "", figures->per_peer[i]);
    printf("]%s\n", verdict);
}

/* Returns how many of the rows of one cluster size and network break a promise. */
static unsigned run_network(struct sim *sim, struct load_list *list, unsigned size, unsigned network,
                            const struct scenario_options *options)
{
    unsigned nodes = size == 0 ? 3 : 5, broken = 0;
    for (unsigned load = 0; load < LOADS; load++)
        for (unsigned e = 0; e < 3; e++) {
            struct figures figures;
            double floor = floors[size][network][load][e] < 1 ? floors[size][network][load][e] : 1;
            measure(sim, list, nodes, network, load, options, overshoots[e], &figures);
            bool exceeded = figures.overshoot > (double)overshoots[e];
            bool missed = figures.utilisation < floor - tolerance;
            broken += exceeded || missed;
            print_row(nodes, network, load, e, &figures, floor,
                      exceeded ? "   <-- EXCEEDED"
                      : missed ? "   <-- BELOW"
                               : "");
        }
    return broken;
}

int scenarios_run(struct sim *sim, const struct scenario_options *options)
{
    struct load_list *list = calloc(1, sizeof *list);
    unsigned broken = 0;
    struct rows rows = {.tap = options->tap};
    if (list == NULL)
        return EXIT_FAILURE;
    for (unsigned size = 0; size < 2; size++)
        for (unsigned network = 0; network < NETWORKS; network++) {
            unsigned here = run_network(sim, list, size, network, options);
            broken += here;
            rows_add(&rows, here == 0,
                     "%d nodes, %s: within the declared overshoot, utilisation as good as the model's",
                     size == 0 ? 3 : 5, network_names[network]);
        }
    printf("# %d scenarios, mean of %u seeds: %u broken\n", 2 * NETWORKS * LOADS * 3, options->seeds, broken);
    free(list);
    return rows_end(&rows);
}
