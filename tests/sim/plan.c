#include "tests/sim/plan.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

const char *fault_name(enum fault_kind kind)
{
    static const char *const names[FAULT_KINDS] = {"one-way cuts", "cuts",   "partitions", "slow links", "pauses",
                                                   "crashes",      "leaves", "forgets",    "jumps",      "stalls"};
    return names[kind];
}

const char *load_shape_name(enum load_shape shape)
{
    static const char *const names[LOAD_SHAPES] = {"even", "skewed", "one region"};
    return names[shape];
}

uint64_t draw_between(struct random *random, uint64_t low, uint64_t high)
{
    assert(low <= high);
    return low + random_below(random, high - low + 1);
}

uint64_t draw_scale(struct random *random, uint64_t low, uint64_t high)
{
    assert(low >= 1 && low <= high);
    int low_bits = 63 - __builtin_clzll(low), high_bits = 63 - __builtin_clzll(high);
    int bits = low_bits + (int)random_below(random, (uint64_t)(high_bits - low_bits + 1));
    uint64_t from = (uint64_t)1 << bits, to = from + (from - 1);
    return draw_between(random, from > low ? from : low, to < high ? to : high);
}

bool draw_one_in(struct random *random, uint64_t one_in)
{
    return random_below(random, one_in) == 0;
}

/* A limit whose full bucket refills within a few intervals, or within many, or practically never. */
static void draw_limit(struct plan *plan, struct random *random, unsigned index)
{
    uint64_t capacity = draw_one_in(random, 5)    ? draw_between(random, 1, 12)
                        : draw_one_in(random, 12) ? draw_scale(random, 1000, 1000000)
                                                  : draw_between(random, 20, 400);
    uint64_t refill_ns;
    switch (random_below(random, 3)) {
    case 0:
        refill_ns = plan->interval_ns * draw_between(random, 1, 10);
        break;
    case 1:
        refill_ns = plan->interval_ns * draw_between(random, 10, 40);
        break;
    default:
        refill_ns = 3600 * SECOND * draw_between(random, 1, 24);
        break;
    }
    uint64_t rate = capacity, period_ns = refill_ns;
    if (draw_one_in(random, 2)) { /* the round numbers of a config, and coarser ticks */
        period_ns = draw_one_in(random, 2) ? SECOND : 60 * SECOND;
        __extension__ unsigned __int128 product = (unsigned __int128)capacity * period_ns;
        rate = (uint64_t)(product / refill_ns);
        rate = rate < 1 ? 1 : rate;
    }
    static const uint64_t overshoot_percent[] = {0, 0, 20, 100};
    uint64_t overshoot = capacity * overshoot_percent[random_below(random, 4)] / 100;
    char name[24];
    (void)snprintf(name, sizeof name, "limit-%u", index);
    while (!limits_add(&plan->limits, name, capacity, rate, period_ns, overshoot)) {
        capacity = capacity > 1 ? (capacity + 1) / 2 : 7; /* exact units would need too many bits, or have it */
    }
}

static void draw_weights(struct plan *plan, struct random *random)
{
    uint64_t parts[SIM_NODES_MAX], sum = 0;
    bool even = draw_one_in(random, 2);
    for (unsigned r = 0; r < plan->regions; r++)
        sum += parts[r] = even ? 1 : draw_between(random, 1, 10);
    for (unsigned r = 0; r < plan->regions; r++)
        plan->weight[r] = SHARE_ONE * parts[r] / sum;
}

static void draw_members(struct plan *plan, struct random *random)
{
    static const uint8_t sizes[] = {2, 2, 3, 3, 3, 3, 3, 4, 4, 5, 6, 7};
    plan->nodes = sizes[random_below(random, sizeof sizes)];
    plan->regions = draw_one_in(random, 3) ? (unsigned)draw_between(random, 1, plan->nodes) : plan->nodes;
    plan->seeds_only = draw_one_in(random, 8);
    bool staggered = draw_one_in(random, 3), drift = draw_one_in(random, 3);
    bool joiner = plan->nodes > 2 && draw_one_in(random, 5);
    for (unsigned i = 0; i < plan->nodes; i++) {
        struct plan_node *node = &plan->node[i];
        node->region = (uint8_t)(i < plan->regions ? i : random_below(random, plan->regions));
        node->drift_ppm = drift ? (int32_t)draw_between(random, 0, 1000) - 500 : 0;
        node->clock_ns =
            draw_one_in(random, 4) ? random_below(random, 1000) : draw_scale(random, 1, UINT64_C(1) << 50);
        node->start_ns =
            staggered ? random_below(random, 20 * plan->interval_ns) : random_below(random, plan->interval_ns);
        if (joiner && i == plan->nodes - 1) {
            node->unnamed = true;
            node->start_ns = plan->interval_ns * draw_between(random, 10, 60);
        }
    }
    draw_weights(plan, random);
}

