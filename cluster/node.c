/*
 * node is the step: an event goes where it belongs, then six stages do what is due. Each stage says
 * why it stands where it does. This file decides when the next step must come. It does not apply, tell or settle
 * batches: it calls the files that do.
 */
#include "cluster/node.h"

#include "base/number.h"
#include "cluster/apply/apply.h"
#include "cluster/apply/retire.h"
#include "cluster/apply/settle.h"
#include "cluster/codec/effects.h"
#include "cluster/due.h"
#include "cluster/hear.h"
#include "cluster/join.h"
#include "cluster/log/aside.h"
#include "cluster/log/compact.h"
#include "cluster/log/deferred_round.h"
#include "cluster/log/tell.h"
#include "cluster/log/unsettled_index.h"
#include "cluster/members/clocks.h"
#include "cluster/members/demand.h"
#include "cluster/members/membership.h"
#include "cluster/members/pins.h"
#include "cluster/members/proofs.h"
#include "cluster/members/shares.h"
#include "cluster/members/signature_check.h"
#include "cluster/members/silence.h"
#include "cluster/members/takeover_node.h"
#include "cluster/members/traffic.h"
#include "cluster/members/votes.h"
#include "cluster/members/weights.h"
#include "cluster/members/weights_auto.h"
#include "cluster/plane/plane.h"
#include "cluster/publish.h"
#include "cluster/snapshot/snapshot_ask.h"
#include "cluster/spend/contest_credit.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/forget.h"
#include "cluster/spend/grant.h"
#include "cluster/spend/reserve.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/sweep.h"
#include "cluster/view.h"

enum {
    FAREWELL_WAKE_NS = 20000000,
    MERGE_PART = 4,
    /*
     * of a step's keys: the most spends that one step settles, and as many that it applies: these
     * take longer
     */
    LOOKUP_PART = 16,
};

static void start(struct node *node, struct effects *effects)
{
    node->life.started_ns = node->life.born_ns = node->now_ns;
    node->awake.started_ns = awake_ns(node);
    node->publishing.demand_ns = node->now_ns;
    node->life.hello_ns = node->now_ns;
    node->publishing.tick_ns = node->now_ns + random_below(&node->random, node->options.interval_ns);
    membership_init(node, effects);
    publish_set_gaps(node);
}

static void forget(struct node *node, const char *name, struct effects *effects)
{
    int index = member_find(node, bytes_of(name));
    if (index < 0)
        effects_notice(effects, NOTICE_WARNING, "cannot forget %s: no such peer", name);
    else if (node->member[index].self)
        effects_notice(effects, NOTICE_WARNING, "cannot forget %s: that is this node", name);
    else
        (void)votes_forget(node, (uint32_t)index, effects, "is forgotten, as the operator asked");
    todo_add(&node->todo, DO_ANSWER); /* told at once: no peer would miss the news */
}

static void mute(struct node *node, const struct event *event, struct effects *effects)
{
    int index = member_find(node, bytes_of(event->name));
    if (index < 0) {
        effects_notice(effects, NOTICE_WARNING, "cannot drop messages of %s: no such peer", event->name);
        return;
    }
    node->member[index].mute_in = event->mute_in;
    node->member[index].mute_out = event->mute_out;
    effects_notice(effects, NOTICE_INFO, "messages from %s are %s, to it %s", event->name,
                   event->mute_in ? "dropped" : "heard", event->mute_out ? "dropped" : "sent");
}

static void dispatch(struct node *node, const struct event *event, struct effects *effects)
{
    if (plane_event(node, event, effects) || weights_event(node, event, effects) ||
        proofs_event(node, event, effects))
        return;
    switch (event->kind) {
    case EVENT_START:
        start(node, effects);
        break;
    case EVENT_WAKE:
        break;
    case EVENT_MESSAGE:
    case EVENT_REQUEST:
    case EVENT_RESPONSE:
        hear_message(node, event, effects);
        break;
    case EVENT_FORGET:
        forget(node, event->name, effects);
        break;
    case EVENT_MUTE:
        mute(node, event, effects);
        break;
    case EVENT_STOP:
        if (!node->life.stopping)
            node->life.stop_ns = node->now_ns;
        node->life.stopping = true;
        todo_add(&node->todo, DO_ANSWER);
        break;
    case EVENT_RESTORE:
        counters_restore(node, event->counters, event->counter_count, event->counter_parts);
        break;
    case EVENT_RETELL:
        counters_retell(node);
        break;
    case EVENT_RULES:
    case EVENT_HEALTH:
    case EVENT_LIMITS:
    case EVENT_WEIGHTS:
    case EVENT_WEIGHTS_KEPT:
    case EVENT_KEY:
    case EVENT_ROTATE:
        break;
    }
}

