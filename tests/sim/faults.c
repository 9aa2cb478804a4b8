#include "tests/sim/laws.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Every fault is over when the phase with faults is over. */
static uint64_t draw_duration_ns(struct sim *sim)
{
    uint64_t ns = draw_between(&sim->fault_random, sim->plan.fault_min_ns, sim->plan.fault_max_ns);
    uint64_t left_ns = sim->plan.safety_ns - sim->now_ns;
    return ns < left_ns ? ns : left_ns;
}

static double seconds(uint64_t ns)
{
    return (double)ns / 1e9;
}

static void post_next(struct sim *sim)
{
    uint64_t at_ns = sim->now_ns + 1 + random_below(&sim->fault_random, 2 * sim->plan.fault_gap_ns);
    if (at_ns < sim->plan.safety_ns)
        (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_FAULT, .at_ns = at_ns});
}

void faults_begin(struct sim *sim)
{
    if (sim->plan.faults != 0)
        post_next(sim);
}

static void cut(struct sim *sim, unsigned from, unsigned to, uint64_t until_ns)
{
    struct link *link = &sim->link[from][to];
    link->cut_from_ns = sim->now_ns;
    if (until_ns > link->cut_until_ns)
        link->cut_until_ns = until_ns;
}

static void cut_link(struct sim *sim, unsigned i, bool both_ways)
{
    unsigned j = (i + 1 + (unsigned)random_below(&sim->fault_random, sim->plan.nodes - 1)) % sim->plan.nodes;
    uint64_t ns = draw_duration_ns(sim);
    cut(sim, i, j, sim->now_ns + ns);
    if (both_ways)
        cut(sim, j, i, sim->now_ns + ns);
    story_tell(sim, "network", "cuts %s %s %s for %.3f s", sim->node[i].name, both_ways ? "from" : "to",
               sim->node[j].name, seconds(ns));
}

void faults_cut_off(struct sim *sim, unsigned i, uint64_t ns)
{
    const uint64_t left_ns = sim->plan.safety_ns > sim->now_ns ? sim->plan.safety_ns - sim->now_ns : 0;
    ns = ns < left_ns ? ns : left_ns;
    for (unsigned j = 0; j < sim->plan.nodes; j++)
        if (j != i)
            cut(sim, i, j, sim->now_ns + ns);
    story_tell(sim, "network", "cuts %s off, outwards only, for %.3f s", sim->node[i].name, seconds(ns));
}

static void partition(struct sim *sim)
{
    unsigned all = (1u << sim->plan.nodes) - 1;
    unsigned group = 1 + (unsigned)random_below(&sim->fault_random, all - 1);
    uint64_t ns = draw_duration_ns(sim);
    bool one_way = draw_one_in(&sim->fault_random, 5);
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        for (unsigned j = 0; j < sim->plan.nodes; j++) {
            bool i_inside = group >> i & 1, j_inside = group >> j & 1;
            if (i_inside != j_inside && (i_inside || !one_way))
                cut(sim, i, j, sim->now_ns + ns);
        }
    char text[128] = "";
    int used = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        if (group >> i & 1)
            used += snprintf(text + used, sizeof text - (size_t)used, " %s", sim->node[i].name);
    story_tell(sim, "network", "cuts the group%s off%s for %.3f s", text, one_way ? ", outwards only," : "",
               seconds(ns));
}

static void slow_link(struct sim *sim, unsigned i)
{
    unsigned j = (i + 1 + (unsigned)random_below(&sim->fault_random, sim->plan.nodes - 1)) % sim->plan.nodes;
    uint64_t ns = draw_duration_ns(sim);
    sim->link[i][j].slow_until_ns = sim->now_ns + ns;
    story_tell(sim, "network", "is slow from %s to %s for %.3f s", sim->node[i].name, sim->node[j].name,
               seconds(ns));
}

static void pause_node(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    uint64_t ns = draw_duration_ns(sim);
    if (!world_is_up(sim, i))
        return;
    n->paused_until_ns = sim->now_ns + ns;
    n->pause_drops = draw_one_in(&sim->fault_random, 2);
    story_tell(sim, n->name, "is paused for %.3f s; what arrives meanwhile %s", seconds(ns),
               n->pause_drops ? "is lost" : "waits");
}

static bool another_is_active(const struct sim *sim, unsigned i)
{
    for (unsigned j = 0; j < sim->plan.nodes; j++)
        if (j != i && sim->node[j].life == LIFE_UP && !sim->node[j].was_joining)
            return true;
    return false;
}