/* Draws as for a setting that is gone, so that seeds draw the same plans as ever. */
static void draw_bygone(struct random *random)
{
    if (!draw_one_in(random, 2))
        (void)draw_scale(random, SHARE_ONE / 1000, SHARE_ONE);
}

static void draw_options(struct plan *plan, struct random *random)
{
    draw_bygone(random);
    plan->silent_after_ns = plan->interval_ns * draw_between(random, 5, 20) + 2 * plan->latency_max_ns;
    plan->join_timeout_ns = plan->interval_ns * draw_between(random, 10, 30) + 4 * plan->latency_max_ns;
    plan->forget_after_ns = 0;
    plan->leave_timeout_ns = plan->interval_ns * draw_between(random, 2, 20) + 2 * plan->latency_max_ns;
    plan->table_keys = draw_one_in(random, 5) ? draw_between(random, 1, 12) : 1024;
    plan->log_keys_max = draw_one_in(random, 4) ? draw_between(random, 256, 1024) : 16384;
    plan->message_max_bytes = UINT64_C(65536) << random_below(random, 3);
}

static void draw_network(struct plan *plan, struct random *random)
{
    plan->latency_max_ns = draw_one_in(random, 6)   ? 0
                           : draw_one_in(random, 4) ? draw_between(random, 1, 8 * plan->interval_ns)
                                                    : draw_scale(random, MS / 10, 2 * plan->interval_ns);
    if (plan->latency_max_ns > 200 * MS)
        plan->latency_max_ns = 200 * MS;
    bool equal = draw_one_in(random, 2);
    for (unsigned from = 0; from < SIM_NODES_MAX; from++)
        for (unsigned to = 0; to < SIM_NODES_MAX; to++)
            plan->latency_ns[from][to] =
                equal ? plan->latency_max_ns : random_below(random, plan->latency_max_ns + 1);
    plan->jitter = draw_one_in(random, 2) ? 0 : (uint32_t)random_below(random, 60000);
    plan->loss = draw_one_in(random, 2) ? 0 : (uint32_t)draw_scale(random, 600, 19660); /* to 30% */
    plan->duplicate = draw_one_in(random, 2) ? 0 : (uint32_t)draw_scale(random, 600, 20000);
    plan->in_order = draw_one_in(random, 2);
}

static void draw_faults(struct plan *plan, struct random *random)
{
    plan->faults = 0;
    if (!draw_one_in(random, 8))
        for (int kind = 0; kind < FAULT_KINDS; kind++)
            if (draw_one_in(random, kind >= FAULT_CRASH ? 4 : 3))
                plan->faults |= 1u << kind;
    plan->fault_gap_ns = plan->interval_ns * draw_scale(random, 2, 40);
    plan->fault_min_ns = plan->interval_ns * draw_between(random, 1, 5);
    plan->fault_max_ns = plan->fault_min_ns + plan->interval_ns * draw_scale(random, 1, 60);
    if (draw_one_in(random, 12))
        plan->corrupt = (uint32_t)draw_scale(random, 100, 20000);
}

static void draw_key_count(struct plan *plan, struct random *random)
{
    plan->keys = (unsigned)(draw_one_in(random, 3) ? 1 : draw_scale(random, 1, 40));
    if (plan->table_keys < SIM_KEYS_MAX) /* more keys than the smallest table holds */
        plan->keys = (unsigned)draw_between(random, SIM_KEYS_MAX / 2, SIM_KEYS_MAX);
}

