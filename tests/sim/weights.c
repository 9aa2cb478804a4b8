/*
 * Worlds in which operators change the weights of regions, at any node, also two at a time, with all faults
 * (cluster/members/weights.h). Each node has a disk that writes a little later; a crash loses what it has not written.
 * What must hold there besides overshoot and reach:
 *
 *   shares   of all nodes together they are never more than the whole: after each step.
 *   agree    when faults are over, the weights that an operator sets last are in force everywhere, and nothing waits.
 */
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    NODES_MAX = 5,
    KEYS_MAX = 4,
    CHANGES = 24, /* in the time with faults, about */
    ROUNDS = 8,   /* of news, until a change is in force everywhere */
    AGAIN_INTERVALS = 16,
    WRITES_INTERVALS = 4, /* a disk takes so long at most */
    LARGEST_PERCENT = 85,
};

static void draw_members(struct plan *plan, struct random *random)
{
    if (plan->nodes >= 2 && plan->nodes <= NODES_MAX && plan->regions >= 2)
        return;
    plan->nodes = plan->regions = (unsigned)draw_between(random, 2, NODES_MAX);
    for (unsigned i = 0; i < plan->nodes; i++) {
        plan->node[i] = (struct plan_node){.region = (uint8_t)i,
                                           .drift_ppm = (int32_t)random_below(random, 400) - 200,
                                           .clock_ns = draw_scale(random, 1, UINT64_C(1) << 50),
                                           .start_ns = random_below(random, plan->interval_ns)};
        plan->weight[i] = SHARE_ONE / plan->nodes;
    }
    plan->seeds_only = false;
}

/* No overshoot, so that what two nodes may have at once shows at once; full again some changes later. */
static void draw_limit(struct plan *plan, struct random *random)
{
    uint64_t capacity = draw_between(random, 40, 400);
    plan->limits = (struct test_limits){0};
    while (!limits_add(&plan->limits, "strict", capacity, capacity,
                       plan->interval_ns * draw_between(random, 8, 120), 0))
        capacity--;
    for (unsigned k = 0; k < plan->keys; k++) {
        plan->key[k].limit = 0;
        plan->key[k].cost_max = draw_between(random, 1, 4);
    }
}

/* Few keys, which are asked for as much as there is, at once or a little at a time. */
static void draw_load(struct plan *plan, struct random *random)
{
    if (plan->keys > KEYS_MAX)
        plan->keys = (unsigned)draw_between(random, 1, KEYS_MAX);
    if (!draw_one_in(random, 3)) {
        draw_limit(plan, random);
        plan->greedy = !draw_one_in(random, 3);
        plan->trickles = plan->sips = false;
        plan->arrival_gap_ns = plan->interval_ns / draw_between(random, 2, 16);
        plan->shape = LOAD_EVEN;
    }
    if (!draw_one_in(random, 3))
        plan->asks.rules = 0;
    /* a static split keeps its bound only while shares stay as they are */
    for (unsigned r = 0; r < plan->asks.rules; r++) {
        struct plan_rule *rule = &plan->asks.rule[r];
        struct error error;
        rule->terms.flags &= (uint8_t)~LIMIT_SPLIT;
        const bool made = limit_init(&rule->limit, &rule->terms, &error);
        assert(made);
    }
}

void weights_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 13 + 5);
    draw_members(plan, &random);
    draw_load(plan, &random);
    if (!draw_one_in(&random, 3))
        plan->faults |= 1u << FAULT_CRASH | 1u << FAULT_SLOW_LINK | 1u << FAULT_CUT_ONE_WAY;
    plan->takeover_after_ns = 0;
    plan->weights = true;
    plan->safety_ns *= 2;
    plan->weights_gap_ns = plan->safety_ns / CHANGES;
    weights_auto_draw(plan);
}

static void post(struct sim *sim, uint64_t in_ns, uint64_t last)
{
    (void)queue_post(&sim->queue,
                     (struct happening){.kind = HAPPENS_WEIGHTS, .at_ns = sim->now_ns + in_ns, .value = last});
}

static uint64_t draw_gap_ns(struct sim *sim)
{
    return draw_one_in(&sim->weights.random, 2)
               ? random_below(&sim->weights.random, sim->plan.latency_max_ns + sim->plan.interval_ns)
               : 1 + random_below(&sim->weights.random, 2 * sim->plan.weights_gap_ns);
}

void weights_begin(struct sim *sim)
{
    if (!sim->plan.weights)
        return;
    random_seed(&sim->weights.random, sim->plan.seed * 13 + 6);
    if (!sim->plan.weights_alone)
        post(sim, draw_gap_ns(sim), 0);
}

