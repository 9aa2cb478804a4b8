/*
 * Draws worlds whose demand goes beyond shares, and makes it: whole limits that one region wants at once, costs above
 * a share, limits so small that no share has a whole token. Clients that are refused come again some round trips
 * later, when others may have granted what was missing.
 */
#include "limit/kind.h"
#include "tests/sim/laws.h"
#include "tests/sim/rights.h"

#include <assert.h>
#include <stdio.h>

#define SECOND UINT64_C(1000000000)

enum {
    SMALL_TOKENS_MAX = 8,
    COMES_AGAIN = 3, /* times */
    BURST_REQUESTS_MAX = 64,
    RARELY = 65536 / 16 * 15, /* see plan_key.skip */
};

/* ---- plans ---- */

/* The same limits, some of them so small that no share has a token, or hardly one. */
static void draw_limits(struct plan *plan, struct random *random)
{
    const struct test_limits was = plan->limits;
    plan->limits = (struct test_limits){0};
    for (uint16_t i = 0; i < was.count; i++) {
        struct limit_terms terms = was.named.limit[i].terms;
        if (draw_one_in(random, 2)) {
            terms.capacity = draw_between(random, 1, SMALL_TOKENS_MAX);
            terms.overshoot = draw_one_in(random, 3) ? draw_between(random, 0, terms.capacity) : 0;
            terms.rate = draw_between(random, 1, terms.capacity);
            terms.period_ns = draw_one_in(random, 3) ? 60 * SECOND : plan->interval_ns * draw_scale(random, 8, 200);
        }
        char name[24];
        (void)snprintf(name, sizeof name, "limit-%u", i);
        while (!limits_add(&plan->limits, name, terms.capacity, terms.rate, terms.period_ns, terms.overshoot))
            terms.capacity++; /* others may have these terms */
    }
}

/* Keys that are nearly full most of the time, and then asked for much. */
static void draw_keys(struct plan *plan, struct random *random)
{
    for (unsigned k = 0; k < plan->keys; k++) {
        struct plan_key *key = &plan->key[k];
        const uint64_t capacity = plan->limits.limit[key->limit].capacity;
        if (draw_one_in(random, 4))
            continue; /* as it was drawn, but for its limit */
        key->skip = draw_one_in(random, 2) ? RARELY : 65535;
        key->cost_max = draw_one_in(random, 2) ? capacity : 1 + capacity / 8;
    }
}

static void draw_rules(struct plan *plan, struct random *random)
{
    for (unsigned r = 0; r < plan->asks.rules && !plan->asks.tides; r++) {
        struct plan_rule *rule = &plan->asks.rule[r];
        if (draw_one_in(random, 2))
            rule->cost_max = rule->terms.capacity;
    }
    if (draw_one_in(random, 2))
        plan->asks.gap_ns *= draw_scale(random, 1, 32);
}

/* Logs and leases whose tokens are asked for: without a home, of periods that are long enough. */
static void draw_long_logs(struct plan *plan)
{
    struct random random;
    struct error error;
    random_seed(&random, plan->seed * 23 + 5);
    for (unsigned r = 0; r < plan->asks.rules; r++) {
        struct plan_rule *rule = &plan->asks.rule[r];
        if (rule->terms.kind != LIMIT_LOG || (rule->terms.flags & LIMIT_SPLIT) != 0 || draw_one_in(&random, 3))
            continue;
        rule->terms.period_ns = draw_between(&random, GRANTED_AHEAD_NS, 2 * GRANTED_AHEAD_NS);
        const bool made = limit_init(&rule->limit, &rule->terms, &error);
        assert(made);
    }
}

void rights_draw(struct plan *plan, bool demand)
{
    struct random random;
    random_seed(&random, plan->seed * 9 + 11);
    plan->grants = plan->grants_eager = true;
    if (!demand || draw_one_in(&random, 4))
        return;
    plan->sips = plan->trickles = false;
    plan->greedy = plan->greedy && draw_one_in(&random, 2);
    plan->rushes_one = plan->gaps = plan->bursts = true;
    draw_limits(plan, &random);
    draw_keys(plan, &random);
    draw_rules(plan, &random);
    draw_long_logs(plan);
    plan->grants_eager = !draw_one_in(&random, 4);
}

/* ---- load ---- */

/* Whoever was refused comes again: soon after a round trip, or later. */
void rights_come_again(struct sim *sim, unsigned i, unsigned k, uint64_t cost)
{
    const uint64_t round_trip_ns = 2 * sim->plan.latency_max_ns + sim->plan.interval_ns / 4;
    uint64_t at_ns = sim->now_ns;
    for (unsigned times = 0; times < COMES_AGAIN; times++) {
        at_ns += draw_between(&sim->load_random, round_trip_ns / 2, 2 * round_trip_ns);
        (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_CLIENT,
                                                         .at_ns = at_ns,
                                                         .node = (uint8_t)i,
                                                         .key = (uint16_t)k,
                                                         .life = sim->node[i].lives,
                                                         .value = cost});
    }
}

void rights_burst(struct sim *sim, unsigned k)
{
    const unsigned i = (unsigned)random_below(&sim->load_random, sim->plan.nodes);
    const uint64_t capacity = sim_limit(sim, k)->capacity;
    const uint64_t most = draw_one_in(&sim->load_random, 2) ? capacity : 1 + capacity / 16;
    uint64_t wanted = 0;
    if (sim->node[i].life != LIFE_UP || sim->now_ns < sim->node[i].paused_until_ns)
        return;
    for (unsigned count = 0; count < BURST_REQUESTS_MAX && wanted < capacity && sim->failure[0] == '\0'; count++) {
        const uint64_t cost =
            draw_between(&sim->load_random, 1 + most / 2, most + 1 < capacity ? most + 1 : capacity);
        wanted += cost;
        if (!load_admit(sim, i, k, cost) && count % 8 == 0)
            rights_come_again(sim, i, k, cost);
    }
}
