/*
 * Worlds in which rights end by themselves (cluster/members/takeover.h), and what must hold there besides overshoot
 * and reach:
 *
 *   apart   of two nodes that act, each waits for the other: the first law of tests/model. A node acts while it has its
 *           right by its own clock.
 *   agree   when faults are over, all act again, and nobody's allowance is lowered for anybody.
 *
 * Clocks differ by 1% at most. They do not stand still, nor jump: a machine that stands still, all its clocks with it,
 * keeps its right for as long (docs/notebook/takeover.md).
 *
 * lonely_draw draws worlds with the same cuts in which no right ends: members are waited for, and charges wait
 * (cluster/apply/uncharged.h).
 */
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <stdio.h>
#include <string.h>

enum {
    DRIFT_PPM = 4950,
    NODES_MAX = 5,
    KEYS_MAX = 4,
    LIVES = 6,      /* of rights, in which there are faults */
    LONG_TIMES = 4, /* the longest fault, in lives of a right */
};

/* Between three and five nodes: there is a majority without one of them, and often none without two. */
static void draw_members(struct plan *plan, struct random *random)
{
    if (plan->nodes < 3 || plan->nodes > NODES_MAX) {
        plan->nodes = plan->regions = (unsigned)draw_between(random, 3, NODES_MAX);
        for (unsigned i = 0; i < plan->nodes; i++) {
            plan->node[i] = (struct plan_node){.region = (uint8_t)i,
                                               .clock_ns = draw_scale(random, 1, UINT64_C(1) << 50),
                                               .start_ns = random_below(random, plan->interval_ns)};
            plan->weight[i] = SHARE_ONE / plan->nodes;
        }
    }
    for (unsigned i = 0; i < plan->nodes; i++) {
        plan->node[i].unnamed = false;
        plan->node[i].drift_ppm = (int32_t)random_below(random, 2 * DRIFT_PPM + 1) - DRIFT_PPM;
    }
    plan->seeds_only = false;
}

/* Few keys, which are asked for as much as there is: what is settled without a node, or not counted, shows at once. */
static void draw_load(struct plan *plan, struct random *random)
{
    if (plan->keys > KEYS_MAX)
        plan->keys = (unsigned)draw_between(random, 1, KEYS_MAX);
    plan->greedy |= draw_one_in(random, 2);
    if (!draw_one_in(random, 3))
        plan->asks.rules = 0;
}

/* Links are cut for as long as `long_ns`, and some times as long. */
static void draw_cuts(struct plan *plan, struct random *random, uint64_t long_ns)
{
    plan->faults &= (1u << FAULT_CUT_ONE_WAY | 1u << FAULT_CUT_BOTH | 1u << FAULT_PARTITION |
                     1u << FAULT_SLOW_LINK | 1u << FAULT_PAUSE | 1u << FAULT_CRASH);
    plan->faults |= 1u << (draw_one_in(random, 3) ? FAULT_CUT_BOTH : FAULT_PARTITION);
    plan->fault_min_ns = plan->interval_ns;
    plan->fault_max_ns = draw_between(random, 2, LONG_TIMES) * long_ns;
    plan->fault_gap_ns = long_ns / draw_between(random, 1, 3);
    plan->safety_ns += (2 + LIVES) * long_ns;
}

void takeover_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 11 + 3);
    draw_members(plan, &random);
    draw_load(plan, &random);
    if (draw_one_in(&random, 2))
        plan->join_timeout_ns = 0; /* nobody begins without having heard the others */
    plan->takeover_after_ns = plan->interval_ns * draw_between(&random, 16, 40) + 8 * plan->latency_max_ns;
    draw_cuts(plan, &random, plan->takeover_after_ns);
}

void lonely_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 13 + 5);
    draw_members(plan, &random);
    draw_load(plan, &random);
    plan->silent_after_ns = plan->interval_ns * draw_between(&random, 8, 20) + 4 * plan->latency_max_ns;
    draw_cuts(plan, &random, 2 * plan->silent_after_ns);
}

uint64_t takeover_agree_ns(const struct sim *sim)
{
    const uint64_t life_ns = sim->plan.takeover_after_ns + sim->plan.takeover_after_ns / 20;
    return life_ns == 0 ? 0 : (sim->plan.nodes + 3) * life_ns;
}

static bool acts(const struct sim *sim, unsigned i)
{
    struct node_status status;
    if (!world_is_up(sim, i))
        return false;
    node_status(sim->node[i].node, &status);
    return status.right == RIGHT_HELD && world_local_ns(sim, i) < status.right_ends_ns;
}

static enum right_state right_at(const struct sim *sim, unsigned i, unsigned peer)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    size_t count = node_peers(sim->node[i].node, world_local_ns(sim, i), reports);
    for (size_t r = 0; r < count; r++)
        if (strcmp(reports[r].name, sim->node[peer].name) == 0)
            return reports[r].right;
    return RIGHT_UNLIMITED;
}

void takeover_after_step(struct sim *sim)
{
    if (sim->plan.takeover_after_ns == 0 || sim->plan.corrupt > 0)
        return;
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        for (unsigned j = 0; j < sim->plan.nodes && acts(sim, i); j++)
            if (j != i && right_at(sim, i, j) == RIGHT_TAKEN && acts(sim, j))
                sim_fail(sim, "apart: %s and %s act, and the first does not wait for the second", sim->node[i].name,
                         sim->node[j].name);
}

bool takeover_is_over(struct sim *sim, unsigned i, char *text, size_t room)
{
    struct node_status status;
    if (sim->plan.takeover_after_ns == 0)
        return true;
    node_status(sim->node[i].node, &status);
    if (status.right != RIGHT_HELD || status.gone_share > 0) {
        (void)snprintf(text, room, "the right of %s is %s, and it holds back for %.2f of all shares",
                       sim->node[i].name, right_state_name(status.right),
                       (double)status.gone_share / (double)SHARE_ONE);
        return false;
    }
    return true;
}