/* A key's costs make its demand about demand_percent of its rate, or one capacity in 20 intervals if that is more. */
static void draw_keys(struct plan *plan, struct random *random)
{
    plan->demand_percent = draw_scale(random, 50, 1000);
    for (unsigned k = 0; k < plan->keys; k++) {
        struct plan_key *key = &plan->key[k];
        const struct limit *limit =
            &plan->limits.limit[key->limit = (uint16_t)random_below(random, plan->limits.count)];
        key->id = (struct key_id){random_u64(random), random_u64(random)};
        double per_ns = (double)limit->rate / (double)limit->period_ns;
        double least = (double)limit->capacity / (20.0 * (double)plan->interval_ns);
        double demand = (per_ns > least ? per_ns : least) * (double)plan->demand_percent / 100;
        double cost = demand * (double)plan->arrival_gap_ns * plan->keys / plan->nodes;
        key->skip = cost < 1 ? (uint32_t)((1 - cost) * 65536) : 0;
        key->cost_max = cost < 1 ? 1 : (uint64_t)(2 * cost - 1);
        if (key->cost_max > limit->capacity)
            key->cost_max = limit->capacity;
        if (draw_one_in(random, 8))
            key->cost_max = 1 + random_below(random, limit->capacity);
    }
}

static void draw_load(struct plan *plan, struct random *random)
{
    plan->shape = (enum load_shape)random_below(random, LOAD_SHAPES);
    plan->bursts = draw_one_in(random, 3);
    plan->gaps = draw_one_in(random, 3);
    plan->greedy = draw_one_in(random, 3);
    plan->arrival_gap_ns = plan->interval_ns / draw_between(random, 1, 8);
    draw_key_count(plan, random);
    draw_keys(plan, random);
}

/* Few keys, all nodes taking all they may, and a network that tells the one thing before the other. */
static void draw_attack(struct plan *plan, struct random *random)
{
    plan->keys = (unsigned)draw_between(random, 1, 2);
    plan->shape = LOAD_EVEN;
    plan->greedy = true;
    plan->arrival_gap_ns = plan->interval_ns / draw_between(random, 1, 16);
    (void)draw_one_in(random, 2);
    for (unsigned from = 0, quick = draw_one_in(random, 2) ? 50 : 1; from < SIM_NODES_MAX; from++)
        for (unsigned to = 0; to < SIM_NODES_MAX; to++)
            plan->latency_ns[from][to] /= quick;
    plan->loss = (uint32_t)draw_between(random, 0, 19660);
    plan->jitter = (uint32_t)draw_between(random, 30000, 60000);
    plan->in_order = false;
    plan->table_keys = 1024;
    plan->faults |= 1u << FAULT_SLOW_LINK | 1u << FAULT_CUT_ONE_WAY;
    draw_keys(plan, random);
}

/* Of which the least part more than the capacity may be admitted. */
static uint16_t strictest(const struct plan *plan)
{
    uint16_t best = 0;
    for (uint16_t l = 1; l < plan->limits.count; l++) {
        const struct limit *limit = &plan->limits.limit[l], *than = &plan->limits.limit[best];
        if (limit->overshoot * than->capacity < than->overshoot * limit->capacity)
            best = l;
    }
    return best;
}

/* So slow that keys wait, unless they are urgent: all are told in one interval, or in many. */
static void draw_pace(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 8 + 3);
    if (!draw_one_in(&random, 3))
        return;
    plan->sips = plan->nodes <= 4 || draw_one_in(&random, 4);
    if (plan->sips) {
        plan->keys = (unsigned)draw_scale(&random, 1, 20);
        plan->shape = LOAD_SKEWED;
        plan->gaps = true;
        plan->arrival_gap_ns = plan->interval_ns / draw_between(&random, 4, 32);
        draw_keys(plan, &random);
        for (unsigned k = 0; k < plan->keys; k++)
            plan->key[k].limit = strictest(plan);
    }
    plan->tell_pace = plan->keys * SECOND / (plan->interval_ns * draw_scale(&random, 1, 200)) + 1;
    plan->untold_max = (uint32_t)draw_scale(&random, 64, 512);
}

/* Buckets that are full again soon, under a load that needs hardly to be told, but for rushes. */
static void draw_trickle(struct plan *plan, struct random *random)
{
    plan->trickles = true;
    plan->limits = (struct test_limits){0};
    uint64_t capacity = draw_between(random, 40, 400), overshoot = draw_one_in(random, 3) ? capacity / 5 : 0;
    while (!limits_add(&plan->limits, "trickle", capacity, capacity,
                       plan->interval_ns * draw_between(random, 2, 24), overshoot))
        capacity--;
    plan->keys = (unsigned)draw_scale(random, 1, 24);
    plan->arrival_gap_ns = plan->interval_ns / draw_between(random, 4, 24);
    draw_keys(plan, random);
}