/* A request must be answered even if there is nothing to say: the reply frees the asker's slot. */
static void ensure_reply(struct effects *effects)
{
    for (size_t i = 0; i < effects->effect_count; i++)
        if (effects->effect[i].kind == EFFECT_REPLY)
            return;
    effects_emit(effects, EFFECT_REPLY, effects->arena_size);
}

static void tick(struct node *node, struct effects *effects)
{
    demand_gather(node);
    weights_auto_tick(node, effects);
    demand_average(node);
    publish_set_gaps(node);
    (void)counters_emit(node, effects);
    voucher_sweep(node);
    contest_sweep(node);
    node->publishing.tick_ns += node->options.interval_ns;
    if (node->publishing.tick_ns <= node->now_ns) /* missed ticks of a pause are not made up for */
        node->publishing.tick_ns = node->now_ns + node->options.interval_ns;
}

static void publish_if_due(struct node *node, struct effects *effects)
{
    thread_states_gather(node);
    if (todo_has(&node->todo, DO_HURRY) && node->publishing.hurried_ns == 0)
        node->publishing.hurried_ns = node->now_ns;
    bool due = due_is_message(node);
    if (node->now_ns >= node->publishing.tick_ns)
        tick(node, effects);
    if (due) {
        todo_put(&node->todo, DO_PUBLISH, tell_ahead(node));
        todo_add_if(&node->todo, DO_STEP, todo_has(&node->todo, DO_PUBLISH));
        if (!todo_has(&node->todo, DO_PUBLISH))
            publish_message(node, effects);
        return;
    }
    todo_put(&node->todo, DO_PUSH_LATER, todo_has(&node->todo, DO_PUSH));
    todo_put(&node->todo, DO_HURRY_LATER, todo_has(&node->todo, DO_HURRY));
}

static uint64_t next_wake_ns(const struct node *node)
{
    uint64_t wake_ns = due_ns(node);
    wake_ns = number_least(wake_ns, node->waits.look_ns);
    if (node->forgetting.watches)
        wake_ns = number_least(wake_ns, node->forgetting.again_ns);
    if (node->life.state == PEER_JOINING && !node->life.stopping)
        wake_ns = number_least(wake_ns, node->life.hello_ns);
    wake_ns = number_least(wake_ns, reserve_next_ns(node));
    wake_ns = number_least(wake_ns, node->takeover.right_ends_ns);
    if (node->life.stopping)
        wake_ns = number_least(wake_ns, node->now_ns + FAREWELL_WAKE_NS);
    if (todo_has(&node->todo, DO_STEP))
        return node->now_ns;
    return wake_ns > node->now_ns ? wake_ns : node->now_ns + 1;
}

/*
 * Merging gets a part of every step, whatever other work there is. It gets no more, since a spend
 * takes several times as long there, unless the log has outgrown its room.
 */
static void compact(struct node *node)
{
    uint32_t part = node->step.keys / MERGE_PART + 1;
    if (node->step.left < part || !compact_comes_first(node))
        node->step.left = part;
    compact_logs(node);
    todo_add_if(&node->todo, DO_STEP,
                node->merger.sweeping || (todo_has(&node->todo, DO_APPLY_LATER) && !compact_comes_first(node)));
}

/* Begins a step: sets the time and the bounds of the step's work, see step.h. */
static void begin_step(struct node *node, const struct event *event)
{
    const uint64_t before_ns = node->now_ns;
    if (event->now_ns > node->now_ns)
        node->now_ns = event->now_ns;
    silence_note_time(node, before_ns);
    clocks_note_time(node, event);
    takeover_node_expire(node);
    signature_begin_step(node);
    node->step.left = node->step.keys;
    node->step.worked = 0;
    node->step.settle_part = node->step.apply_room = node->step.keys / LOOKUP_PART + 1;
    node->step.settled_keys = 0;
    todo_drop(&node->todo, DO_STEP);
}

/*
 * Another node has this node's name: this one decides, tells and applies nothing. Its budgets
 * become zero, changes of rules are finished, and the store is told the rest.
 */
