/*
 * The lives of nodes in a simulated world: each step, what comes of its effects, when a node wakes next, and how a life
 * ends, in good order or in a crash. How nodes come to be is in world_start.c.
 */
#include "tests/sim/world.h"

#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define MS UINT64_C(1000000)

void world_close(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        node_destroy(&sim->node[i].node);
}

bool world_is_up(const struct sim *sim, unsigned i)
{
    return sim->node[i].node != NULL;
}

bool world_all_is_charged(const struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        if (world_is_up(sim, i) && uncharged_keys(sim->node[i].node) > 0)
            return false;
    return true;
}

bool world_is_acknowledged(const struct sim *sim, unsigned i)
{
    return all_have_heard(sim->node[i].node) && world_all_is_charged(sim);
}

void world_change_thread(struct sim *sim)
{
    node_use_thread(sim->plan.threads > 1 ? (uint32_t)random_below(&sim->thread_random, sim->plan.threads) : 0);
}

uint64_t world_local_ns(const struct sim *sim, unsigned i)
{
    const struct sim_node *n = &sim->node[i];
    return held_clock_show(&n->held, clock_read(&n->clock, sim->now_ns));
}

int64_t world_paid_off_units(const struct sim *sim, unsigned i, const struct limit *limit, uint64_t tokens,
                             uint64_t share)
{
    uint64_t away_ns = clock_read(&sim->fast, sim->now_ns) - sim->node[i].acked_ns;
    uint64_t ticks = away_ns / limit->tick_ns + 1;
    int64_t refill = ticks > (uint64_t)(limit->capacity_units / limit->units_per_tick)
                         ? limit->capacity_units
                         : (int64_t)ticks * limit->units_per_tick;
    int64_t spent = tokens > limit->capacity ? limit->capacity_units : (int64_t)tokens * limit->units_per_token;
    int64_t paid = units_times(refill, share) + 1;
    return spent < paid ? spent : paid;
}

/*
 * What this node had spent and somebody may not know: it may be lost with it, and is no fault of the rule. To
 * a node that knows of no peer, everything is settled: all that it knows is lost with it.
 */
static void refund_unsettled(struct sim *sim, unsigned i)
{
    struct node_status status;
    struct table_stats table;
    node_status(sim->node[i].node, &status);
    node_table_stats(sim->node[i].node, &table);
    sim->evicted |= table.evicted_harmful_keys > 0;
    if (status.peers == 1 && status.state != PEER_JOINING)
        laws_knowledge_lost(sim, i);
    ask_lost_with(sim, i, status.share);
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const struct plan_key *key = &sim->plan.key[k];
        const struct limit *limit = sim_limit(sim, k);
        int64_t units =
            sim_bucket(sim, i, k).unsettled +
            world_paid_off_units(sim, i, limit, sim->node[i].life_tokens[k] + sim->rights.was[i].granted,
                                 homes_share(sim, i, key->id, key->limit, status.share));
        if (units <= 0)
            continue;
        truth_now(sim, k);
        rights_lost_with(sim, i, k, units);
        sim->knowledge_lost = true;
        story_tell(sim, sim->node[i].name, "takes up to %.2f tokens of key %u with it", truth_tokens(limit, units),
                   k);
    }
}

static void end_life(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    ask_node_ends(sim, i);
    edit_node_ends(sim, i);
    node_destroy(&n->node);
    n->life = n->stays_away ? LIFE_FORGOTTEN : LIFE_DOWN;
    n->lives++;
    n->cold = n->unawaited = n->lied_to = false;
    n->paused_until_ns = 0;
    n->incarnation += 1 + random_below(&sim->fault_random, 1000);
    for (unsigned j = 0; j < sim->plan.nodes; j++)
        n->hears[j] = false;
    /* Another boot, another clock. */
    clock_init(&n->clock, sim->now_ns, draw_scale(&sim->fault_random, 1, UINT64_C(1) << 50), n->clock.drift_ppm);
    n->held = (struct held_clock){0};
}

void world_crash(struct sim *sim, unsigned i)
{
    assert(world_is_up(sim, i));
    story_tell(sim, sim->node[i].name, "crashes");
    refund_unsettled(sim, i);
    weights_node_ends(sim, i, true);
    lists_node_ends(sim, i, true);
    end_life(sim, i);
}

static void hash_effects(struct sim *sim, unsigned i)
{
    const struct effects *effects = &sim->effects;
    if (sim->beside)
        return;
    sim_hash_u64(sim, i);
    sim_hash_u64(sim, effects->next_wake_ns);
    sim_hash_u64(sim, effects->left);
    for (size_t e = 0; e < effects->effect_count; e++) {
        struct bytes bytes = effect_bytes(effects, &effects->effect[e]);
        sim_hash_u64(sim, effects->effect[e].kind);
        sim_hash(sim, effects->effect[e].address, strlen(effects->effect[e].address));
        sim_hash(sim, bytes.data, bytes.size);
    }
    for (size_t t = 0; t < effects->notice_count; t++)
        sim_hash(sim, effects->notice[t].text, strlen(effects->notice[t].text));
}

static void trace_step(struct sim *sim, unsigned i, enum event_kind kind)
{
    static const char *const kinds[] = {"start", "wake",    "message", "request", "response", "forget",  "mute",
                                        "stop",  "restore", "retell",  "rules",   "health",   "weights", "kept"};
    static const char *const effects[] = {"publish", "request", "reply", "connect", "disconnect"};
    char text[512];
    int used = snprintf(text, sizeof text, "%s ->", kinds[kind]);
    for (size_t e = 0; e < sim->effects.effect_count && used > 0 && used < (int)sizeof text; e++) {
        const struct effect *effect = &sim->effects.effect[e];
        used += snprintf(text + used, sizeof text - (size_t)used, " %s(%s%zu)", effects[effect->kind],
                         effect->address, effect->size);
    }
    story_tell(sim, sim->node[i].name, "%s", text);
}

