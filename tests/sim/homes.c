/*
 * Worlds in which limits have a home: one region, or one daemon (homes_draw_daemons), has the whole share, and all
 * others ask for what they need (cluster/state/share.h). Of some rules each key has a home among all regions, or all
 * daemons. In a third of the worlds operators change weights of regions as well, which must change nothing there. What
 * must hold besides overshoot and reach:
 *
 *   shares of a limit   what all nodes together have of each limit is never more than the whole: after each step.
 */
#include "tests/lib/fake_signing.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#define VOUCHERS_GONE_NS UINT64_C(5000000000) /* so long after a grant none of it is in a voucher */

static uint32_t draw_home(const struct plan *plan, struct random *random)
{
    const unsigned region = plan->node[random_below(random, plan->nodes)].region;
    return limit_home_of(bytes_of(world_region_name(region)));
}

static void draw_limits(struct plan *plan, struct random *random)
{
    for (uint16_t i = 0; i < plan->limits.count; i++) {
        struct limit_terms *terms = &plan->limits.named.limit[i].terms;
        if (i > 0 && draw_one_in(random, 4))
            continue;
        terms->home = draw_home(plan, random);
        plan->limits.limit[i] = limit_made(terms);
    }
}

static void give_home(struct plan_rule *rule, uint64_t home)
{
    rule->terms.home = home;
    rule->limit = limit_made(&rule->terms);
}

static void draw_rules(struct plan *plan, struct random *random)
{
    for (unsigned r = 0; r < plan->asks.rules; r++) {
        struct plan_rule *rule = &plan->asks.rule[r];
        if ((rule->terms.flags & LIMIT_SPLIT) != 0 || draw_one_in(random, 3))
            continue;
        give_home(rule, draw_home(plan, random));
        rule->by_key = draw_one_in(random, 3);
    }
}

static uint64_t number_of_node(const struct plan *plan, unsigned i)
{
    char name[NODE_NAME_BYTES];
    world_node_name(plan, i, name, sizeof name);
    return limit_home_of_daemon(bytes_of(world_region_name(plan->node[i].region)), bytes_of(name));
}

static uint64_t draw_daemon(const struct plan *plan, struct random *random)
{
    return number_of_node(plan, (unsigned)random_below(random, plan->nodes));
}

static void list_daemons(const struct plan *plan, struct homes *homes)
{
    char list[SIM_NODES_MAX * (2 * NODE_NAME_BYTES + 1)], name[NODE_NAME_BYTES];
    size_t size = 0;
    for (unsigned i = 0; i < plan->nodes; i++) {
        world_node_name(plan, i, name, sizeof name);
        size += (size_t)snprintf(list + size, sizeof list - size, "%s%s/%s", i > 0 ? "," : "",
                                 world_region_name(plan->node[i].region), name);
    }
    homes_init_list(homes, (struct bytes){list, size});
}

void homes_draw_daemons(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 23 + 5);
    for (uint16_t i = 0; i < plan->limits.count; i++) {
        struct limit_terms *terms = &plan->limits.named.limit[i].terms;
        if (terms->home == 0 || (i > 0 && draw_one_in(&random, 2)))
            continue;
        terms->home = draw_daemon(plan, &random);
        plan->limits.limit[i] = limit_made(terms);
    }
    for (unsigned r = 0; r < plan->asks.rules; r++) {
        struct plan_rule *rule = &plan->asks.rule[r];
        if (rule->terms.home == 0 || rule->by_key || draw_one_in(&random, 2))
            continue;
        give_home(rule, draw_daemon(plan, &random));
    }
    for (unsigned r = 0; r < plan->asks.rules; r++)
        plan->asks.rule[r].of_daemons = plan->asks.rule[r].by_key && draw_one_in(&random, 2);
    list_daemons(plan, &plan->daemons_homes);
}

/* In a third of the worlds all sign, so that what others pass on counts by signatures alone. */
void homes_options(const struct sim *sim, unsigned i, struct node_options *options)
{
    static uint8_t keys[SIM_NODES_MAX][NODE_KEY_BYTES];
    if (!sim->plan.homes || sim->plan.lies || sim->plan.seed % 3 != 0)
        return;
    options->signing = (struct node_signing){.keys = KEYS_LEARNT};
    fake_signing(&options->signing, (uint8_t)(i + 1), keys[i]);
}

