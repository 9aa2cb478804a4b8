/*
 * join leads a node from its start to its share, and to a graceful end. A joining node first takes
 * the counters of other stores, then a snapshot from an active peer, and becomes active when no
 * peer can still use its share. A leaving node tells all its spends, waits for acknowledgements,
 * and says goodbye until all heard peers know that it has left. join_timeout and leave_timeout
 * bound both. Snapshots themselves are in snapshot/, and shares in members/.
 */
#include "cluster/join.h"

#include "cluster/apply/apply.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/join_waits.h"
#include "cluster/log/tell.h"
#include "cluster/members/header.h"
#include "cluster/members/limit_list.h"
#include "cluster/members/stores.h"
#include "cluster/members/strangers.h"
#include "cluster/members/takeover_node.h"
#include "cluster/members/weights.h"
#include "cluster/plane/plane.h"
#include "cluster/publish.h"
#include "cluster/snapshot/snapshot_ask.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/reserve_kept.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/plane_state.h"
#include "cluster/view.h"

/* How long a start waits before it says for what. */
#define WAIT_SAID_NS UINT64_C(5000000000)

enum {
    FAREWELL_GAP_NS = 20000000,
    PAST_INTERVALS = 64, /* what a peer says that it has of earlier starts is awaited for so long */
};

/* ---- from nothing to a share ---- */

static void become_active(struct node *node, struct effects *effects, const char *how)
{
    node->life.state = PEER_ACTIVE;
    node->life.past_since_ns = 0;
    todo_add(&node->todo, DO_ANSWER);
    (void)apply_inbox(node);
    view_refresh(node, effects);
    effects_notice(effects, NOTICE_INFO, "%s is active: %s", node->options.name, how);
}

/* No peer can keep this node from its share for good by saying that it has more. */
static bool awaits_own_past(struct node *node)
{
    if (!join_lacks_own_past(node))
        return false;
    if (node->life.past_since_ns == 0)
        node->life.past_since_ns = node->now_ns;
    return node->now_ns - node->life.past_since_ns < PAST_INTERVALS * node->options.interval_ns;
}

/*
 * Tells peers that this node exists, in case they do not listen to its messages. A joining node
 * tells all of them. An active node tells peers whose messages say that they do not know it: they
 * saw an earlier incarnation leave, and have no other peer that could pass on the news.
 */
static void say_hello(struct node *node, struct effects *effects)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member) || member->knows_me || member->snapshot_address[0] == '\0')
            continue;
        if (node->life.state == PEER_ACTIVE && !member_hears(node, &node->member[node->me], i))
            continue;
        struct message_writer writer;
        header_begin(node, MESSAGE_REQUEST);
        message_begin(&writer, effects, &node->header);
        message_begin_batches(&writer, 0);
        message_end(&writer);
        header_ask(node, &writer, member);
    }
}

static void say_what_is_awaited(struct node *node, struct effects *effects)
{
    char what[NODE_NOTICE_BYTES];
    if (node->life.state != PEER_JOINING || node->now_ns - node->life.started_ns < WAIT_SAID_NS ||
        !effects_notice_is_due(&node->notices.joining_ns, node->now_ns))
        return;
    join_waits_for(node, what, sizeof what);
    effects_notice(effects, NOTICE_WARNING, "%s stays joining and refuses all: it waits for %s", node->options.name,
                   what);
}

static void go_on(struct node *node, struct effects *effects)
{
    int donor = snapshot_donor(node), source = stores_overdue(node) ? -1 : stores_source(node);
    if (node->sharing.peer_count == 1) {
        become_active(node, effects, "there is no other peer");
        return;
    }
    if (node->snapshot.done && origins_are_amid_parts(node))
        return; /* without a snapshot nothing is applied, and amid parts no snapshot is merged */
    if (donor >= 0 && snapshot_giver_is_gone(node)) {
        node->snapshot.done = false; /* the figures of an active peer are taken as well */
        node->snapshot.giver_count = 0;
    }
    const int second = node->snapshot.done ? snapshot_second(node) : -1;
    if (second >= 0) {
        snapshot_start_second(node, (uint32_t)second, effects);
    } else if (node->snapshot.done) {
        if (join_share_awaits(node) < 0 && plane_knows_the_rules(node) && weights_await(node) < 0 &&
            limit_list_is_known(node) && !awaits_own_past(node))
            become_active(node, effects, "its state comes from a peer");
        else
            snapshot_renew(node, effects);
    } else if (node->snapshot.running) {
        snapshot_ask(node, effects);
    } else if ((source >= 0 || donor >= 0) && (snapshot_was_in_vain(node) || strangers_are_awaited(node))) {
        return; /* asked again at once, the donor would answer the same */
    } else if (source >= 0) {
        snapshot_start(node, (uint32_t)source, true);
        snapshot_ask(node, effects);
    } else if (donor >= 0 && !stores_are_wanted(node)) {
        snapshot_choose(node, (uint32_t)donor);
        snapshot_start(node, (uint32_t)donor, false);
        snapshot_ask(node, effects);
    } else if (donor < 0 && join_newness_awaits(node) < 0 && weights_await(node) < 0 && limit_list_is_known(node)) {
        takeover_node_all_are_new(node);
        become_active(node, effects, "all peers are new");
    } else if (donor < 0 && node->options.join_timeout_ns &&
               node->now_ns - node->life.started_ns >= node->options.join_timeout_ns) {
        become_active(node, effects, "no active peer could be heard");
    }
}

void join_step(struct node *node, struct effects *effects)
{
    go_on(node, effects);
    say_what_is_awaited(node, effects);
}

void hello_step(struct node *node, struct effects *effects)
{
    if (node->now_ns < node->life.hello_ns || node->life.stopping ||
        (node->life.state != PEER_JOINING && node->life.state != PEER_ACTIVE))
        return;
    say_hello(node, effects);
    node->life.hello_ns = node->now_ns + node->options.interval_ns;
}

/* ---- a graceful end ---- */

static bool everybody_knows_we_left(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && !member_is_out_of_reach(member) && !member->knows_we_left)
            return false;
    }
    return true;
}

/*
 * First what was asked for is answered and given back, all spends are acknowledged, and all changes
 * of rules are finished and passed on, then the goodbye is acknowledged. Neither waits longer than
 * leave_timeout. The store is told all changed counters, however long that takes.
 */
void leave_step(struct node *node, struct effects *effects)
{
    voucher_give_back_all(node);
    bool late = node->now_ns - node->life.stop_ns >= node->options.leave_timeout_ns;
    bool told = all_is_acknowledged(node);
    bool waits = (node->life.state == PEER_ACTIVE && !told) || !plane_is_idle(node) || !plane_is_passed_on(node);
    if (node->life.state != PEER_LEFT && waits && !late)
        return;
    if (node->life.state != PEER_LEFT) {
        tell_all(node);
        node->life.state = PEER_LEFT;
        node->life.farewell_ns = node->now_ns;
        publish_message(node, effects);
    } else if (node->now_ns - node->life.farewell_ns >= FAREWELL_GAP_NS) {
        node->life.farewell_ns = node->now_ns;
        publish_message(node, effects);
    }
    bool kept = counters_emit(node, effects); /* no further tick may come */
    todo_add_if(&node->todo, DO_STEP, !kept);
    effects->left = kept && (late || node->sharing.peer_count == 1 || everybody_knows_we_left(node));
}