void weights_heal(struct sim *sim)
{
    if (sim->plan.weights)
        post(sim, 1, 1);
}

/* ---- changes ---- */

/* One region gets the most, the others the rest; or each one its weight of the config. */
static void draw_change(struct sim *sim, struct weights_change *change, bool last)
{
    struct random *random = &sim->weights.random;
    const unsigned regions = sim->plan.regions, chosen = (unsigned)random_below(random, regions);
    const uint64_t percent = draw_between(random, 5, LARGEST_PERCENT);
    uint64_t left = WEIGHT_ONE_BILLIONTHS - WEIGHT_ONE_BILLIONTHS / 100 * percent;
    if (draw_one_in(random, 8))
        left /= 2;
    change->count = regions;
    for (unsigned r = 0; r < regions; r++) {
        (void)snprintf(change->part[r].region, NODE_NAME_BYTES, "%s", world_region_name(r));
        change->part[r].billionths = last          ? (sim->plan.weight[r] * WEIGHT_ONE_BILLIONTHS) >> 32
                                     : r == chosen ? WEIGHT_ONE_BILLIONTHS / 100 * percent
                                                   : left / (regions - 1);
    }
}

static bool set(struct sim *sim, unsigned i, bool last)
{
    struct weights_change change;
    memset(&change, 0, sizeof change);
    draw_change(sim, &change, last);
    if (!world_is_up(sim, i) || sim->now_ns < sim->node[i].paused_until_ns)
        return false;
    world_event(sim, i, &(struct event){.kind = EVENT_WEIGHTS, .weights = &change});
    if (!world_is_up(sim, i))
        return false;
    const struct weights_result *result = node_weights_result(sim->node[i].node);
    story_tell(sim, sim->node[i].name, "is told to set %s to %.3f: %s", change.part[0].region,
               (double)change.part[0].billionths / (double)WEIGHT_ONE_BILLIONTHS,
               result->refused     ? result->error.text
               : result->unchanged ? "unchanged"
                                   : "done");
    sim->weights.changes += !result->refused && !result->unchanged;
    return !result->refused;
}

void weights_arrive(struct sim *sim, const struct happening *happening)
{
    const unsigned i = (unsigned)random_below(&sim->weights.random, sim->plan.nodes);
    if (happening->value > 0) {
        /* it is set again: a version that was made on the other side of a cut may have a larger number */
        sim->weights.last_set |= set(sim, i, true);
        if (sim->phase == PHASE_AGREE)
            post(sim, (sim->weights.last_set ? AGAIN_INTERVALS : 1) * sim->plan.interval_ns, 1);
        return;
    }
    (void)set(sim, i, false);
    if (draw_one_in(&sim->weights.random, 2)) /* another operator elsewhere, who knows nothing of that */
        (void)set(sim, (i + 1) % sim->plan.nodes, false);
    const uint64_t gap_ns = draw_gap_ns(sim);
    if (sim->now_ns + gap_ns < sim->plan.safety_ns)
        post(sim, gap_ns, 0);
}

/* ---- disks ---- */

void weights_after_step(struct sim *sim, unsigned i)
{
    struct weights_disk *disk = &sim->weights.disk[i];
    const struct bytes text = sim->effects.weights_text;
    if (!sim->plan.weights)
        return;
    if (laws_sum_of_shares(sim) > SHARE_ONE)
        sim_fail(sim, "shares: they add up to %.6f", (double)laws_sum_of_shares(sim) / (double)SHARE_ONE);
    weights_auto_after_step(sim, i);
    if (text.size == 0)
        return;
    assert(text.size <= sizeof disk->waiting);
    memcpy(disk->waiting, text.data, text.size);
    disk->waiting_size = text.size;
    disk->waiting_number = sim->effects.weights_number;
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_WEIGHTS_KEPT,
                                                     .at_ns = sim->now_ns + random_below(&sim->weights.random,
                                                                                         WRITES_INTERVALS *
                                                                                             sim->plan.interval_ns),
                                                     .node = (uint8_t)i,
                                                     .life = sim->node[i].lives,
                                                     .value = disk->waiting_number});
}

static void write(struct weights_disk *disk)
{
    if (disk->waiting_size == 0)
        return;
    memcpy(disk->kept, disk->waiting, disk->waiting_size);
    disk->kept_size = disk->waiting_size;
    disk->kept_number = disk->waiting_number;
    disk->waiting_size = 0;
}

