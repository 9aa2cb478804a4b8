/*
 * membership keeps the list of members. It merges the member records of each message into the list:
 * the larger incarnation counts, and of one incarnation the later state. It connects to new members
 * and disconnects from members that have left, gives notices of changes, and refuses members that
 * the config does not name when there are too many. It does not decide who is silent or which share
 * a member has.
 */
#include "cluster/members/membership.h"

#include "cluster/codec/effects.h"
#include "cluster/log/origins.h"
#include "cluster/members/handover.h"
#include "cluster/members/incarnation.h"
#include "cluster/members/proofs.h"
#include "cluster/members/shares.h"
#include "cluster/members/statements.h"
#include "cluster/members/stores.h"
#include "cluster/members/strangers.h"
#include "cluster/members/takeover.h"
#include "cluster/members/takeover_node.h"
#include "cluster/members/votes.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/share.h"

#include <assert.h>
#include <string.h>

const char *peer_state_name(enum peer_state state)
{
    static const char *const names[] = {"joining", "active", "silent", "left"};
    return names[state];
}

static void copy_text(char *to, size_t room, struct bytes from)
{
    assert(from.size < room);
    memmove(to, from.data, from.size);
    to[from.size] = '\0';
}

/*
 * A free slot, or the slot of a member that left and of which no origin is kept; -1: the cluster is
 * full.
 */
static int member_slot(struct node *node)
{
    for (int i = 0; i < NODE_PEERS_MAX; i++)
        if (!node->member[i].used)
            return i;
    for (int i = 0; i < NODE_PEERS_MAX; i++) {
        if (node->member[i].state != PEER_LEFT || node->member[i].self)
            continue;
        bool remembered = false;
        for (uint32_t o = 0; o < node->origin_end; o++)
            remembered |= node->origin[o].uid && node->origin[o].member == (uint32_t)i;
        if (!remembered)
            return i;
    }
    return -1;
}

/* Bits about the former owner of a slot must not be read as bits about its next owner. */
static void forget_bit(struct node *node, int slot)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].hears &= ~member_bit((uint32_t)slot);
    stores_forget(node, (uint32_t)slot);
    votes_drop(node, (uint32_t)slot);
    statements_drop(node, (uint32_t)slot);
}

static void set_region(struct member *member, struct bytes region)
{
    copy_text(member->region, sizeof member->region, region);
    member->home = limit_home_of_daemon(bytes_of(member->region), bytes_of(member->name));
}

static int member_add(struct node *node, struct bytes name, struct bytes region, struct bytes gossip_address,
                      struct bytes snapshot_address)
{
    int slot = member_slot(node);
    if (slot < 0) {
        node->stats.limit_drops++;
        return -1;
    }
    struct member *member = &node->member[slot];
    memset(member, 0, sizeof *member);
    if ((uint32_t)slot >= node->member_end)
        node->member_end = (uint32_t)slot + 1;
    forget_bit(node, slot);
    member->used = true;
    member->state = PEER_JOINING;
    copy_text(member->name, sizeof member->name, name);
    set_region(member, region);
    copy_text(member->gossip_address, sizeof member->gossip_address, gossip_address);
    copy_text(member->snapshot_address, sizeof member->snapshot_address, snapshot_address);
    proofs_recall(node, (uint32_t)slot);
    return slot;
}

void membership_init(struct node *node, struct effects *effects)
{
    const struct node_options *options = &node->options;
    int me = member_add(node, bytes_of(options->name), bytes_of(options->region), bytes_of(options->gossip_address),
                        bytes_of(options->snapshot_address));
    assert(me == 0);
    node->me = (uint32_t)me;
    node->member[me].self = true;
    node->member[me].incarnation = node->life.incarnation;
    for (uint32_t i = 0; i < options->peer_count; i++) {
        const struct node_peer_options *peer = &options->peers[i];
        int slot = member_add(node, bytes_of(peer->name), bytes_of(peer->region), bytes_of(peer->gossip_address),
                              bytes_of(peer->snapshot_address));
        assert(slot >= 0);
        node->member[slot].configured = true;
        node->member[slot].reserved = true;
        listen_to(effects, EFFECT_CONNECT, &node->member[slot]);
    }
    int slot = origin_obtain(node, node->me, node->life.incarnation);
    assert(slot >= 0);
    node->my_slot = (uint32_t)slot;
    node->origin[slot].mine = true;
    takeover_node_init(node);
}

/*
 * True if the member takes a part of a share of this node's region that nobody counted for it
 * before. Of a member that the config does not name, earlier messages may have told that it exists;
 * its share counts since then, but what was spent before may be untold.
 */
