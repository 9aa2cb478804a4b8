/*
 * The reference model's scenarios (one key, C = 100, R = 100/s, interval 100 ms, latency 40 ms) with the
 * real node: declared overshoot never exceeded, utilisation no worse than the model's own.
 */
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

enum {
    CAPACITY = 100,
    RATE = 100,
    LOAD_SECONDS = 20,
    NETWORKS = 4,
    LOADS = 7,
    ARRIVALS_MAX = 65536,
};

#include "tests/sim/floors.h"

/* Arrivals are drawn by another generator than the model's, and averaged over other seeds. */
static const double tolerance = 0.01;
/* Everyone is active before the load begins. */
static const uint64_t begin_ns = 3 * SECOND;

static const char *const network_names[NETWORKS] = {"clean", "loss 20% dup 20% jitter", "region 0 cut off 5..15 s",
                                                    "one-way cut 0->1 5..15 s"};
static const char *const load_names[LOADS] = {
    "even load, 2x the limit",      "even load, 10x the limit", "one region only, 2x",
    "one region only, 0.9x",        "80/20 skew, 3x",           "burst of C everywhere each s",
    "one burst of C in one region",
};
static const uint64_t overshoots[3] = {0, 20, 100};

struct load_list {
    struct arrival arrival[ARRIVALS_MAX];
    size_t count;
};

struct figures {
    double utilisation, overshoot;
    uint64_t per_peer[SIM_NODES_MAX];
};

static void add(struct load_list *list, double seconds, unsigned node)
{
    if (list->count < ARRIVALS_MAX)
        list->arrival[list->count++] =
            (struct arrival){.at_ns = begin_ns + (uint64_t)(seconds * 1e9), .node = (uint8_t)node};
}

static void poisson(struct load_list *list, struct random *random, unsigned node, double rate)
{
    double at = 0;
    while (rate > 0 && (at -= log(1 - random_unit(random)) / rate) <= LOAD_SECONDS)
        add(list, at, node);
}

static void burst(struct load_list *list, unsigned nodes, double at)
{
    for (int k = 0; k < CAPACITY; k++)
        for (unsigned i = 0; i < nodes; i++)
            add(list, at + k * 0.0005, i);
}

static int by_time(const void *left, const void *right)
{
    const struct arrival *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
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
        poisson(list, &random, i, of_load[load]);
    }
    for (int second = 0; load == 5 && second < LOAD_SECONDS; second++)
        burst(list, nodes, second + 0.01);
    if (load == 6)
        burst(list, 1, 0.01);
    qsort(list->arrival, list->count, sizeof list->arrival[0], by_time);
}

static void cut(struct sim *sim, unsigned from, unsigned to)
{
    sim->link[from][to].cut_from_ns = begin_ns + 5 * SECOND;
    sim->link[from][to].cut_until_ns = begin_ns + 15 * SECOND;
}

static void fill_plan(struct sim *sim, unsigned nodes, unsigned network, uint64_t overshoot, uint64_t seed)
{
    struct plan *plan = &sim->plan;
    sim_clear(sim);
    plan->seed = seed;
    plan->nodes = plan->regions = nodes;
    plan->keys = 1;
    plan->key[0].id = (struct key_id){0x1234, 0x5678};
    (void)limits_add(&plan->limits, "scenario", CAPACITY, RATE, SECOND, overshoot);
    for (unsigned i = 0; i < nodes; i++) {
        plan->weight[i] = SHARE_ONE / nodes;
        plan->node[i] = (struct plan_node){.region = (uint8_t)i, .clock_ns = SECOND * i, .start_ns = 7 * MS * i};
        for (unsigned j = 0; j < nodes; j++)
            plan->latency_ns[i][j] = 40 * MS;
    }
    plan->latency_max_ns = 40 * MS;
    plan->interval_ns = 100 * MS;
    plan->silent_after_ns = 2 * SECOND;
    plan->join_timeout_ns = SECOND;
    plan->leave_timeout_ns = SECOND;
    plan->table_keys = 1024;
    plan->log_keys_max = 65536;
    plan->message_max_bytes = 1 << 20;
    plan->jitter = network == 1 ? 58982 : 32768; /* +-90%, else +-50% */
    plan->loss = plan->duplicate = network == 1 ? 13107 : 0;
    plan->safety_ns = begin_ns + (LOAD_SECONDS + 1) * SECOND;
    for (unsigned i = 1; network == 2 && i < nodes; i++) {
        cut(sim, 0, i);
        cut(sim, i, 0);
    }
    if (network == 3)
        cut(sim, 0, 1);
    sim->quiet_laws = true;
}

/* What one bucket with no cluster would have admitted. */
static double ideal(const struct load_list *list)
{
    double tokens = CAPACITY, admitted = 0;
    uint64_t at_ns = begin_ns;
    for (size_t i = 0; i < list->count; i++) {
        tokens = fmin(CAPACITY, tokens + (double)(list->arrival[i].at_ns - at_ns) * RATE / 1e9);
        at_ns = list->arrival[i].at_ns;
        if (tokens >= 1) {
            tokens--;
            admitted++;
        }
    }
    return admitted;
}

static void measure(struct sim *sim, struct load_list *list, unsigned nodes, unsigned network, unsigned load,
                    unsigned seeds, uint64_t overshoot, struct figures *figures)
{
    *figures = (struct figures){0};
    for (unsigned seed = 1; seed <= seeds; seed++) {
        fill_load(list, load, nodes, seed);
        fill_plan(sim, nodes, network, overshoot, seed);
        sim->arrivals = list->arrival;
        sim->arrival_count = list->count;
        if (!sim_run(sim)) {
            printf("# %s\n", sim->failure);
            figures->overshoot = HUGE_VAL;
        }
        const struct limit *limit = &sim->plan.limits.limit[0];
        double worst =
            (double)-(sim->truth[0].worst + truth_rounding_units(limit)) / (double)limit->units_per_token;
        figures->overshoot = fmax(figures->overshoot, worst);
        figures->utilisation += (double)sim->truth[0].admitted_tokens / ideal(list) / seeds;
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
                            unsigned seeds)
{
    unsigned nodes = size == 0 ? 3 : 5, broken = 0;
    for (unsigned load = 0; load < LOADS; load++)
        for (unsigned e = 0; e < 3; e++) {
            struct figures figures;
            double floor = floors[size][network][load][e] < 1 ? floors[size][network][load][e] : 1;
            measure(sim, list, nodes, network, load, seeds, overshoots[e], &figures);
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

int scenarios_run(struct sim *sim, unsigned seeds, bool tap)
{
    struct load_list *list = calloc(1, sizeof *list);
    unsigned broken = 0, tests = 0;
    if (list == NULL)
        return EXIT_FAILURE;
    for (unsigned size = 0; size < 2; size++)
        for (unsigned network = 0; network < NETWORKS; network++) {
            unsigned here = run_network(sim, list, size, network, seeds);
            broken += here;
            if (tap)
                printf(
                    "%sok %u - %d nodes, %s: within the declared overshoot, utilisation as good as the model's\n",
                    here > 0 ? "not " : "", ++tests, size == 0 ? 3 : 5, network_names[network]);
            (void)fflush(stdout);
        }
    if (tap)
        printf("1..%u\n", tests);
    printf("# %d scenarios, mean of %u seeds: %u broken\n", 2 * NETWORKS * LOADS * 3, seeds, broken);
    free(list);
    return broken > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