/* Whoever knows but one address cannot return when that one is gone. */
static bool may_go_for_good(const struct sim *sim, unsigned i)
{
    unsigned count = 0;
    for (unsigned j = 0; j < sim->plan.nodes; j++)
        count += sim->node[j].life != LIFE_FORGOTTEN && !sim->node[j].stays_away;
    /* of two, the other one is the majority: see liars.c */
    return count > (sim->plan.lies ? 3u : 2u) && !(sim->plan.seeds_only && i == 0);
}

static void post_start(struct sim *sim, unsigned i)
{
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_START,
                                                     .at_ns = sim->now_ns + draw_duration_ns(sim),
                                                     .node = (uint8_t)i});
}

void faults_crash(struct sim *sim, unsigned i)
{
    if (!world_is_up(sim, i) || !another_is_active(sim, i))
        return;
    world_crash(sim, i);
    post_start(sim, i);
}

static void post_forget(struct sim *sim, unsigned told, unsigned gone, uint64_t in_ns)
{
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_FORGET,
                                                     .at_ns = sim->now_ns + in_ns,
                                                     .node = (uint8_t)told,
                                                     .from = (uint8_t)gone});
}

static bool goes_for_good(struct sim *sim)
{
    if (!sim->plan.restarts)
        return draw_one_in(&sim->fault_random, 3);
    return draw_one_in(&sim->fault_random, 24) && sim->plan.takeover_after_ns == 0;
}

static void leave(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    if (n->life != LIFE_UP || !another_is_active(sim, i) || sim->now_ns < n->paused_until_ns)
        return;
    n->stays_away = may_go_for_good(sim, i) && goes_for_good(sim);
    n->life = LIFE_LEAVING;
    n->leave_by_ns = sim->now_ns + sim->plan.leave_timeout_ns;
    story_tell(sim, n->name, "is asked to leave%s", n->stays_away ? " for good" : "");
    if (n->stays_away) /* in case nobody heard its goodbye */
        post_forget(sim, (i + 1) % sim->plan.nodes, i, draw_duration_ns(sim) + 2 * sim->plan.leave_timeout_ns);
    else
        post_start(sim, i);
    world_step(sim, i, EVENT_STOP, (struct bytes){0}, NULL);
}

static void forget(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    if (!world_is_up(sim, i) || !another_is_active(sim, i) || !may_go_for_good(sim, i))
        return;
    n->stays_away = true;
    world_crash(sim, i);
    post_forget(sim, (i + 1) % sim->plan.nodes, i, draw_duration_ns(sim));
}

/*
 * Tells a peer that is up; the operator asks another if it is not, and again later if nobody is. Who is forgotten while
 * it still leaves loses what it has not told, which nothing promises to bound: so the operator waits until the process
 * has ended, also if its clock stands still.
 */
void faults_forget(struct sim *sim, const struct happening *happening)
{
    for (unsigned step = 0; step < sim->plan.nodes && !world_is_up(sim, happening->from); step++) {
        unsigned i = (happening->node + step) % sim->plan.nodes;
        if (sim->node[i].life != LIFE_UP || sim->now_ns < sim->node[i].paused_until_ns)
            continue;
        const char *gone = sim->node[happening->from].name;
        story_tell(sim, sim->node[i].name, "is told to forget %s", gone);
        world_step(sim, i, EVENT_FORGET, (struct bytes){0}, gone);
        if (sim->plan.lies) /* it takes a majority: all are told, and again, since a word ends with a crash */
            continue;
        return;
    }
    post_forget(sim, happening->node, happening->from, sim->plan.interval_ns);
}

static void jump(struct sim *sim, unsigned i)
{
    uint64_t ns = draw_scale(&sim->fault_random, sim->plan.interval_ns / 10, sim->plan.fault_max_ns);
    if (!world_is_up(sim, i))
        return;
    clock_jump(&sim->node[i].clock, sim->now_ns, ns);
    rights_clock_leaps(sim, i, ns);
    clock_jump(&sim->fast, sim->now_ns, ns);
    story_tell(sim, sim->node[i].name, "has its clock jump %.3f s ahead", seconds(ns));
    world_rearm(sim, i);
}

static void stall(struct sim *sim, unsigned i)
{
    uint64_t ns = draw_duration_ns(sim);
    bool catches_up = draw_one_in(&sim->fault_random, 2);
    if (!world_is_up(sim, i))
        return;
    clock_stall(&sim->node[i].clock, sim->now_ns);
    clock_stall(&sim->slow, sim->now_ns);
    story_tell(sim, sim->node[i].name, "has its clock stand still for %.3f s%s", seconds(ns),
               catches_up ? ", then catch up" : "");
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_CLOCK_GOES,
                                                     .at_ns = sim->now_ns + ns,
                                                     .node = (uint8_t)i,
                                                     .life = sim->node[i].lives,
                                                     .value = catches_up ? ns : 0});
    world_rearm(sim, i);
}