static bool divides_our_share(const struct node *node, const struct member *member,
                              const struct member_record *record)
{
    const struct bytes ours = bytes_of(node->options.region);
    bool is_new = member->incarnation == 0 && !member->configured;
    bool moves = !bytes_equal(record->region, bytes_of(member->region));
    return bytes_equal(record->region, ours) && (is_new || moves || member->share_freed);
}

/* The member started anew: its earlier acknowledgements say nothing of its present state. */
static void adopt_incarnation(struct node *node, uint32_t index, const struct member_record *record,
                              struct effects *effects)
{
    struct member *member = &node->member[index];
    bool first = member->incarnation == 0;
    bool was_left = member->state == PEER_LEFT;
    if (divides_our_share(node, member, record))
        shares_divide(node, index);
    stores_start_anew(node, index, record->incarnation);
    if (was_left)
        member->reserved = member->configured && (!member->forgotten || node->takeover.peer[index].owed);
    member->forgotten = false;
    takeover_node_started(node, index, record->incarnation);
    member->incarnation = record->incarnation;
    member->state = PEER_JOINING;
    member->share_freed = member->knows_me = member->refuses = member->grants = false;
    member->heeds_uncharged = member->lists_grants = false;
    member->uncharged = true; /* until it says otherwise: see take_uncharged in gossip.c */
    member->config = 0;
    member->number = member->echo = member->echo_number = 0;
    member->hears = 0;
    member->acknowledged = 0;
    member->round_trip_ns = 0;
    memset(&member->clock, 0, sizeof member->clock);
    memset(member->known, 0, sizeof member->known);
    memset(member->knows_ended, 0, sizeof member->knows_ended);
    memset(member->retired, 0, sizeof member->retired);
    forget_bit(node, (int)index);
    (void)origin_obtain(node, index, record->incarnation);
    if (was_left)
        listen_to(effects, EFFECT_CONNECT, member);
    if (record->gossip_address.size > 0 && !bytes_equal(record->gossip_address, bytes_of(member->gossip_address))) {
        effects_emit_to(effects, EFFECT_DISCONNECT, member->name, member->gossip_address, effects->arena_size);
        copy_text(member->gossip_address, sizeof member->gossip_address, record->gossip_address);
        listen_to(effects, EFFECT_CONNECT, member);
    }
    if (record->snapshot_address.size > 0)
        copy_text(member->snapshot_address, sizeof member->snapshot_address, record->snapshot_address);
    set_region(member, record->region);
    effects_notice(effects, NOTICE_INFO, "%s (region %s) %s", member->name, member->region,
                   first ? "is heard for the first time" : "has started anew");
}

void membership_left(struct node *node, uint32_t index, bool forgotten, struct effects *effects, const char *why)
{
    struct member *member = &node->member[index];
    bool newly_forgotten = forgotten && !member->forgotten, is_taken = node->takeover.peer[index].taken;
    member->forgotten |= forgotten;
    if (!is_taken)
        takeover_is_away(&node->takeover, index, forgotten);
    if (member->state == PEER_LEFT) {
        if (newly_forgotten)
            effects_notice(effects, NOTICE_INFO, "%s %s", member->name, why);
        return;
    }
    member->state = PEER_LEFT;
    member->left_ns = node->now_ns;
    member->reserved = member->configured && !forgotten;
    member->share_freed = member->withheld = false;
    member->knows_me = false;
    effects_emit_to(effects, EFFECT_DISCONNECT, member->name, member->gossip_address, effects->arena_size);
    effects_notice(effects, NOTICE_INFO, "%s %s", member->name, why);
}

/*
 * True if one more member that the config does not name may take a share. Made-up members must not
 * divide a region's weight until nothing is left. As many members that have left are kept as well.
 */
static bool has_room_for(struct node *node, const struct member_record *record, struct effects *effects)
{
    bool left = record->state == PEER_LEFT;
    uint32_t most = node->options.unlisted_max;
    if (shares_unlisted(node, left) + (left ? 0 : shares_unlisted(node, true)) < most)
        return true;
    node->stats.unlisted_refused++;
    if (!effects_notice_is_due(&node->notices.crowded_ns, node->now_ns))
        return false;
    effects_notice(
        effects, NOTICE_WARNING,
        "%.*s is not taken in: the config does not name it, and of such peers at most %u are (unlisted_peers)",
        (int)record->name.size, record->name.data, most);
    return false;
}