/* A power cut comes before the disk has written, and the network is gone for longer than its node waits for it. */
static void cut_power(struct sim *sim, unsigned i)
{
    uint64_t ns = 2 * (sim->plan.join_timeout_ns + sim->plan.silent_after_ns + sim->plan.fault_max_ns);
    if (ns > sim->plan.safety_ns - sim->now_ns)
        ns = sim->plan.safety_ns - sim->now_ns;
    story_tell(sim, sim->node[i].name, "loses its power, and the network for %.3f s", (double)ns / 1e9);
    for (unsigned j = 0; j < sim->plan.nodes; j++) {
        struct link *const links[] = {&sim->link[i][j], &sim->link[j][i]};
        for (unsigned l = 0; l < 2; l++) {
            links[l]->cut_from_ns = sim->now_ns;
            if (links[l]->cut_until_ns < sim->now_ns + ns)
                links[l]->cut_until_ns = sim->now_ns + ns;
        }
    }
    faults_crash(sim, i);
}

void weights_kept(struct sim *sim, const struct happening *happening)
{
    struct sim_node *n = &sim->node[happening->node];
    struct weights_disk *disk = &sim->weights.disk[happening->node];
    if (happening->life != n->lives || happening->value != disk->waiting_number || n->node == NULL)
        return;
    if (sim->now_ns < n->paused_until_ns) {
        struct happening later = *happening;
        later.at_ns = n->paused_until_ns;
        (void)queue_post(&sim->queue, later);
        return;
    }
    if ((sim->plan.faults & 1u << FAULT_CRASH) != 0 && sim->now_ns < sim->plan.safety_ns &&
        draw_one_in(&sim->weights.random, 12))
        cut_power(sim, happening->node);
    if (n->node == NULL)
        return;
    write(disk);
    world_event(sim, happening->node,
                &(struct event){.kind = EVENT_WEIGHTS_KEPT, .weights_number = disk->kept_number});
}

/* Who ends in peace writes what waits. */
void weights_node_ends(struct sim *sim, unsigned i, bool crashes)
{
    struct weights_disk *disk = &sim->weights.disk[i];
    if (!crashes)
        write(disk);
    disk->waiting_size = 0;
    sim->weights.seen.made_ns[i] = 0; /* its clock may begin anew */
}

void weights_restore(struct sim *sim, unsigned i)
{
    const struct weights_disk *disk = &sim->weights.disk[i];
    if (disk->kept_size == 0)
        return;
    const struct event event = {.kind = EVENT_RESTORE,
                                .now_ns = world_local_ns(sim, i),
                                .weights_text = {disk->kept, disk->kept_size},
                                .weights_number = disk->kept_number};
    node_step(sim->node[i].node, &event, &sim->effects);
}

/* ---- the end ---- */

uint64_t weights_agree_ns(const struct sim *sim)
{
    /* one by demand may have come between, until it is set again */
    const uint64_t again_ns = sim->plan.weights_by_demand_ns > 0 ? 2 * AGAIN_INTERVALS * sim->plan.interval_ns : 0;
    return sim->plan.weights ? 2 * ROUNDS * (sim->plan.interval_ns + laws_settle_ns(sim)) + again_ns : 0;
}

bool weights_are_over(struct sim *sim, unsigned i, char *text, size_t room)
{
    static struct weights_report report;
    if (!sim->plan.weights || (sim->plan.weights_by_demand_ns > 0 && sim->phase != PHASE_AGREE))
        return true; /* later on demand has gone on from there */
    node_weights(sim->node[i].node, &report);
    if (!sim->weights.last_set) {
        (void)snprintf(text, room, "the last weights are not set");
        return false;
    }
    if (report.pending) {
        (void)snprintf(text, room, "weights %" PRIu64 " wait at %s for %s: %s", report.pending->stamp.number,
                       sim->node[i].name, report.wait_count > 0 ? report.wait[0].name : "nobody",
                       report.wait_count > 0 ? weights_wait_name(report.wait[0].why) : "");
        return false;
    }
    for (unsigned r = 0; r < sim->plan.regions; r++) {
        const uint64_t expected = (sim->plan.weight[r] * WEIGHT_ONE_BILLIONTHS) >> 32;
        if (report.row[r].base_billionths != expected && sim->weights.changes > 0) {
            (void)snprintf(text, room, "%s has weights %" PRIu64 " with %" PRIu64 " for %s, not %" PRIu64,
                           sim->node[i].name, report.base->stamp.number, report.row[r].base_billionths,
                           report.row[r].region, expected);
            return false;
        }
    }
    return true;
}
