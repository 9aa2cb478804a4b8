/*
 * What must hold of vouchers, at every moment, besides overshoot and reach, which count them (laws.c):
 *
 *   rights  peers grant no more than was asked for, but for rounding; a node receives no more than was granted,
 *           and uses no more than it has received.
 *
 * A voucher decays by the clock of its holder. Where clocks jump or stand still, the truth, which the fastest clock
 * refills, may have lost more at the capacity than the holder knows: at most what is in vouchers.
 */
#include "tests/sim/sim.h"

#include <inttypes.h>

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

bool rights_clocks_differ(const struct sim *sim)
{
    return (sim->plan.faults & (1u << FAULT_JUMP | 1u << FAULT_STALL)) != 0;
}

int64_t rights_slack_units(const struct sim *sim, const struct limit *limit)
{
    uint64_t granted = sim->rights.granted < limit->capacity ? sim->rights.granted : limit->capacity;
    return rights_clocks_differ(sim) && limit->kind == LIMIT_BUCKET ? (int64_t)granted * limit->units_per_token : 0;
}

void rights_node_starts(struct sim *sim, unsigned i)
{
    sim->rights.was[i] = (struct rights_figures){0};
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
    *was = (struct rights_figures){
        .asks = stats.rights_asked,
        .asked = stats.rights_asked_tokens,
        .granted = stats.rights_granted_tokens,
        .grants = stats.rights_granted,
        .received = stats.rights_received_tokens,
        .used = stats.rights_used_tokens,
    };
    sim->rights.granted = all->granted;
    if (laws_are_off(sim))
        return;
    if (stats.rights_used_tokens > stats.rights_received_tokens)
        sim_fail(sim, "rights: %s has used %" PRIu64 " tokens of others, of %" PRIu64 " that it received",
                 sim->node[i].name, stats.rights_used_tokens, stats.rights_received_tokens);
    else if (all->received > all->granted)
        sim_fail(sim, "rights: %" PRIu64 " tokens were received, of %" PRIu64 " granted", all->received,
                 all->granted);
    else if (all->granted > all->asked + 2 * all->grants || all->grants > sim->plan.nodes * all->asks)
        sim_fail(sim,
                 "rights: %" PRIu64 " tokens were granted in %" PRIu64 " grants, of %" PRIu64
                 " asked for in %" PRIu64 " asks",
                 all->granted, all->grants, all->asked, all->asks);
}
