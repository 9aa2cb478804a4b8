#include "tests/sim/one_key.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

static const uint64_t begin_ns = 3 * SECOND;

uint64_t one_key_begin_ns(void)
{
    return begin_ns;
}

void load_list_add(struct load_list *list, double seconds, unsigned node)
{
    if (list->count < ONE_KEY_ARRIVALS_MAX)
        list->arrival[list->count++] =
            (struct arrival){.at_ns = begin_ns + (uint64_t)(seconds * 1e9), .node = (uint8_t)node};
}

void load_list_poisson(struct load_list *list, struct random *random, unsigned node, double rate, double from,
                       double to)
{
    double at = from;
    while (rate > 0 && (at -= log(1 - random_unit(random)) / rate) <= to)
        load_list_add(list, at, node);
}

static int by_time(const void *left, const void *right)
{
    const struct arrival *a = left, *b = right;
    if (a->at_ns != b->at_ns)
        return a->at_ns < b->at_ns ? -1 : 1;
    return (a->node > b->node) - (a->node < b->node);
}

void load_list_sort(struct load_list *list)
{
    qsort(list->arrival, list->count, sizeof list->arrival[0], by_time);
}

void one_key_plan(struct sim *sim, unsigned nodes, const struct limit_terms *terms, unsigned load_seconds,
                  uint64_t seed)
{
    struct plan *plan = &sim->plan;
    sim_clear(sim);
    plan->seed = seed;
    plan->nodes = plan->regions = nodes;
    plan->keys = 1;
    plan->key[0].id = (struct key_id){0x1234, 0x5678};
    (void)limits_add_terms(&plan->limits, "scenario", terms);
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
    plan->jitter = 32768; /* +-50% */
    plan->safety_ns = begin_ns + (load_seconds + 1) * SECOND;
    sim->quiet_laws = true;
}

double one_key_ideal(const struct load_list *list, const struct limit_terms *terms)
{
    double capacity = (double)terms->capacity, rate = (double)terms->rate / (double)terms->period_ns;
    double tokens = capacity, admitted = 0;
    uint64_t at_ns = begin_ns;
    for (size_t i = 0; i < list->count; i++) {
        tokens = fmin(capacity, tokens + (double)(list->arrival[i].at_ns - at_ns) * rate);
        at_ns = list->arrival[i].at_ns;
        if (tokens >= 1) {
            tokens--;
            admitted++;
        }
    }
    return admitted;
}

double one_key_run(struct sim *sim, const struct load_list *list)
{
    sim->arrivals = list->arrival;
    sim->arrival_count = list->count;
    if (!sim_run(sim)) {
        printf("# %s\n", sim->failure);
        return HUGE_VAL;
    }
    const struct limit *limit = &sim->plan.limits.limit[0];
    return (double)-(sim->truth[0].worst + truth_rounding_units(limit)) / (double)limit->units_per_token;
}