void faults_clock_goes(struct sim *sim, const struct happening *happening)
{
    struct sim_node *n = &sim->node[happening->node];
    clock_go(&sim->slow, sim->now_ns);
    if (happening->life != n->lives)
        return;
    clock_go(&n->clock, sim->now_ns);
    if (happening->value > 0 && n->clock.stalls == 0) {
        clock_jump(&n->clock, sim->now_ns, happening->value);
        rights_clock_leaps(sim, happening->node, happening->value);
        clock_jump(&sim->fast, sim->now_ns, happening->value);
    }
    world_rearm(sim, happening->node);
}

static void strike(struct sim *sim, enum fault_kind kind, unsigned i)
{
    switch (kind) {
    case FAULT_CUT_ONE_WAY:
        cut_link(sim, i, false);
        break;
    case FAULT_CUT_BOTH:
        cut_link(sim, i, true);
        break;
    case FAULT_PARTITION:
        partition(sim);
        break;
    case FAULT_SLOW_LINK:
        slow_link(sim, i);
        break;
    case FAULT_PAUSE:
        pause_node(sim, i);
        break;
    case FAULT_CRASH:
        faults_crash(sim, i);
        break;
    case FAULT_LEAVE:
        leave(sim, i);
        break;
    case FAULT_FORGET:
        forget(sim, i);
        break;
    case FAULT_JUMP:
        jump(sim, i);
        break;
    case FAULT_STALL:
        stall(sim, i);
        break;
    case FAULT_KINDS:
        break;
    }
}

void faults_strike(struct sim *sim)
{
    unsigned kind;
    do {
        kind = (unsigned)random_below(&sim->fault_random, FAULT_KINDS);
    } while (!(sim->plan.faults >> kind & 1));
    strike(sim, (enum fault_kind)kind, (unsigned)random_below(&sim->fault_random, sim->plan.nodes));
    post_next(sim);
}

static bool still_counts(const struct sim *sim, unsigned i, unsigned gone)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    size_t count = node_peers(sim->node[i].node, world_local_ns(sim, i), reports);
    for (size_t r = 0; r < count; r++)
        if (strcmp(reports[r].name, sim->node[gone].name) == 0)
            return reports[r].state != PEER_LEFT;
    return false;
}

uint64_t faults_longest_way_ns(const struct sim *sim)
{
    uint64_t ns = sim->plan.latency_max_ns;
    if ((sim->plan.faults & 1u << FAULT_SLOW_LINK) != 0)
        ns = SLOW_TIMES * ns + sim->plan.interval_ns;
    return ns + ns / 65536 * sim->plan.jitter;
}

static bool somebody_leaves(const struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        if (sim->node[i].life == LIFE_LEAVING)
            return true;
    return false;
}

/* All that is said by now has come when the operator looks. */
static void post_look(struct sim *sim, uint64_t in_ns)
{
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_LOOK,
                                                     .at_ns = sim->now_ns + faults_longest_way_ns(sim) + 1 + in_ns,
                                                     .value = somebody_leaves(sim)});
}

/* Whoever was told before may have crashed before it could tell others: the operator looks, and says it again. */
static void look(struct sim *sim)
{
    for (unsigned gone = 0; gone < sim->plan.nodes; gone++) {
        if (sim->node[gone].life != LIFE_FORGOTTEN)
            continue;
        for (unsigned i = 0; i < sim->plan.nodes; i++)
            if (sim->node[i].life == LIFE_UP && still_counts(sim, i, gone)) {
                post_forget(sim, i, gone, 0);
                break;
            }
    }
}

/*
 * The last words of who is gone may still be on their way when faults are over: whoever hears of its last start takes
 * it for back. And who was cut off, and leaves now, may be the only one that knows of it, as active: the others were
 * told to forget a peer that their configs do not name any more, could not, and hear of it only now. So the operator
 * looks once more when such words have come, until nobody leaves.
 */
void faults_look(struct sim *sim, const struct happening *happening)
{
    look(sim);
    if (happening->value > 0 || somebody_leaves(sim))
        post_look(sim, sim->plan.interval_ns);
}

void faults_heal(struct sim *sim)
{
    sim->plan.loss = sim->plan.duplicate = sim->plan.corrupt = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        for (unsigned j = 0; j < sim->plan.nodes; j++) {
            sim->link[i][j].cut_until_ns = sim->link[i][j].slow_until_ns = 0;
            sim->link[i][j].last_arrival_ns = 0;
        }
        if (sim->node[i].life == LIFE_DOWN)
            world_start(sim, i);
    }
    look(sim);
    if ((sim->plan.faults & (1u << FAULT_FORGET | 1u << FAULT_LEAVE)) != 0)
        post_look(sim, 0);
}
