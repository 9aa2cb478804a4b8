/*
 * Rules with tiers: buckets, windows, logs and leases whose requests are of any tier, and whose tokens come back late,
 * under any tier again. tiers.c has the keys that are buckets of the config; these here give nothing back.
 *
 * The truth of a rule is that of its widest tier: no other one has more capacity, a higher rate or more overshoot.
 * Together, requests of all tiers get no more than requests of that one would. A node has a key under the tier of some
 * request, or of some peer's spend, so views are compared as tokens used. Once faults are over, all keys go over to the
 * widest tier.
 */
#include "tests/sim/key_limit.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <assert.h>

enum { SMALL_TOKENS_MAX = 8, TIMES_MAX = 8 };

/* One that is no wider than the rule's limit. False: the range of units does not allow what was drawn. */
static bool draw_tier(const struct plan_rule *rule, struct random *random, struct limit_terms *tier)
{
    struct limit limit;
    struct error error;
    const uint64_t most = rule->terms.capacity - 1;
    *tier = rule->terms;
    tier->capacity =
        draw_between(random, 1, draw_one_in(random, 3) && most > SMALL_TOKENS_MAX ? SMALL_TOKENS_MAX : most);
    if (rule->terms.kind == LIMIT_BUCKET && !draw_one_in(random, 3))
        tier->rate = draw_between(random, (rule->terms.rate + TIMES_MAX - 1) / TIMES_MAX, rule->terms.rate);
    if (draw_one_in(random, 2))
        tier->overshoot = random_below(random, rule->terms.overshoot + 1);
    return limit_init(&limit, tier, &error);
}

static int64_t rounding_units(const struct plan_rule *rule, const struct limit_terms *terms)
{
    struct limit limit;
    struct error error;
    const bool made = limit_init(&limit, terms, &error);
    assert(made);
    return rule->terms.kind == LIMIT_BUCKET ? 4 + 4 * (rule->limit.units_per_token / limit.units_per_token) : 0;
}

static void draw_tiers(struct plan_rule *rule, struct random *random)
{
    const unsigned wanted = (unsigned)draw_between(random, 2, ASK_TIERS_MAX);
    rule->tiers = 1;
    rule->slack_units = 0;
    for (unsigned tries = 0; rule->terms.capacity > 1 && rule->tiers < wanted && tries < TIMES_MAX; tries++) {
        struct limit_terms *tier = &rule->tier[rule->tiers - 1];
        if (!draw_tier(rule, random, tier))
            continue;
        const int64_t units = rounding_units(rule, tier);
        rule->slack_units = units > rule->slack_units ? units : rule->slack_units;
        rule->tiers++;
    }
}

void ask_draw_tiers(struct plan *plan)
{
    struct plan_asks *asks = &plan->asks;
    struct random random;
    random_seed(&random, plan->seed * 19 + 9);
    if (asks->rules == 0 && draw_one_in(&random, 4))
        return;
    if (asks->rules == 0 && draw_one_in(&random, 4))
        ask_draw_tides(plan, &random);
    else if (asks->rules == 0)
        ask_draw_few(plan, &random);
    for (unsigned r = 0; r < asks->rules; r++)
        draw_tiers(&asks->rule[r], &random);
    asks->strangers = !asks->tides && draw_one_in(&random, 2);
}

unsigned ask_tier(struct sim *sim, unsigned i, unsigned rule)
{
    const unsigned tiers = ask_rule(sim, rule)->tiers;
    if (tiers <= 1 || sim->phase > PHASE_AGREE)
        return 0;
    return tiers_drawn(sim, i, tiers);
}

static const struct limit_terms *terms_of(const struct plan_rule *rule, unsigned tier)
{
    return tier == 0 ? &rule->terms : &rule->tier[tier - 1];
}

bool ask_tiers_node_starts(struct sim *sim, unsigned i, unsigned rule, unsigned subject, struct error *error)
{
    const struct plan_rule *of = ask_rule(sim, rule);
    struct node *node = sim->node[i].node;
    uint16_t *limit = sim->asks.limit[i][rule][subject];
    struct limit_span span = {0};
    for (unsigned t = 0; t < of->tiers && of->tiers > 1; t++) {
        struct limit_terms terms = *terms_of(of, t);
        terms.home = node_limit(node, limit[0])->home;
        const int index = node_intern_limit(node, &terms, error);
        if (index < 0)
            return false;
        limit[t] = (uint16_t)index;
        limit_span_add(&span, &terms);
    }
    for (unsigned t = 0; t < of->tiers && of->tiers > 1; t++)
        key_limit_is_of_tiers(node, limit[t], &span);
    return true;
}

int64_t ask_change(const struct plan_rule *rule, int64_t units)
{
    const int64_t token = rule->limit.units_per_token, slack = rule->slack_units;
    const int64_t part = (units % token + token) % token;
    if (part <= slack)
        return units - part;
    return token - part <= slack ? units + token - part : units;
}

/* A window's key is another one in each window: that before still counts where windows slide. */
void ask_tiers_end(struct sim *sim, unsigned i)
{
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ask_rule(sim, r)->subjects && ask_rule(sim, r)->tiers > 1; s++) {
            struct ask_part part = {.rule = r, .subject = s};
            const struct charge charge = ask_charge(sim, i, &part, 1);
            struct verdict verdict;
            (void)node_check(sim->node[i].node, &charge, 1, false, world_local_ns(sim, i), &verdict);
        }
}
