/*
 * Worlds in which rules have weights of their own: lists that say what each region has of a limit, whatever it has of
 * others (cluster/state/weight_lists.h). In a third of them operators change weights of regions as well, which must
 * change nothing there. Nodes learn a list when they start, or later, as a change of rules comes late, or never: until
 * then they have no part of its limits. What must hold besides overshoot and reach:
 *
 *   shares of a limit   what all nodes together have of each limit is never more than the whole: after each step.
 */
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <stdlib.h>
#include <string.h>

enum { LATE_INTERVALS = 60 };

/* ---- lists ---- */

static int by_region(const void *a, const void *b)
{
    return strcmp(((const struct limit_weight *)a)->region.data, ((const struct limit_weight *)b)->region.data);
}

static uint32_t list_of(const struct plan *plan, unsigned l, struct limit_weight weights[SIM_NODES_MAX])
{
    uint32_t count = 0;
    for (unsigned r = 0; r < plan->regions; r++)
        if (plan->list_billionths[l][r] > 0)
            weights[count++] = (struct limit_weight){bytes_of(world_region_name(r)), plan->list_billionths[l][r]};
    qsort(weights, count, sizeof *weights, by_region);
    return count;
}

/* Even parts, one large and small ones, or any; a region in four has none. */
static void draw_list(struct plan *plan, unsigned l, struct random *random)
{
    uint64_t part[SIM_NODES_MAX] = {0}, sum = 0, left = LIMIT_WEIGHTS_WHOLE;
    const uint64_t most = (uint64_t[]){1, 20, 1000}[random_below(random, 3)];
    for (unsigned r = 0; r < plan->regions; r++) {
        part[r] = draw_one_in(random, 4) ? 0 : 1 + random_below(random, most);
        sum += part[r];
    }
    for (unsigned r = 0; r < plan->regions; r++) {
        plan->list_billionths[l][r] = sum > 0 ? part[r] * LIMIT_WEIGHTS_WHOLE / sum : 0;
        left -= plan->list_billionths[l][r];
    }
    plan->list_billionths[l][random_below(random, plan->regions)] += left;
}

static uint64_t draw_number(const struct plan *plan, struct random *random)
{
    struct limit_weight weights[SIM_NODES_MAX];
    const uint32_t count = list_of(plan, (unsigned)random_below(random, PLAN_LISTS), weights);
    return limit_weights_number(weights, count);
}

/* ---- the world ---- */

static void draw_limits(struct plan *plan, struct random *random)
{
    for (uint16_t i = 0; i < plan->limits.count; i++) {
        struct limit_terms *terms = &plan->limits.named.limit[i].terms;
        if (i > 0 && draw_one_in(random, 4))
            continue;
        terms->home = draw_number(plan, random);
        plan->limits.limit[i] = limit_made(terms);
    }
}

static void draw_rules(struct plan *plan, struct random *random)
{
    for (unsigned r = 0; r < plan->asks.rules; r++) {
        struct plan_rule *rule = &plan->asks.rule[r];
        if (draw_one_in(random, 4))
            continue;
        rule->terms.home = draw_number(plan, random);
        rule->limit.home = rule->terms.home;
        rule->limit.hash = limit_terms_hash(&rule->terms);
    }
}

void rule_weights_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 19 + 5);
    if (draw_one_in(&random, 3))
        weights_draw(plan);
    rights_draw(plan, true);
    plan->homes = plan->rule_weights = true;
    plan->takeover_after_ns = 0;
    for (unsigned l = 0; l < PLAN_LISTS; l++)
        draw_list(plan, l, &random);
    draw_limits(plan, &random);
    draw_rules(plan, &random);
}

void rule_weights_plan(struct plan *plan, const double *parts)
{
    struct limit_terms *terms = &plan->limits.named.limit[0].terms;
    struct limit_weight weights[SIM_NODES_MAX];
    uint64_t left = LIMIT_WEIGHTS_WHOLE;
    for (unsigned r = 0; r < plan->regions; r++) {
        const uint64_t part = (uint64_t)(parts[r] * (double)LIMIT_WEIGHTS_WHOLE + 0.5);
        plan->list_billionths[0][r] = part < left ? part : left;
        left -= plan->list_billionths[0][r];
    }
    terms->home = limit_weights_number(weights, list_of(plan, 0, weights));
    plan->limits.limit[0] = limit_made(terms);
    plan->rule_weights = true;
}

static void note(struct sim *sim, unsigned i, unsigned l)
{
    struct limit_weight weights[SIM_NODES_MAX];
    struct error error = {0};
    const uint32_t count = list_of(&sim->plan, l, weights);
    sim->node[i].list_due_ns[l] = UINT64_MAX;
    if (!node_note_weights(sim->node[i].node, weights, count, &error))
        sim_fail(sim, "weights: %s refuses a list: %s", sim->node[i].name, error.text);
}

void rule_weights_node_starts(struct sim *sim, unsigned i)
{
    struct random random;
    struct sim_node *n = &sim->node[i];
    random_seed(&random, sim->plan.seed * 1009 + i * 31 + n->lives);
    for (unsigned l = 0; l < PLAN_LISTS && sim->plan.rule_weights; l++) {
        n->list_due_ns[l] = draw_one_in(&random, 8)
                                ? UINT64_MAX
                                : sim->now_ns + random_below(&random, LATE_INTERVALS * sim->plan.interval_ns);
        if (draw_one_in(&random, 2) || !sim->plan.homes)
            note(sim, i, l);
    }
}

static void check_rules(struct sim *sim)
{
    for (unsigned r = 0; r < sim->plan.asks.rules; r++) {
        double sum = 0;
        for (unsigned i = 0; i < sim->plan.nodes; i++) {
            struct explanation explanation;
            if (sim->node[i].life != LIFE_UP || sim->node[i].unawaited)
                continue;
            node_explain(sim->node[i].node, ask_key(r, 0), sim->asks.limit[i][r][0][0], world_local_ns(sim, i),
                         &explanation);
            sum += explanation.share;
        }
        if (sum > 1)
            sim_fail(sim, "shares: those of rule %u add up to %.6f", r, sum);
    }
}

void rule_weights_after_step(struct sim *sim, unsigned i)
{
    if (!sim->plan.rule_weights)
        return;
    for (unsigned l = 0; l < PLAN_LISTS; l++)
        if (sim->node[i].life == LIFE_UP && sim->node[i].list_due_ns[l] <= sim->now_ns)
            note(sim, i, l);
    check_rules(sim);
}