void homes_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 17 + 3);
    if (draw_one_in(&random, 3))
        weights_draw(plan);
    rights_draw(plan, true);
    plan->homes = true;
    plan->takeover_after_ns = 0;
    draw_limits(plan, &random);
    draw_rules(plan, &random);
    homes_of_node(plan, 0, &plan->keys_homes);
}

/* Clients give back much of what they take, or hold it for a while, and ask for refunds elsewhere as well. */
void homes_draw_windows(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 17 + 5);
    for (unsigned r = 0; r < plan->asks.rules; r++) {
        struct plan_rule *rule = &plan->asks.rule[r];
        give_home(rule, draw_one_in(&random, 8) ? 0 : draw_home(plan, &random));
        rule->by_key = rule->terms.home != 0 && draw_one_in(&random, 3);
    }
    plan->asks.holds_in_8 = (unsigned)draw_between(&random, 4, 8);
    plan->asks.hold_max_ns /= draw_scale(&random, 1, 16);
    plan->asks.strangers = draw_one_in(&random, 2);
}

static void draw_bucket(const struct plan *plan, struct random *random, struct plan_rule *rule)
{
    const uint64_t round_trip_ns = 2 * plan->latency_max_ns + plan->interval_ns, hour_ns = UINT64_C(3600000000000);
    const uint64_t capacity = draw_between(random, 2, draw_one_in(random, 2) ? 12 : 100);
    struct error error;
    *rule = (struct plan_rule){
        .algorithm = ASK_BUCKET,
        .terms = {.kind = LIMIT_BUCKET, .capacity = capacity, .rate = capacity},
        .on_isolation = ISOLATION_BUDGET,
        .cost_max = draw_one_in(random, 3) ? 1 : 1 + capacity / draw_between(random, 1, 4),
        .subjects = 1,
    };
    const unsigned slow_in = plan->homes ? 4 : 2;
    rule->terms.period_ns = draw_one_in(random, slow_in) ? hour_ns : draw_between(random, 20, 400) * round_trip_ns;
    rule->terms.overshoot = draw_one_in(random, 4) ? draw_between(random, 1, capacity) : 0;
    const bool made = limit_init(&rule->limit, &rule->terms, &error);
    assert(made);
    if (!plan->homes)
        return;
    give_home(rule, draw_home(plan, random));
    rule->by_key = draw_one_in(random, 4);
}

/*
 * Few buckets, with homes if the world has any, for which all regions ask. Clients give much of them back, soon or
 * late, or hold it; elsewhere, others ask for the same refunds.
 */
void homes_draw_buckets(struct plan *plan)
{
    struct random random;
    struct plan_asks *asks = &plan->asks;
    const uint64_t round_trip_ns = 2 * plan->latency_max_ns + plan->interval_ns;
    random_seed(&random, plan->seed * 17 + 11);
    asks->tides = false;
    asks->rules = (unsigned)draw_between(&random, 1, 2);
    for (unsigned r = 0; r < asks->rules; r++)
        draw_bucket(plan, &random, &asks->rule[r]);
    asks->gap_ns = round_trip_ns / draw_between(&random, 1, 6);
    asks->hold_max_ns = round_trip_ns * draw_scale(&random, 1, 200);
    if (!plan->homes) /* what others granted comes back once nobody may hold vouchers of that time */
        asks->hold_max_ns = VOUCHERS_GONE_NS * draw_scale(&random, 1, 8);
    asks->holds_in_8 = (unsigned)draw_between(&random, 4, 8);
    asks->greedy = draw_one_in(&random, 3);
    asks->strangers = draw_one_in(&random, 2);
}

