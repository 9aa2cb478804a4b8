/*
 * Draws worlds whose limits are tiers of one rule, and each request of a key is of any of them. The truth is that of
 * the widest tier, which all keys have in the plan: together, requests of all tiers get no more than requests of that
 * one would. Once faults are over, all requests are of the widest tier, so that the last laws find one limit.
 *
 * A node has a key under the tier of some request, or of some peer's spend; views are compared as tokens used.
 */
#include "tests/sim/key_limit.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <assert.h>

#define SECOND UINT64_C(1000000000)

/* Of requests of a key, one in so many is not of the tier that the node's clients mostly have. */
enum { OTHERS_ONE_IN_MAX = 16 };

static const char *name_of(unsigned tier)
{
    static const char *const names[SIM_LIMITS_MAX] = {"free", "pro", "whole"};
    assert(tier < SIM_LIMITS_MAX);
    return names[tier];
}

/* The last one is the widest: no other has more capacity, a higher rate or more overshoot. */
static void draw_tiers(struct plan *plan, struct random *random)
{
    const unsigned count = (unsigned)draw_between(random, 2, SIM_LIMITS_MAX);
    const uint64_t most = draw_between(random, 40, 400), rate = draw_between(random, most / 4 + 1, most),
                   overshoot = draw_one_in(random, 2) ? 0 : most / draw_between(random, 1, 10),
                   period_ns =
                       draw_one_in(random, 2) ? 3600 * SECOND : plan->interval_ns * draw_between(random, 8, 120);
    const bool same_rate = draw_one_in(random, 3), small = draw_one_in(random, 3);
    plan->limits = (struct test_limits){0};
    for (unsigned t = 0; t + 1 < count; t++) {
        const uint64_t capacity = draw_between(random, 1, small ? 8 : most - 1);
        const uint64_t its_rate = same_rate ? rate : draw_between(random, 1, rate),
                       its_overshoot =
                           overshoot > 0 && draw_one_in(random, 2) ? random_below(random, overshoot) : 0;
        for (uint64_t less = 0; !limits_add(&plan->limits, name_of(t), capacity,
                                            its_rate > less ? its_rate - less : 1, period_ns, its_overshoot);
             less++)
            assert(less < its_rate);
    }
    const bool added = limits_add(&plan->limits, name_of(count - 1), most, rate, period_ns, overshoot);
    assert(added);
}

void tiers_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 19 + 7);
    plan->tiers = true;
    plan->tiers_mixed = draw_one_in(&random, 2);
    plan->tiers_lazy = draw_one_in(&random, 2);
    plan->asks.rules = 0;
    plan->sips = plan->trickles = false;
    draw_tiers(plan, &random);
    for (unsigned k = 0; k < plan->keys; k++) {
        plan->key[k].limit = plan->limits.count - 1;
        plan->key[k].cost_max = draw_one_in(&random, 4) ? 40 : draw_between(&random, 1, 4);
        plan->key[k].skip = 0;
    }
    if (draw_one_in(&random, 3))
        return;
    plan->greedy = !draw_one_in(&random, 3);
    plan->arrival_gap_ns = plan->interval_ns / draw_between(&random, 2, 16);
    plan->shape = LOAD_EVEN;
}

void tiers_node_starts(struct sim *sim, unsigned i)
{
    struct limit_span span = {0};
    for (uint16_t t = 0; sim->plan.tiers && t < sim->plan.limits.count; t++)
        limit_span_add(&span, &sim->plan.limits.named.limit[t].terms);
    for (uint16_t t = 0; sim->plan.tiers && t < sim->plan.limits.count; t++)
        key_limit_is_of_tiers(sim->node[i].node, t, &span);
}

unsigned tiers_drawn(struct sim *sim, unsigned i, unsigned count)
{
    if (sim->plan.tiers_mixed || draw_one_in(&sim->tier_random, OTHERS_ONE_IN_MAX))
        return (unsigned)random_below(&sim->tier_random, count);
    return (unsigned)((sim->plan.seed + i) % count);
}

uint16_t tiers_asked(struct sim *sim, unsigned i)
{
    const uint16_t count = sim->plan.limits.count;
    if (sim->phase > PHASE_AGREE)
        return count - 1;
    return (uint16_t)tiers_drawn(sim, i, count);
}

/* So that the next laws see one limit everywhere: a request of the widest tier, that takes nothing. */
void tiers_end(struct sim *sim)
{
    for (unsigned i = 0; sim->plan.tiers && i < sim->plan.nodes; i++) {
        for (unsigned k = 0; k < sim->plan.keys && world_is_up(sim, i); k++) {
            const struct charge charge = sim_charge(sim, k, sim->plan.key[k].limit, 1);
            (void)node_ask(sim->node[i].node, &charge, false, world_local_ns(sim, i));
        }
        if (world_is_up(sim, i))
            ask_tiers_end(sim, i);
    }
}
