/*
 * What must hold of vouchers, at every moment, besides overshoot and reach, which count them (laws.c):
 *
 *   rights  peers grant no more than was asked for, but for rounding; a node receives no more than was granted,
 *           and uses no more than it has received.
 *
 * A voucher decays by the clock of its holder, or by one that does not stand still. When another clock jumps ahead, the
 * truth, which the fastest clock refills, may lose more at the capacity than the holder knows: at most what is in
 * vouchers then. From then on as much may be missing; until it happens, nothing may.
 */
#include "tests/sim/sim.h"

#include <inttypes.h>

#define LIFE_NS UINT64_C(4000000000) /* of a voucher */
#define SLEEPLESS_ORIGIN_NS UINT64_C(5000000000)

enum {
    DRIFT_PART = 500, /* clocks that are not wrong run apart by no more than this part */
    DRIFT_LEAST_NS = 1000,
};

int64_t rights_units(struct sim *sim, unsigned i, struct key_id id, uint16_t limit, const struct limit *of)
{
    struct explanation explanation;
    struct node_status status;
    node_status(sim->node[i].node, &status);
    if (!status.decides)
        return 0;
    node_explain(sim->node[i].node, id, limit, world_local_ns(sim, i), &explanation);
    return (int64_t)explanation.voucher_tokens * of->units_per_token;
}

static const struct sim *sleepless;

uint64_t rights_sleepless_ns(void)
{
    return SLEEPLESS_ORIGIN_NS + sleepless->now_ns;
}

/* Vouchers that were out when a clock was wrong, or soon after, may be worth too much. */
static void note_clocks(struct sim *sim)
{
    uint64_t fast_ns = clock_read(&sim->fast, sim->now_ns);
    uint64_t apart_ns = fast_ns > sim->now_ns ? fast_ns - sim->now_ns : 0;
    uint64_t drifted_ns = (sim->now_ns - sim->rights.looked_ns) / DRIFT_PART + DRIFT_LEAST_NS;
    if (apart_ns > sim->rights.apart_ns + drifted_ns)
        sim->rights.wrong_until_ns = sim->now_ns + 2 * LIFE_NS;
    if (sim->now_ns < sim->rights.wrong_until_ns)
        sim->rights.doubtful = sim->rights.all.granted;
    sim->rights.apart_ns = apart_ns;
    sim->rights.looked_ns = sim->now_ns;
}

int64_t rights_slack_units(struct sim *sim, const struct limit *limit)
{
    note_clocks(sim);
    uint64_t tokens = sim->rights.doubtful < limit->capacity ? sim->rights.doubtful : limit->capacity;
    return limit->kind == LIMIT_BUCKET ? (int64_t)tokens * limit->units_per_token : 0;
}

void rights_node_starts(struct sim *sim, unsigned i)
{
    sim->rights.was[i] = (struct rights_figures){0};
    sleepless = sim;
}

void rights_after_step(struct sim *sim, unsigned i)
{
    struct node_stats stats;
    struct rights_figures *was = &sim->rights.was[i], *all = &sim->rights.all;
    node_stats(sim->node[i].node, &stats);
    all->asks += stats.rights_asked - was->asks;
    all->asked += stats.rights_asked_tokens - was->asked;
    all->granted += stats.rights_granted_tokens - was->granted;
    all->grants += stats.rights_granted - was->grants;
    all->received += stats.rights_received_tokens - was->received;
    all->used += stats.rights_used_tokens - was->used;
    all->returned += stats.rights_returned_tokens - was->returned;
    *was = (struct rights_figures){
        .asks = stats.rights_asked,
        .asked = stats.rights_asked_tokens,
        .granted = stats.rights_granted_tokens,
        .grants = stats.rights_granted,
        .received = stats.rights_received_tokens,
        .used = stats.rights_used_tokens,
        .returned = stats.rights_returned_tokens,
    };
    note_clocks(sim);
    if (laws_are_off(sim))
        return;
    if (stats.rights_used_tokens + stats.rights_returned_tokens > stats.rights_received_tokens)
        sim_fail(sim,
                 "rights: %s has used %" PRIu64 " tokens of others and given %" PRIu64 " back, of %" PRIu64
                 " that it received",
                 sim->node[i].name, stats.rights_used_tokens, stats.rights_returned_tokens,
                 stats.rights_received_tokens);
    else if (all->received > all->granted)
        sim_fail(sim, "rights: %" PRIu64 " tokens were received, of %" PRIu64 " granted", all->received,
                 all->granted);
    else if (all->granted > all->asked + 2 * all->grants || all->grants > sim->plan.nodes * all->asks)
        sim_fail(sim,
                 "rights: %" PRIu64 " tokens were granted in %" PRIu64 " grants, of %" PRIu64
                 " asked for in %" PRIu64 " asks",
                 all->granted, all->grants, all->asked, all->asks);
}
