/*
 * Draws worlds in which limits of configs change (lists.c): their lists, and a load that takes what it may. In a fifth
 * of the worlds weights of regions change as well. In a half of them no law touches a key while faults go on, so a key
 * has its former terms for as long as no client asks. In some, one node is odd: its file changes while it is down.
 */
#include "tests/sim/modes.h"

#include <assert.h>

#define SECOND UINT64_C(1000000000)

static const char *name_of(unsigned limit)
{
    static const char *const names[LISTS_NAMES_MAX] = {"ant", "bee", "cow"};
    assert(limit < LISTS_NAMES_MAX);
    return names[limit];
}

/* Terms that a list has in place of these: as much in all, nearly as much, or something else. */
static struct limit_terms draw_terms(const struct limit_terms *of, struct random *random, unsigned apart,
                                     bool rates)
{
    struct limit_terms terms = *of;
    const uint64_t all = of->capacity + of->overshoot;
    if (apart == 0) {
        terms.overshoot = draw_one_in(random, 2) ? 0 : random_below(random, all / 2);
        terms.capacity = all - terms.overshoot;
    } else if (apart == 1) {
        terms.capacity = draw_between(random, of->capacity - of->capacity / 4, of->capacity + of->capacity / 4);
    } else {
        terms.capacity = draw_between(random, of->capacity / 4, 4 * of->capacity);
        terms.overshoot = draw_one_in(random, 2) ? 0 : random_below(random, terms.capacity);
    }
    if (rates)
        terms.rate = of->rate * draw_between(random, 1, 4);
    return terms;
}

static void draw_first(struct plan *plan, struct random *random)
{
    plan->limits = (struct test_limits){0};
    for (unsigned i = 0, count = (unsigned)draw_between(random, 1, LISTS_NAMES_MAX); i < count; i++) {
        const uint64_t capacity = draw_between(random, 40, 400),
                       overshoot = draw_one_in(random, 2) ? 0 : capacity / draw_between(random, 1, 10),
                       period_ns = draw_one_in(random, 3) ? 3600 * SECOND
                                                          : plan->interval_ns * draw_between(random, 8, 120);
        for (uint64_t more = 0;
             !limits_add(&plan->limits, name_of(i), capacity + more, capacity, period_ns, overshoot);)
            more++;
    }
}

/* Some lists have the first one's terms, in another order or with another default. */
static void draw_list(struct plan *plan, struct random *random, struct test_limits *list, unsigned apart,
                      bool rates)
{
    const unsigned count = plan->limits.count, first = (unsigned)random_below(random, count);
    const bool same = draw_one_in(random, 6);
    for (unsigned i = 0; i < count; i++) {
        const struct named_limit *of = &plan->limits.named.limit[(first + i) % count];
        struct limit_terms terms = same ? of->terms : draw_terms(&of->terms, random, apart, rates);
        while (!limits_add(list, of->name, terms.capacity, terms.rate, terms.period_ns, terms.overshoot))
            terms.capacity++; /* others of the list may have these terms */
    }
    list->named.by_default = (uint16_t)random_below(random, count);
}

/* Not even the same limits in another order. */
static bool are_others(const struct named_limits *a, const struct named_limits *b)
{
    static const struct hash_key key = {{0}};
    return named_limits_digest(a, &key) != named_limits_digest(b, &key);
}

static void draw_lists(struct plan *plan, struct random *random)
{
    struct plan_lists *lists = &plan->lists;
    const unsigned apart = (unsigned)random_below(random, 3);
    const bool rates = draw_one_in(random, 4);
    lists->list[0] = plan->limits;
    for (unsigned l = 1; l < lists->count;) {
        bool is_new = true;
        lists->list[l] = (struct test_limits){0};
        draw_list(plan, random, &lists->list[l], apart, rates);
        for (unsigned other = 0; other < l; other++)
            is_new &= l + 1 < lists->count ? !named_limits_equal(&lists->list[l].named, &lists->list[other].named)
                                           : are_others(&lists->list[l].named, &lists->list[other].named);
        l += is_new;
    }
}

/* It is clear then who has the config that is in use: of three or more, all but one, and nobody begins alone. */
static void draw_odd(struct plan *plan, struct random *random)
{
    if (plan->nodes < 3 || !draw_one_in(random, 3))
        return;
    plan->lists.has_odd = true;
    plan->lists.odd = (unsigned)random_below(random, plan->nodes);
    for (unsigned i = 0; i < plan->nodes; i++)
        plan->node[i].unnamed = false;
    plan->seeds_only = false;
    plan->join_timeout_ns = plan->forget_after_ns = 0;
    plan->faults |= 1u << FAULT_CRASH;
    plan->faults &= ~(1u << FAULT_LEAVE | 1u << FAULT_FORGET);
}

static void draw_load(struct plan *plan, struct random *random)
{
    plan->asks.rules = 0;
    plan->sips = plan->trickles = false;
    plan->table_keys = 1024;
    plan->keys = plan->keys > LISTS_KEYS_MAX ? (unsigned)draw_between(random, 1, LISTS_KEYS_MAX) : plan->keys;
    for (unsigned k = 0; k < plan->keys; k++) {
        plan->key[k].limit = (uint16_t)random_below(random, plan->limits.count);
        plan->key[k].cost_max = draw_one_in(random, 4) ? 40 : draw_between(random, 1, 4);
        plan->key[k].skip = 0;
    }
    if (draw_one_in(random, 3))
        return;
    plan->greedy = !draw_one_in(random, 3);
    plan->arrival_gap_ns = plan->interval_ns / draw_between(random, 2, 16);
    plan->shape = LOAD_EVEN;
}

void lists_draw(struct plan *plan)
{
    struct random random;
    struct plan_lists *lists = &plan->lists;
    random_seed(&random, plan->seed * 17 + 5);
    if (draw_one_in(&random, 5))
        weights_draw(plan);
    lists->enabled = true;
    lists->lazy = draw_one_in(&random, 2);
    lists->count = (unsigned)draw_between(&random, 2, LISTS_MAX);
    lists->lost_in_8 = (unsigned)random_below(&random, 5);
    draw_first(plan, &random);
    draw_lists(plan, &random);
    draw_load(plan, &random);
    draw_odd(plan, &random);
    plan->takeover_after_ns = 0;
    lists->gap_ns = plan->safety_ns / draw_scale(&random, 2, 32);
    if (draw_one_in(&random, 2))
        plan->faults |= 1u << FAULT_CRASH;
}

void lists_options(const struct sim *sim, unsigned i, struct node_options *options)
{
    if (!sim->plan.lists.enabled)
        return;
    options->limits = &sim->plan.lists.list[sim->lists.node[i].file].named;
    options->config_digest = 1000 + named_limits_digest(options->limits, &options->hash_key);
}
