/*
 * Tides: worlds with one bucket that is full at times and empty at other times.
 *
 * Tokens that are given back to a full bucket are lost. A node that hears of this return when its bucket is not
 * full any more must not credit the return (cluster/state/peaks.h). Under random requests a bucket is hardly ever
 * full. In a tide, all nodes wait until the bucket is full. At flood, one node takes a little and gives the tokens
 * back when they have refilled. At ebb, all other nodes take all that they may, and tell their spends before they
 * hear of the return.
 */
#include "tests/sim/sim.h"

enum { EBB_PARTS = 48, WATCH_PARTS = 24 };

/*
 * The bucket refills in several times the time that it takes to settle. The tokens that are taken at flood refill
 * in less than the time to settle.
 */
void ask_draw_tides(struct plan *plan, struct random *random)
{
    struct plan_asks *asks = &plan->asks;
    struct plan_rule *rule = &asks->rule[0];
    struct error error;
    uint64_t settle_ns = plan->interval_ns + 2 * plan->latency_max_ns, parts = draw_between(random, 3, 8);
    asks->rules = 1;
    asks->tides = true;
    do {
        uint64_t capacity = draw_between(random, 40, 400);
        *rule = (struct plan_rule){.algorithm = ASK_BUCKET, .subjects = 1, .cost_max = capacity / 2 / parts};
        rule->terms = (struct limit_terms){
            .kind = LIMIT_BUCKET,
            .capacity = capacity,
            .rate = capacity,
            .period_ns = settle_ns * parts,
            .overshoot = draw_one_in(random, 4) ? capacity / 5 : 0,
        };
    } while (!limit_init(&rule->limit, &rule->terms, &error));
    asks->gap_ns = plan->interval_ns;
    asks->hold_max_ns = rule->terms.period_ns;
}

static void post_turn(struct sim *sim, uint64_t in_ns, unsigned i, unsigned step)
{
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_TIDE,
                                                     .at_ns = sim->now_ns + in_ns,
                                                     .node = (uint8_t)i,
                                                     .key = (uint16_t)step});
}

void tide_begin(struct sim *sim)
{
    post_turn(sim, sim->plan.asks.rule[0].terms.period_ns, 0, 0);
}

static bool can_ask(const struct sim *sim, unsigned i)
{
    return sim->node[i].life == LIFE_UP && sim->now_ns >= sim->node[i].paused_until_ns;
}

/*
 * One node takes a little, and gives it back about when that much has refilled. The node takes at least half of
 * `cost_max`: a smaller spend would be deferred, and told at its return, if at all.
 */
static void take_at_flood(struct sim *sim)
{
    const struct plan_rule *rule = &sim->plan.asks.rule[0];
    struct random *random = &sim->asks.random;
    unsigned i = (unsigned)random_below(random, sim->plan.nodes);
    uint64_t cost = draw_between(random, (rule->cost_max + 1) / 2, rule->cost_max);
    uint64_t refill_ns = rule->terms.period_ns / rule->terms.capacity * cost;
    uint64_t in_ns = refill_ns + random_below(random, refill_ns / 2 + 1);
    if (can_ask(sim, i))
        ask_exactly(sim, i, cost, in_ns);
    post_turn(sim, in_ns + 1, i, 1);
}

/* All nodes but node `but` take all that they may, again in each part of the ebb. */
static void take_at_ebb(struct sim *sim, unsigned but, unsigned step)
{
    uint64_t period_ns = sim->plan.asks.rule[0].terms.period_ns;
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        if (i != but && can_ask(sim, i))
            ask_exactly(sim, i, UINT64_MAX, 0);
    if (step == EBB_PARTS)
        ask_ebb_ends(sim);
    post_turn(sim, 1 + period_ns / EBB_PARTS, but, step + 1);
}

/* The nodes tell their spends; then the bucket fills again. */
static void watch(struct sim *sim, unsigned step)
{
    uint64_t period_ns = sim->plan.asks.rule[0].terms.period_ns;
    ask_laws_after_ebb(sim);
    if (step < EBB_PARTS + WATCH_PARTS)
        post_turn(sim, 1 + period_ns / EBB_PARTS, 0, step + 1);
    else
        post_turn(sim, period_ns + random_below(&sim->asks.random, 2 * sim->plan.interval_ns), 0, 0);
}

void tide_turn(struct sim *sim, const struct happening *happening)
{
    if (sim->phase != PHASE_SAFETY)
        return;
    if (happening->key == 0)
        take_at_flood(sim);
    else if (happening->key <= EBB_PARTS)
        take_at_ebb(sim, happening->node, happening->key);
    else
        watch(sim, happening->key);
}