static void draw_lease(const struct plan *plan, struct random *random, struct plan_rule *rule)
{
    const uint64_t round_trip_ns = 2 * plan->latency_max_ns + plan->interval_ns;
    struct error error;
    *rule = (struct plan_rule){
        .algorithm = ASK_LEASE,
        .terms = {.kind = LIMIT_LOG,
                  .capacity = draw_between(random, 1, draw_one_in(random, 2) ? 1 : 8),
                  .period_ns = draw_between(random, 8, 40) * round_trip_ns},
        .on_isolation = ISOLATION_BUDGET,
        .cost_max = 1,
        .subjects = 1,
    };
    const bool made = limit_init(&rule->limit, &rule->terms, &error);
    assert(made);
    give_home(rule, draw_home(plan, random));
    rule->by_key = draw_one_in(random, 4);
}

/* Few leases, for which all regions ask, and whose clients renew them for several periods. */
void homes_draw_leases(struct plan *plan)
{
    struct random random;
    struct plan_asks *asks = &plan->asks;
    uint64_t period_ns = UINT64_MAX;
    random_seed(&random, plan->seed * 17 + 7);
    asks->tides = asks->strangers = false;
    asks->rules = (unsigned)draw_between(&random, 1, 2);
    for (unsigned r = 0; r < asks->rules; r++) {
        draw_lease(plan, &random, &asks->rule[r]);
        period_ns = asks->rule[r].terms.period_ns < period_ns ? asks->rule[r].terms.period_ns : period_ns;
    }
    asks->gap_ns = (2 * plan->latency_max_ns + plan->interval_ns) / draw_between(&random, 1, 4);
    asks->hold_max_ns = period_ns;
    asks->holds_in_8 = 8;
    asks->renews = true;
    asks->cuts_renewals = draw_one_in(&random, 2);
}

bool homes_have(const struct sim *sim, unsigned i, uint64_t home)
{
    const char *region = world_region_name(sim->plan.node[i].region);
    return home != 0 && (limit_home_of(bytes_of(region)) == home || number_of_node(&sim->plan, i) == home);
}

void homes_of_node(const struct plan *plan, unsigned i, struct homes *homes)
{
    struct home_weight weights[SIM_NODES_MAX];
    for (unsigned r = 0; r < plan->regions; r++) {
        const unsigned region = (r + i) % plan->regions;
        weights[r] = (struct home_weight){bytes_of(world_region_name(region)), plan->weight[region]};
    }
    *homes = (struct homes){.count = 0};
    if (plan->homes)
        homes_init(homes, weights, plan->regions);
}

uint64_t homes_choice(const struct plan *plan, const struct homes *regions, unsigned r, unsigned s)
{
    const struct plan_rule *rule = &plan->asks.rule[r];
    const struct homes *homes = rule->of_daemons ? &plan->daemons_homes : regions;
    return rule->by_key ? homes->number[homes_of(homes, ask_key(r, s))] : rule->terms.home;
}

uint64_t homes_home_of(const struct sim *sim, unsigned r, unsigned s)
{
    return homes_choice(&sim->plan, &sim->plan.keys_homes, r, s);
}

uint64_t homes_share(struct sim *sim, unsigned i, struct key_id id, uint16_t limit, uint64_t share)
{
    struct explanation explanation;
    if (!sim->plan.homes)
        return share;
    node_explain(sim->node[i].node, id, limit, world_local_ns(sim, i), &explanation);
    return (uint64_t)(explanation.share * (double)SHARE_ONE);
}

bool homes_begin_anew(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part)
{
    return homes_home_of(sim, part->rule, part->subject) == 0 ||
           homes_share(sim, i, charge->id, charge->limit, 0) > 0;
}

double homes_sum_of_shares(struct sim *sim, struct key_id id, uint16_t limit)
{
    double sum = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        struct explanation explanation;
        if (sim->node[i].life != LIFE_UP || sim->node[i].unawaited)
            continue;
        node_explain(sim->node[i].node, id, limit, world_local_ns(sim, i), &explanation);
        sum += explanation.share;
    }
    return sum;
}

/* Limits of the config alone: a node may not know that of a rule. */
void homes_after_step(struct sim *sim)
{
    if (!sim->plan.homes)
        return;
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const uint16_t limit = sim->plan.key[k].limit;
        if (k >= sim->plan.limits.count && limit != 0)
            continue;
        const double sum = homes_sum_of_shares(sim, sim->plan.key[k].id, limit);
        if (sum > 1)
            sim_fail(sim, "shares: those of limit %u add up to %.6f", limit, sum);
    }
}
