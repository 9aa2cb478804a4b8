/*
 * Draws worlds whose rules are fixed and sliding windows, some round trips long, that are used up: limits so small that
 * no share has a token, requests that take all that is left, more demand than there is. Nodes grant each other rights.
 * In most worlds no clock differs from another one, so that a sliding window is held to its weights.
 */
#include "tests/sim/rights.h"

#include <assert.h>

enum { SMALL_TOKENS_MAX = 8, LARGE_TOKENS_MAX = 100, RULES_MAX = 2, DEMANDED_MAX = 12 };

static void draw_rule(const struct plan *plan, struct random *random, struct plan_rule *rule)
{
    const uint64_t round_trip_ns = 2 * plan->latency_max_ns + plan->interval_ns;
    struct error error;
    *rule = (struct plan_rule){
        .algorithm = draw_one_in(random, 3) ? ASK_FIXED : ASK_SLIDING,
        .terms = {.kind = LIMIT_CELL, .capacity = draw_between(random, 1, SMALL_TOKENS_MAX)},
        .window_ns = draw_between(random, 6, 40) * round_trip_ns,
        .on_isolation = ISOLATION_BUDGET,
        .subjects = 1,
    };
    if (draw_one_in(random, 2))
        rule->terms.capacity = draw_between(random, SMALL_TOKENS_MAX, LARGE_TOKENS_MAX);
    if (draw_one_in(random, 3))
        rule->terms.overshoot = draw_between(random, 1, rule->terms.capacity);
    rule->cost_max = draw_one_in(random, 2) ? 1 : 1 + rule->terms.capacity / 4;
    const bool made = limit_init(&rule->limit, &rule->terms, &error);
    assert(made);
}

void windows_draw(struct plan *plan)
{
    struct random random;
    struct plan_asks *asks = &plan->asks;
    uint64_t tokens = 0, window_ns = UINT64_MAX;
    random_seed(&random, plan->seed * 9 + 17);
    plan->grants = true;
    plan->grants_eager = !draw_one_in(&random, 8);
    asks->tides = asks->strangers = false;
    asks->rules = (unsigned)draw_between(&random, 1, RULES_MAX);
    for (unsigned r = 0; r < asks->rules; r++) {
        const struct plan_rule *rule = &asks->rule[r];
        draw_rule(plan, &random, &asks->rule[r]);
        tokens += 2 * rule->terms.capacity / (1 + rule->cost_max) + 1;
        window_ns = rule->window_ns < window_ns ? rule->window_ns : window_ns;
    }
    asks->gap_ns = window_ns * plan->nodes / (tokens * draw_between(&random, 1, DEMANDED_MAX)) + 1;
    asks->hold_max_ns = window_ns;
    asks->holds_in_8 = draw_one_in(&random, 2) ? 0 : 2;
    asks->greedy = draw_one_in(&random, 4);
    const bool skewed = draw_one_in(&random, 4);
    for (unsigned i = 0; i < plan->nodes && !skewed; i++)
        asks->skew_ns[i] = 0;
}
