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

static bool peer_is_out_of_reach(const struct member *member)
{
    return member->silent || member->heard_ns == 0;
}

/*
 * True if all peers that this node heard itself say that this node's share is counted, whatever its
 * incarnation.
 */
static bool heard_peers_reserve_ours(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && member->heard_direct_ns && !member->reserves_ours)
            return false;
    }
    return true;
}

/*
 * True if the word of others stands for a peer that this node never heard itself. They count this
 * node's share, so the peer does as well, where all configs name each other. Configs that do not
 * name this node may exist if it has no join timeout (docs/operations.md, "Adding a daemon"), or if
 * the config here does not name the peer. Then the peer may count this node's share as its own: it
 * never heard of this node, or it gave the share to others when an earlier start of this node left.
 */
static bool word_of_others_will_do(const struct node *node, const struct member *member)
{
    return member->heard_direct_ns > 0 || (member->configured && node->options.join_timeout_ns > 0);
}

/*
 * True if the peer knows this incarnation, and this node knows what the peer spent by a share that
 * was not divided yet. The peer tells those spends before it says that it knows (shares_divide).
 * Where all configs name this node, the peer has counted this node's share all the time.
 */
static bool has_given_up(const struct node *node, uint32_t index)
{
    const struct member *member = &node->member[index];
    bool always_counted = member->reserves_ours && member->configured && node->options.join_timeout_ns > 0;
    return member->knows_me && (always_counted || origins_cover_spends(node, index));
}

/*
 * True if no peer counts this node's share as its own any more. Each peer has given it up; or the
 * peer cannot tell, and counts this node's share whatever the incarnation.
 */
static bool share_is_ours(const struct node *node)
{
    bool reserved = heard_peers_reserve_ours(node);
    bool waited = node->now_ns - node->life.started_ns > node->options.silent_after_ns;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member) || has_given_up(node, i))
            continue;
        bool heard = member_hears(node, &node->member[node->me], i);
        bool cannot_tell = peer_is_out_of_reach(member) || (waited && !heard);
        if (!reserved || !cannot_tell || !word_of_others_will_do(node, member))
            return false;
    }
    return true;
}

/*
 * True if an active peer has more than this node of what earlier starts of this node spent and granted. The donor of
 * the snapshot may not have heard that. Those spends were made by the share that this node has now, so that it would
 * spend as much once more: a home even all of a limit.
 */
static bool lacks_own_past(const struct node *node)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && slot != node->my_slot && origin->member == node->me &&
            origin_most_informed(node, slot) >= 0)
            return true;
    }
    return false;
}

/* No peer can keep this node from its share for good by saying that it has more. */
static bool awaits_own_past(struct node *node)
{
    if (!lacks_own_past(node))
        return false;
    if (node->life.past_since_ns == 0)
        node->life.past_since_ns = node->now_ns;
    return node->now_ns - node->life.past_since_ns < PAST_INTERVALS * node->options.interval_ns;
}

static bool everybody_is_new(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) &&
            (peer_is_out_of_reach(member) || member->state != PEER_JOINING || !member->knows_me))
            return false;
    }
    return true;
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

void join_step(struct node *node, struct effects *effects)
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
        if (share_is_ours(node) && plane_knows_the_rules(node) && weights_are_known(node) &&
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
        snapshot_choose(node, (uint32_t)donor, effects);
        snapshot_start(node, (uint32_t)donor, false);
        snapshot_ask(node, effects);
    } else if (donor < 0 && everybody_is_new(node) && weights_are_known(node) && limit_list_is_known(node)) {
        takeover_node_all_are_new(node);
        become_active(node, effects, "all peers are new");
    } else if (donor < 0 && node->options.join_timeout_ns &&
               node->now_ns - node->life.started_ns >= node->options.join_timeout_ns) {
        become_active(node, effects, "no active peer could be heard");
    }
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
        if (member_needed(member) && !peer_is_out_of_reach(member) && !member->knows_we_left)
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
