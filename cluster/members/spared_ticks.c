/*
 * Decides which ticks pass without a message.
 *
 * A node is at rest when it has nothing to tell and waits for nothing that others would have to
 * tell. It says so in every message. Where all nodes are at rest, each publishes with every third
 * tick only. A node that has something to say, or misses something, says that with its next tick,
 * and the nodes that hear it do not skip theirs. So a node that waits for the word of others (an
 * acknowledgement, the news that deferred_round.c needs, the end of a ghost) waits no longer than without
 * rests.
 *
 * Code that counts messages does not notice: three intervals are shorter than the time after which
 * a member is unheard, and an unheard member is asked for a message with every tick long before it
 * is called silent.
 */
#include "cluster/members/spared_ticks.h"

#include "cluster/members/limit_list.h"
#include "cluster/members/weights.h"
#include "cluster/spend/outbox.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/plane_state.h"

/* messages that a resting member sends before it could be called silent */
enum { REST_MESSAGES = 3 };

_Static_assert(REST_INTERVALS < HEARING_INTERVALS, "who rests is heard");

/*
 * True if the member is in the state that this node expects. A member that has left and still
 * speaks waits for this node's word.
 */
static bool is_in_touch(const struct node *node, uint32_t index)
{
    enum peer_state state = node->member[index].state;
    bool is_heard = member_hears(node, &node->member[node->me], index);
    return state == PEER_LEFT ? !is_heard : state == PEER_ACTIVE && is_heard;
}

bool is_at_rest(const struct node *node)
{
    if (node->options.silent_after_ns < REST_MESSAGES * REST_INTERVALS * node->options.interval_ns)
        return false;
    if (node->life.state != PEER_ACTIVE || node->accord.asks || outbox_count(node) > 0 || node->inbox.count > 0)
        return false;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && !node->member[i].self && !is_in_touch(node, i))
            return false;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && (origin->log_count > 0 || origin_is_ghost(node, origin)))
            return false; /* a member may lack a batch of it, or has not said that it has ended */
    }
    return weights_are_at_rest(node) && limit_list_is_at_rest(node) && plane_is_at_rest(node);
}

bool tick_is_spared(const struct node *node, uint64_t said_ns)
{
    uint64_t interval_ns = node->options.interval_ns;
    /* ticks come a little late */
    if (node->now_ns - said_ns > REST_INTERVALS * interval_ns - interval_ns / 2)
        return false;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]) && !member_rests(node, i))
            return false;
    return is_at_rest(node);
}