static void merge_record(struct node *node, const struct member_record *record, uint32_t index, bool first_hand,
                         struct effects *effects)
{
    struct member *member = &node->member[index];
    /*
     * An operator forgot the member before this node had heard of it: the incarnation that others
     * had heard of has ended as well.
     */
    bool meant = member->forgotten && member->incarnation == 0 && !first_hand;
    if (record->incarnation > member->incarnation && (record->state == PEER_LEFT || meant) &&
        member->state == PEER_LEFT) {
        /* it came and went without a message to this node */
        takeover_node_started(node, index, record->incarnation);
        if (!takeover_node_decides(node, record))
            takeover_is_away(&node->takeover, index, false);
        member->incarnation = record->incarnation;
        (void)origin_obtain(node, index, record->incarnation);
    } else if (record->incarnation > member->incarnation) {
        if (!member->configured && member->share_freed && !has_room_for(node, record, effects))
            return;
        adopt_incarnation(node, index, record, effects);
    }
    if (record->incarnation != member->incarnation)
        return;
    if (record->config != 0)
        member->config = record->config;
    if (record->state == PEER_LEFT && !record->forgotten && !takeover_node_decides(node, record))
        membership_left(node, index, false, effects, "has left");
    if (record->state == PEER_ACTIVE && member->state == PEER_JOINING) {
        member->state = PEER_ACTIVE;
        member->reserved = true;
        effects_notice(effects, NOTICE_INFO, "%s is active", member->name);
    }
}

/*
 * Batches of the member may still be on their way to others, so this node must say how many it has.
 */
static void member_gone_before_we_came(struct node *node, uint32_t index, const struct member_record *record)
{
    struct member *member = &node->member[index];
    member->incarnation = record->incarnation;
    member->state = PEER_LEFT;
    member->forgotten = record->forgotten;
    member->left_ns = node->now_ns;
    (void)origin_obtain(node, index, record->incarnation);
}

/* A word that nobody can sign: see votes.h. */
static void merge_forgotten(struct node *node, const struct member_record *record, uint32_t index,
                            struct effects *effects)
{
    if (!record->forgotten || record->state != PEER_LEFT || node->options.forget != FORGET_BY_ANYONE ||
        record->incarnation != node->member[index].incarnation || takeover_node_decides(node, record))
        return;
    takeover_is_away(&node->takeover, index, true); /* an operator knows more than those who took it over */
    membership_left(node, index, true, effects, "is forgotten");
}

/* The member's place in the list; -1: there is none for it. */
static int place_of(struct node *node, const struct member_record *record, bool *is_new, struct effects *effects)
{
    int index = member_find(node, record->name);
    *is_new = index < 0;
    if (index < 0 && has_room_for(node, record, effects))
        index = member_add(node, record->name, record->region, record->gossip_address, record->snapshot_address);
    return index;
}

/*
 * `bringer`: of the message; below 0: it is not in the list. Returns the place of the record's member, or -1: there is
 * none, or its incarnation is not believed. One that has ended is: a part of a snapshot may be older than a start that
 * was heard of since, and says by it which spends of the former start it contains.
 */
static int merge(struct node *node, const struct message *message, uint32_t at, int bringer,
                 struct effects *effects)
{
    const struct member_record *record = &message->members[at];
    struct member_record heeded = *record;
    const bool first_hand = at == message->sender;
    bool is_new;
    const int index = place_of(node, record, &is_new, effects);
    if (index < 0)
        return -1;
    if (node->member[index].self) {
        handover_heard(node, record, bringer);
        incarnation_heard(node, record, bringer, effects);
        return index;
    }
    const bool is_stranger = !first_hand && stranger_is(node, (uint32_t)index);
    const bool counts =
        first_hand || (is_stranger ? strangers_heed(node, record, (uint32_t)index, bringer, &heeded, effects)
                                   : proofs_heed(node, record, (uint32_t)index, bringer, &heeded, effects));
    const bool is_unheard =
        is_new || (is_stranger && !node->member[index].configured && node->member[index].incarnation == 0);
    if (is_unheard && counts && heeded.state == PEER_LEFT) {
        member_gone_before_we_came(node, (uint32_t)index, &heeded);
        if (!first_hand)
            proofs_passed(node, record, (uint32_t)index); /* others may ask for its signature */
        return index;
    }
    if (is_new && !is_stranger)
        listen_to(effects, EFFECT_CONNECT, &node->member[index]);
    if (counts)
        merge_record(node, &heeded, (uint32_t)index, first_hand, effects);
    merge_forgotten(node, record, (uint32_t)index, effects);
    if (first_hand)
        proofs_take(node, record, (uint32_t)index, effects);
    else if (counts)
        proofs_passed(node, record, (uint32_t)index);
    return counts || record->incarnation <= node->member[index].incarnation ? index : -1;
}

void membership_merge(struct node *node, const struct message *message, int *map, struct effects *effects)
{
    const int bringer = member_find(node, message->members[message->sender].name);
    for (uint32_t i = 0; i < message->member_count; i++)
        map[i] = incarnation_is_plausible(node, &message->members[i], effects)
                     ? merge(node, message, i, bringer, effects)
                     : -1;
    const int sender = map[message->sender];
    if (sender >= 0 && !node->member[sender].self)
        votes_hear(node, message, map, (uint32_t)sender, effects);
}