static void step_superseded(struct node *node, struct effects *effects)
{
    (void)shares_refresh(node);
    plane_end(node, effects);
    bool kept = counters_emit(node, effects);
    effects->left = node->life.stopping && kept;
    effects->next_wake_ns = node->awake.wake_ns = node->now_ns + (kept ? node->options.interval_ns : 0);
}

/*
 * Stage 1, the view of the cluster. It is first because all other stages read it: budgets follow
 * shares, and no stage waits any longer for a member that is silent or gone by now. Debts set aside
 * follow the shares. The rules come last: their adverts and canaries read the members, and stage 2
 * asks whether the rules are known.
 */
static void look_around(struct node *node, struct effects *effects)
{
    view_refresh(node, effects);
    aside_step(node);
    plane_step(node, effects);
    pins_step(node, effects);
}

/*
 * Stage 2, missing state. It is before stage 3 because a snapshot that begins here keeps stage 3
 * from forgetting batches: kept batches correct a part that is on its way.
 */
static void catch_up(struct node *node, struct effects *effects)
{
    if (node->life.state == PEER_JOINING && !node->life.stopping)
        join_step(node, effects);
    else if (node->life.state == PEER_ACTIVE)
        snapshot_catch_up(node, effects);
    hello_step(node, effects);
}

/*
 * Stage 3, work that earlier steps had no time for. It is before stage 4 because applied batches
 * tell how far news has come, which decides which spends are paid off. The sums of own batches come
 * first, since settling waits for them; then applying and settling, which take turns in being
 * first. Batches that all members have are forgotten last.
 */
static void go_on(struct node *node)
{
    bool applies = todo_has(&node->todo, DO_APPLY) || todo_has(&node->todo, DO_APPLY_LATER);
    todo_drop(&node->todo, DO_APPLY);
    todo_drop(&node->todo, DO_APPLY_LATER);
    unsettled_index_step(node);
    if (todo_has(&node->todo, DO_SETTLE) && !todo_has(&node->todo, DO_SETTLE_SECOND))
        settle_acknowledged(node);
    if (applies && apply_inbox(node))
        todo_add(&node->todo, DO_ANSWER);
    todo_put(&node->todo, DO_SETTLE_SECOND, todo_has(&node->todo, DO_SETTLE));
    todo_drop(&node->todo, DO_SETTLE);
    settle_acknowledged(node);
    if (applies || todo_has(&node->todo, DO_SETTLE_SECOND))
        retire_stable(node);
}

/*
 * Stage 4, the keys. It is before stage 5 because ended reservations and spends that have waited
 * too long go to the rings, and the message of this step tells them. Unused limits go after ended
 * reservations, whose spends name limits.
 */
static void look_after_keys(struct node *node)
{
    counters_step(node);
    reserve_step(node);
    sweep_limits(node);
    grants_sweep(node);
    deferred_step(node);
}

/*
 * Stage 5, the message. It is after all stages that may give this node something to say, so that
 * one message has all of it. If more spends are urgent than a message may hold, batches are closed
 * first. A node leaves after it has told everything.
 */
static void speak(struct node *node, struct effects *effects)
{
    shares_tell_former(node);
    weights_tell_former(node);
    tell_much_urgent(node);
    publish_if_due(node, effects);
    if (node->life.stopping)
        leave_step(node, effects);
}

/*
 * Stage 6, making room. It is last because it takes the rest of the step's bounds, and because no
 * pointer to an entry of the table may exist when full keys are removed.
 */
static void make_room(struct node *node)
{
    compact(node);
    forget_step(node);
}

/*
 * Handles the event, then runs the six stages, whatever the event was. docs/architecture.md lists
 * what each event may do.
 */
void node_step(struct node *node, const struct event *event, struct effects *effects)
{
    effects_clear(effects);
    node->asker = -1;
    begin_step(node, event);
    dispatch(node, event, effects);
    if (event->kind == EVENT_REQUEST)
        ensure_reply(effects);
    if (node->last_uid == 0)
        return; /* not started: only EVENT_RESTORE makes sense */
    if (node->life.superseded) {
        step_superseded(node, effects);
        traffic_sent(node, effects);
        return;
    }
    look_around(node, effects);
    catch_up(node, effects);
    go_on(node);
    look_after_keys(node);
    speak(node, effects);
    traffic_sent(node, effects);
    make_room(node);
    if (node->step.worked > node->stats.step_keys_max)
        node->stats.step_keys_max = node->step.worked;
    effects->next_wake_ns = node->awake.wake_ns = next_wake_ns(node);
}