static void draw_early_trickle(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 8 + 4);
    if (!plan->sips && plan->table_keys >= SIM_KEYS_MAX && draw_one_in(&random, 3))
        draw_trickle(plan, &random);
}

static void draw_threads(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 8 + 7);
    plan->threads = draw_one_in(&random, 3) ? (uint32_t)draw_between(&random, 2, 4) : 1;
}

/* So little at a time that most of what is done takes several steps, and logs so small that they are merged. */
static void draw_slices(struct plan *plan, struct random *random)
{
    if (!draw_one_in(random, 3))
        return;
    plan->step_keys = (uint32_t)draw_scale(random, 1, 64);
    if (draw_one_in(random, 2))
        plan->log_keys_max = draw_scale(random, plan->keys + 8, 4 * plan->keys + 64);
}

/* By the numbers that decide about rules as well (ask_plan.c): where there are none, or tides, and nowhere else. */
static void draw_early_slices(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 8 + 5);
    draw_slices(plan, &random);
}

static void draw_apart(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 9 + 5);
    if (plan->step_keys > 0 && draw_one_in(&random, 2))
        plan->apart_ns = draw_between(&random, 1, 4) * MS;
}

static void draw_pipelines(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 9 + 7);
    plan->pipelines = !plan->sips && !plan->trickles && draw_one_in(&random, 2);
}

void plan_draw_late(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 8 + 2);
    if (plan->asks.rules > 0 && !plan->asks.tides) {
        draw_slices(plan, &random);
    } else if (plan->step_keys > 0 && draw_one_in(&random, 2)) {
        plan->step_keys = 0;
        plan->log_keys_max = draw_one_in(&random, 4) ? draw_between(&random, 256, 1024) : 16384;
    }
    if (!plan->sips && plan->table_keys < SIM_KEYS_MAX && draw_one_in(&random, 3))
        draw_trickle(plan, &random);
    if (plan->trickles && draw_one_in(&random, 3))
        (void)draw_scale(&random, SHARE_ONE / 1000, SHARE_ONE);
    draw_apart(plan);
    draw_pipelines(plan);
    plan->asks.strangers = plan->asks.rules > 0 && !plan->asks.tides && random_below(&random, 2) > 0;
}

void plan_draw(struct plan *plan, uint64_t seed)
{
    struct random random;
    random_seed(&random, seed);
    memset(plan, 0, sizeof *plan);
    plan->seed = seed;
    plan->interval_ns = 10 * MS * draw_between(&random, 1, 20);
    unsigned limits = (unsigned)draw_between(&random, 1, SIM_LIMITS_MAX);
    for (unsigned i = 0; i < limits; i++)
        draw_limit(plan, &random, i);
    draw_members(plan, &random);
    draw_network(plan, &random);
    draw_options(plan, &random);
    draw_faults(plan, &random);
    draw_load(plan, &random);
    if (draw_one_in(&random, 3))
        draw_attack(plan, &random);
    plan->safety_ns = plan->interval_ns * (40 + 480 / (plan->nodes * plan->nodes));
    plan->liveness = plan->corrupt == 0;
    draw_pace(plan);
    draw_early_trickle(plan);
    draw_threads(plan);
    ask_draw(plan);
    draw_early_slices(plan);
}

void plan_draw_odd(struct plan *plan)
{
    struct random random;
    if (plan->nodes < 3)
        return;
    random_seed(&random, plan->seed ^ 0x6f6464);
    plan->has_odd = true;
    plan->odd = (unsigned)random_below(&random, plan->nodes);
    for (uint16_t i = 0; i < plan->limits.count; i++) {
        struct limit_terms terms = plan->limits.named.limit[i].terms;
        bool added = false;
        for (uint64_t times = 3; !added; times++) /* others may have these terms, or these need too many bits */
            added = limits_add(&plan->odd_limits, plan->limits.named.limit[i].name, terms.capacity,
                               terms.rate * times, terms.period_ns, terms.overshoot);
    }
    for (unsigned i = 0; i < plan->nodes; i++) /* so that nobody begins, or goes on, without having heard others */
        plan->node[i].unnamed = false;
    plan->seeds_only = false;
    plan->join_timeout_ns = plan->forget_after_ns = 0;
    plan->faults &= ~(1u << FAULT_LEAVE | 1u << FAULT_FORGET);
    plan->asks.rules = 0;
    plan->liveness = false;
}