/* The bytes of a reply go to whoever asked, which the step's caller knows. */
static void apply_effects(struct sim *sim, unsigned i)
{
    const struct effects *effects = &sim->effects;
    for (size_t e = 0; e < effects->effect_count; e++) {
        const struct effect *effect = &effects->effect[e];
        struct bytes bytes = effect_bytes(effects, effect);
        if (bytes.size > sim->plan.message_max_bytes)
            sim_fail(sim, "message size: %s emitted %zu bytes, the limit is %" PRIu64, sim->node[i].name,
                     bytes.size, sim->plan.message_max_bytes);
        switch (effect->kind) {
        case EFFECT_PUBLISH:
            network_publish(sim, i, bytes);
            break;
        case EFFECT_REQUEST:
            network_request(sim, i, effect->address, bytes);
            break;
        case EFFECT_REPLY:
            break;
        case EFFECT_CONNECT:
            network_connect(sim, i, effect->address, true);
            break;
        case EFFECT_DISCONNECT:
            network_connect(sim, i, effect->address, false);
            break;
        }
    }
    for (size_t t = 0; t < effects->notice_count; t++)
        story_tell(sim, sim->node[i].name, "%s\"%s\"",
                   effects->notice[t].level == NOTICE_WARNING ? "warns " : "says ", effects->notice[t].text);
}

void world_rearm(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    if (n->node == NULL || n->wake_local_ns == UINT64_MAX)
        return;
    uint64_t at_ns = clock_when(&n->clock, sim->now_ns, held_clock_raw(&n->held, n->wake_local_ns));
    if (at_ns == UINT64_MAX)
        n->wake_order = 0; /* its clock stands still: rearmed when it goes on */
    else if (at_ns <= sim->now_ns && sim->plan.apart_ns > 0)
        at_ns = sim->now_ns + random_below(&sim->apart_random, sim->plan.apart_ns);
    if (at_ns != UINT64_MAX)
        n->wake_order = queue_post(&sim->queue, (struct happening){.kind = HAPPENS_WAKE,
                                                                   .at_ns = at_ns,
                                                                   .node = (uint8_t)i,
                                                                   .life = n->lives});
}

/* A node that asks to be woken again and again while time stands still, or hardly goes on, would burn a processor. */
static void count_steps(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    n->steps_at_once = n->stepped_ms == sim->now_ns / MS ? n->steps_at_once + 1 : 0;
    n->stepped_ms = sim->now_ns / MS;
    if (n->steps_at_once > SIM_STEPS_AT_ONCE_MAX)
        sim_fail(sim, "progress: %s was stepped %d times within a millisecond", n->name, SIM_STEPS_AT_ONCE_MAX);
    if (sim->queue.overflow)
        sim_fail(sim, "messages: more than %d events wait in the simulator", QUEUE_EVENTS_MAX);
    sim->steps++;
}

static void leave_if_done(struct sim *sim, unsigned i)
{
    if (!sim->effects.left)
        return;
    if (sim->node[i].life != LIFE_LEAVING) {
        sim_fail(sim, "leave: %s left without having been asked", sim->node[i].name);
        return;
    }
    story_tell(sim, sim->node[i].name, "has left");
    refund_unsettled(sim, i);
    weights_node_ends(sim, i, false);
    lists_node_ends(sim, i, false);
    ask_keep(sim, i);
    end_life(sim, i);
}

static void hold_time(const struct sim *sim, struct sim_node *n, uint64_t clock_ns)
{
    const uint32_t held_ppm = sim->unheld ? 0 : node_held_ppm(n->node);
    if (held_ppm == n->held.held_ppm)
        return;
    held_clock_bend(&n->held, clock_ns, held_ppm);
    n->wake_order = 0; /* the wake-up comes at another time */
}

void world_event(struct sim *sim, unsigned i, const struct event *what)
{
    struct sim_node *n = &sim->node[i];
    struct event event = *what;
    event.now_ns = world_local_ns(sim, i);
    event.clock_ns = clock_read(&n->clock, sim->now_ns);
    count_steps(sim, i);
    ask_before_step(sim, i);
    laws_before_step(sim, i, event.kind == EVENT_REQUEST);
    node_step(n->node, &event, &sim->effects);
    hold_time(sim, n, event.clock_ns);
    ask_after_step(sim, i);
    hash_effects(sim, i);
    if (sim->trace)
        trace_step(sim, i, event.kind);
    apply_effects(sim, i);
    if (n->wake_order == 0 || sim->effects.next_wake_ns != n->wake_local_ns || event.kind == EVENT_WAKE) {
        n->wake_local_ns = sim->effects.next_wake_ns;
        n->wake_order = 0;
        world_rearm(sim, i);
    }
    lists_after_step(sim, i);
    laws_after_step(sim, i);
    liars_after_step(sim, i);
    edit_after_step(sim, i, &sim->effects);
    weights_after_step(sim, i);
    leave_if_done(sim, i);
}

void world_step(struct sim *sim, unsigned i, enum event_kind kind, struct bytes bytes, const char *name)
{
    world_event(sim, i, &(struct event){.kind = kind, .bytes = bytes, .name = name});
}

void world_wake(struct sim *sim, const struct happening *happening)
{
    struct sim_node *n = &sim->node[happening->node];
    if (n->node == NULL || happening->life != n->lives ||
        (happening->value == 0 && happening->order != n->wake_order))
        return;
    world_step(sim, happening->node, EVENT_WAKE, (struct bytes){0}, NULL);
}
