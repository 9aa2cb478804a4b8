/*
 * join_waits has the conditions of a start that depend on members, each of which names a member that does not meet it,
 * and puts them into a sentence. An operator reads the sentence; no decision depends on it.
 */
#include "cluster/join_waits.h"

#include "cluster/members/stores.h"
#include "cluster/members/weights.h"
#include "cluster/plane/plane.h"
#include "cluster/snapshot/snapshot_ask.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

#include <stdio.h>

/* ---- conditions ---- */

bool member_is_out_of_reach(const struct member *member)
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

int join_share_awaits(const struct node *node)
{
    bool reserved = heard_peers_reserve_ours(node);
    bool waited = node->now_ns - node->life.started_ns > node->options.silent_after_ns;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member) || has_given_up(node, i))
            continue;
        bool heard = member_hears(node, &node->member[node->me], i);
        bool cannot_tell = member_is_out_of_reach(member) || (waited && !heard);
        if (!reserved || !cannot_tell || !word_of_others_will_do(node, member))
            return (int)i;
    }
    return -1;
}

bool join_lacks_own_past(const struct node *node)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && slot != node->my_slot && origin->member == node->me &&
            origin_most_informed(node, slot) >= 0)
            return true;
    }
    return false;
}

int join_newness_awaits(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) &&
            (member_is_out_of_reach(member) || member->state != PEER_JOINING || !member->knows_me))
            return (int)i;
    }
    return -1;
}

/* ---- their sentence ---- */

/* A member that ends is silent soon, and is waited for no longer than join_timeout; for ever where there is none. */
static const char *to_go_on(const struct node *node)
{
    return node->options.join_timeout_ns > 0 ? "mend that or stop it" : "mend that, or stop it and forget it";
}

static bool others_can_give(const struct node *node, uint32_t donor)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        if (i != donor && member_can_give(&node->member[i]))
            return true;
    return false;
}

static void waits_for_table(const struct node *node, uint32_t index, char *text, size_t room)
{
    const struct member *donor = &node->member[index];
    if (donor->state == PEER_JOINING)
        (void)snprintf(text, room, "what the store of %s had, by its port for snapshots, %s", donor->name,
                       donor->snapshot_address);
    else
        (void)snprintf(text, room,
                       "the counters of %s, which is active: its port for snapshots, %s, gives none%s: %s",
                       donor->name, donor->snapshot_address,
                       others_can_give(node, index) ? ", nor does another" : "", to_go_on(node));
}

/* Of a member that is out of reach. */
static const char *why_unheard(const struct member *member)
{
    return member->proof.differs      ? "has another key than the one that is known here"
           : member->proof.is_missing ? "signs nothing, which signatures: required asks for"
                                      : "is not heard";
}

static void waits_for_word(const struct node *node, uint32_t index, char *text, size_t room)
{
    const struct member *member = &node->member[index];
    if (member_is_out_of_reach(member))
        (void)snprintf(text, room, "the word of %s, which %s: start it, mend its links, or forget it", member->name,
                       why_unheard(member));
    else if (!member->knows_me)
        (void)snprintf(text, room,
                       "the word of %s that it counts this start's share: it does not hear this daemon: %s",
                       member->name, to_go_on(node));
    else
        (void)snprintf(text, room, "what %s spent by a share that it has given up", member->name);
}

static void waits_for_versions(const struct node *node, char *text, size_t room)
{
    const int weights = weights_await(node);
    if (weights == (int)node->me)
        (void)snprintf(text, room, "its state_dir, which does not keep the weights of regions yet: mend its disk");
    else if (weights >= 0)
        (void)snprintf(text, room, "the weights of regions that %s knows", node->member[weights].name);
    else
        (void)snprintf(text, room, "limits of configs, or own spends of before, that its peers know");
}

static void waits_for_anybody(const struct node *node, char *text, size_t room)
{
    const int index = join_newness_awaits(node);
    if (index < 0) {
        waits_for_versions(node, text, room);
        return;
    }
    const struct member *member = &node->member[index];
    const uint64_t waited_ns = node->now_ns - node->life.started_ns, timeout_ns = node->options.join_timeout_ns;
    const char *why = member_is_out_of_reach(member) ? why_unheard(member) : "does not hear this daemon";
    if (timeout_ns == 0)
        (void)snprintf(text, room, "an active peer, or for all to start anew, but %s %s, and join_timeout is 0: %s",
                       member->name, why, "start it, mend its links, or forget it");
    else
        (void)snprintf(text, room, "an active peer, or for all to start anew, but %s %s: it begins alone in %.1f s",
                       member->name, why, waited_ns < timeout_ns ? (double)(timeout_ns - waited_ns) / 1e9 : 0.0);
}

static void waits_with_table(const struct node *node, char *text, size_t room)
{
    const int share = join_share_awaits(node);
    if (share >= 0)
        waits_for_word(node, (uint32_t)share, text, room);
    else if (!plane_knows_the_rules(node))
        (void)snprintf(text, room, "rules of its peers");
    else
        waits_for_versions(node, text, room);
}

void join_waits_for(const struct node *node, char *text, size_t room)
{
    const int donor = snapshot_donor(node), source = stores_overdue(node) ? -1 : stores_source(node);
    text[0] = '\0';
    if (node->life.state != PEER_JOINING || node->life.stopping || node->life.superseded)
        return;
    if (node->snapshot.done)
        waits_with_table(node, text, room);
    else if (source >= 0 || donor >= 0)
        waits_for_table(node, (uint32_t)(source >= 0 ? source : donor), text, room);
    else
        waits_for_anybody(node, text, room);
}
