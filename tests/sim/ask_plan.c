/*
 * Draws the rules of a world: their algorithms, limits, windows and costs, how requests hold tokens,
 * and how far the wall clocks of the nodes differ.
 */
#include "tests/sim/sim.h"

#include <assert.h>
#include <string.h>

#define MS UINT64_C(1000000)
#define SECOND UINT64_C(1000000000)

const char *ask_algorithm_name(enum ask_algorithm algorithm)
{
    static const char *const names[ASK_ALGORITHMS] = {"bucket", "fixed window", "sliding window", "log", "leases"};
    return names[algorithm];
}

/* Some intervals; one period in six is so long that no token comes back within the run. */
static uint64_t draw_period_ns(const struct plan *plan, struct random *random)
{
    uint64_t intervals = draw_one_in(random, 4) ? draw_between(random, 1, 4) : draw_between(random, 5, 40);
    return draw_one_in(random, 6) ? 3600 * SECOND * draw_between(random, 1, 24) : plan->interval_ns * intervals;
}

static struct limit_terms draw_terms(const struct plan *plan, struct random *random, enum ask_algorithm algorithm)
{
    static const uint64_t overshoot_percent[] = {0, 0, 20, 100};
    struct limit_terms terms = {.kind = LIMIT_BUCKET};
    uint64_t period_ns = draw_period_ns(plan, random);
    terms.capacity = draw_one_in(random, 4) ? draw_between(random, 1, 20) : draw_between(random, 20, 300);
    terms.overshoot = terms.capacity * overshoot_percent[random_below(random, 4)] / 100;
    switch (algorithm) {
    case ASK_BUCKET:
        terms.rate = terms.capacity;
        terms.period_ns = period_ns;
        break;
    case ASK_FIXED:
    case ASK_SLIDING:
        terms.kind = LIMIT_CELL;
        break;
    case ASK_LOG:
    case ASK_LEASE:
        terms.kind = LIMIT_LOG;
        terms.period_ns = period_ns;
        break;
    case ASK_ALGORITHMS:
        break;
    }
    return terms;
}

/* A static split keeps its bound only as long as no node's share changes. */
static bool shares_are_constant(const struct plan *plan)
{
    bool learned = plan->seeds_only;
    for (unsigned i = 0; i < plan->nodes; i++)
        learned |= plan->node[i].unnamed;
    return !learned && !(plan->faults & (1u << FAULT_FORGET | 1u << FAULT_LEAVE));
}

static void draw_rule(struct plan *plan, struct random *random, unsigned r)
{
    struct plan_rule *rule = &plan->asks.rule[r];
    struct error error;
    rule->algorithm = (enum ask_algorithm)random_below(random, ASK_ALGORITHMS);
    rule->window_ns = draw_period_ns(plan, random);
    rule->subjects = (unsigned)draw_between(random, 1, ASK_SUBJECTS_MAX);
    rule->shadow = draw_one_in(random, 8);
    rule->by_key = rule->of_daemons = false; /* of a rule that it takes the place of */
    rule->on_isolation = draw_one_in(random, 8) ? ISOLATION_CLOSED : ISOLATION_BUDGET;
    bool split = draw_one_in(random, 8) && shares_are_constant(plan);
    do {
        rule->terms = draw_terms(plan, random, rule->algorithm);
        if (split) {
            rule->terms.flags = LIMIT_SPLIT;
            rule->terms.overshoot = 0;
        }
    } while (!limit_init(&rule->limit, &rule->terms, &error));
    rule->cost_max = draw_one_in(random, 2) ? 1 : 1 + random_below(random, (rule->terms.capacity + 7) / 8);
}

static void draw_skews(struct plan *plan, struct random *random)
{
    uint64_t most_ns = draw_one_in(random, 2) ? 0 : draw_scale(random, MS, 2 * plan->interval_ns);
    for (unsigned i = 0; i < plan->nodes; i++)
        plan->asks.skew_ns[i] = most_ns == 0 ? 0 : (int64_t)random_below(random, 2 * most_ns) - (int64_t)most_ns;
}

void ask_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 8 + 5);
    if (draw_one_in(&random, 3)) {
        if (draw_one_in(&random, 2))
            ask_draw_tides(plan, &random);
        return;
    }
    struct plan_asks *asks = &plan->asks;
    asks->rules = (unsigned)draw_between(&random, 1, ASK_RULES_MAX);
    for (unsigned r = 0; r < asks->rules; r++)
        draw_rule(plan, &random, r);
    asks->gap_ns = plan->interval_ns / draw_between(&random, 1, 8);
    asks->hold_max_ns = plan->interval_ns * draw_scale(&random, 1, 30);
    asks->holds_in_8 = (unsigned)random_below(&random, 9);
    asks->greedy = draw_one_in(&random, 3);
    draw_skews(plan, &random);
}

void ask_draw_few(struct plan *plan, struct random *random)
{
    struct plan_asks *asks = &plan->asks;
    asks->tides = false;
    asks->rules = (unsigned)draw_between(random, 1, 2);
    for (unsigned r = 0; r < asks->rules; r++)
        do
            draw_rule(plan, random, r);
        while (asks->rule[r].terms.flags & LIMIT_SPLIT);
    asks->gap_ns = plan->interval_ns / draw_between(random, 1, 16);
    asks->hold_max_ns = plan->interval_ns * draw_scale(random, 1, 30);
    asks->holds_in_8 = (unsigned)draw_between(random, 1, 8);
    asks->greedy = draw_one_in(random, 2);
    draw_skews(plan, random);
}

void ask_draw_restarts(struct plan *plan)
{
    const uint32_t network = 1u << FAULT_CUT_ONE_WAY | 1u << FAULT_CUT_BOTH | 1u << FAULT_SLOW_LINK;
    struct random random;
    struct plan_asks *asks = &plan->asks;
    random_seed(&random, plan->seed * 8 + 6);
    plan->restarts = true;
    plan->faults = 1u << FAULT_LEAVE | (draw_one_in(&random, 3) ? plan->faults & ~(1u << FAULT_FORGET) : 0) |
                   (draw_one_in(&random, 2) ? network : 0);
    plan->fault_gap_ns = plan->interval_ns * draw_between(&random, 5, 30);
    plan->fault_max_ns = plan->interval_ns * draw_between(&random, 5, 60);
    plan->fault_min_ns = plan->interval_ns;
    if (asks->rules == 0 || asks->tides) {
        asks->tides = false;
        asks->rules = (unsigned)draw_between(&random, 1, ASK_RULES_MAX);
        for (unsigned r = 0; r < asks->rules; r++)
            draw_rule(plan, &random, r);
        asks->gap_ns = plan->interval_ns / draw_between(&random, 1, 8);
        draw_skews(plan, &random);
    }
    for (unsigned r = 0; r < asks->rules; r++)
        if (asks->rule[r].terms.flags & LIMIT_SPLIT)
            draw_rule(plan, &random, r);
    asks->hold_max_ns = plan->interval_ns * draw_between(&random, 10, 100);
    asks->holds_in_8 = (unsigned)draw_between(&random, 2, 8);
}

void ask_keep_only(struct plan *plan, const char *letters)
{
    static const char of[ASK_ALGORITHMS] = {'b', 'f', 's', 'l', 'c'};
    unsigned kept = 0;
    for (unsigned r = 0; r < plan->asks.rules; r++)
        if (strchr(letters, of[plan->asks.rule[r].algorithm]) != NULL)
            plan->asks.rule[kept++] = plan->asks.rule[r];
    plan->asks.rules = kept;
}
