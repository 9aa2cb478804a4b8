#include "cluster/effects.h"
#include "cluster/parts.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sysexits.h>

enum {
    INCARNATION_CHANGES_MAX = 16, /* two new nodes of one name would outbid each other for ever */
};

const char *peer_state_name(enum peer_state state)
{
    static const char *const names[] = {"joining", "active", "silent", "left"};
    return names[state];
}

static void copy_text(char *to, size_t room, struct bytes from)
{
    assert(from.size < room);
    memcpy(to, from.data, from.size);
    to[from.size] = '\0';
}

int member_find(const struct node *node, struct bytes name)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && bytes_equal(bytes_of(node->member[i].name), name))
            return (int)i;
    return -1;
}

bool member_needed(const struct member *member)
{
    return member->used && !member->self && member->state != PEER_LEFT;
}

/* A free slot, or that of a member that left and of which nothing is kept any more; -1: the cluster is full. */
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

/* Bits that speak of a slot's former owner must not speak of the next one. */
static void forget_bit(struct node *node, int slot)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].hears &= ~((uint64_t)1 << slot);
    stores_forget(node, (uint32_t)slot);
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
    copy_text(member->region, sizeof member->region, region);
    copy_text(member->gossip_address, sizeof member->gossip_address, gossip_address);
    copy_text(member->snapshot_address, sizeof member->snapshot_address, snapshot_address);
    return slot;
}

static void connect_to(struct effects *effects, const struct member *member)
{
    if (member->gossip_address[0] != '\0')
        effects_emit(effects, EFFECT_CONNECT, member->gossip_address, effects->arena_size);
}

void membership_init(struct node *node, struct effects *effects)
{
    const struct node_options *options = &node->options;
    int me = member_add(node, bytes_of(options->name), bytes_of(options->region), bytes_of(options->gossip_address),
                        bytes_of(options->snapshot_address));
    assert(me == 0);
    node->me = (uint32_t)me;
    node->member[me].self = true;
    node->member[me].incarnation = node->incarnation;
    for (uint32_t i = 0; i < options->peer_count; i++) {
        const struct node_peer_options *peer = &options->peers[i];
        int slot = member_add(node, bytes_of(peer->name), bytes_of(peer->region), bytes_of(peer->gossip_address),
                              bytes_of(peer->snapshot_address));
        assert(slot >= 0);
        node->member[slot].configured = true;
        node->member[slot].reserved = true;
        connect_to(effects, &node->member[slot]);
    }
    int slot = origin_obtain(node, node->me, node->incarnation);
    assert(slot >= 0);
    node->my_slot = (uint32_t)slot;
    node->origin[slot].mine = true;
}

/* The member started anew: what it acknowledged before says nothing of what it knows now. */
static void adopt_incarnation(struct node *node, uint32_t index, const struct member_record *record,
                              struct effects *effects)
{
    struct member *member = &node->member[index];
    bool first = member->incarnation == 0;
    bool was_left = member->state == PEER_LEFT;
    stores_start_anew(node, index, record->incarnation);
    if (was_left)
        member->reserved = member->configured && !member->forgotten;
    member->forgotten = false;
    member->incarnation = record->incarnation;
    member->state = PEER_JOINING;
    member->share_freed = member->knows_me = false;
    member->number = member->echo = member->echo_number = 0;
    member->hears = 0;
    member->acknowledged = 0;
    member->round_trip_ns = 0;
    memset(member->known, 0, sizeof member->known);
    memset(member->knows_ended, 0, sizeof member->knows_ended);
    forget_bit(node, (int)index);
    (void)origin_obtain(node, index, record->incarnation);
    if (was_left)
        connect_to(effects, member);
    if (record->gossip_address.size > 0 && !bytes_equal(record->gossip_address, bytes_of(member->gossip_address))) {
        effects_emit(effects, EFFECT_DISCONNECT, member->gossip_address, effects->arena_size);
        copy_text(member->gossip_address, sizeof member->gossip_address, record->gossip_address);
        connect_to(effects, member);
    }
    if (record->snapshot_address.size > 0)
        copy_text(member->snapshot_address, sizeof member->snapshot_address, record->snapshot_address);
    copy_text(member->region, sizeof member->region, record->region);
    effects_notice(effects, NOTICE_INFO, "%s (region %s) %s", member->name, member->region,
                   first ? "is heard for the first time" : "has started anew");
}

void membership_left(struct node *node, uint32_t index, bool forgotten, struct effects *effects, const char *why)
{
    struct member *member = &node->member[index];
    bool newly_forgotten = forgotten && !member->forgotten;
    member->forgotten |= forgotten;
    if (member->state == PEER_LEFT) {
        if (newly_forgotten)
            effects_notice(effects, NOTICE_INFO, "%s %s", member->name, why);
        return;
    }
    member->state = PEER_LEFT;
    member->left_ns = node->now_ns;
    member->reserved = member->configured && !forgotten;
    member->share_freed = false;
    member->knows_me = false;
    effects_emit(effects, EFFECT_DISCONNECT, member->gossip_address, effects->arena_size);
    effects_notice(effects, NOTICE_INFO, "%s %s", member->name, why);
}

/* This node's name under another incarnation, or its own incarnation declared gone. */
static void merge_self(struct node *node, const struct member_record *record, struct effects *effects)
{
    if (record->incarnation < node->incarnation || node->superseded || node->stopping)
        return;
    bool outbid = node->state != PEER_JOINING || node->incarnation_changes >= INCARNATION_CHANGES_MAX;
    if (record->incarnation > node->incarnation && outbid) {
        node->superseded = true;
        effects_notice(effects, NOTICE_WARNING,
                       "a newer node is called %s as well: this one stops deciding and stays out of the cluster",
                       node->options.name);
    } else if (record->incarnation > node->incarnation || record->state == PEER_LEFT) {
        membership_new_incarnation(node, record->incarnation + 1, effects);
    }
}

/*
 * Being declared gone, or finding that the clock at this start was behind the last one's: joins again under a
 * new incarnation. Own spends that somebody may not have heard of stay unsettled.
 */
void membership_new_incarnation(struct node *node, uint64_t incarnation, struct effects *effects)
{
    int slot = origin_obtain(node, node->me, incarnation);
    if (incarnation == 0 || slot < 0)
        return;
    tell_all(node);
    node->incarnation = incarnation;
    node->incarnation_changes++;
    node->member[node->me].incarnation = incarnation;
    node->origin[slot].mine = true;
    node->my_slot =
        (uint32_t)slot; /* the old origin is a ghost now: its log is passed on, and settles, as before */
    for (uint32_t m = 0; m < node->member_end; m++) {
        node->member[m].acknowledged = 0;
        node->member[m].knows_me = false;
    }
    stores_join_again(node);
    node->state = PEER_JOINING;
    node->started_ns = node->now_ns;
    node->hello_ns = node->now_ns;
    node->snapshot_wanted = false;
    snapshot_abandon(node);
    effects_notice(effects, NOTICE_WARNING, "%s was declared gone by its peers and joins again",
                   node->options.name);
}

static void merge_record(struct node *node, const struct member_record *record, uint32_t index, bool first_hand,
                         struct effects *effects)
{
    struct member *member = &node->member[index];
    /* Whom an operator forgot before we had heard of him: what others had heard of him is over as well. */
    bool meant = member->forgotten && member->incarnation == 0 && !first_hand;
    if (record->incarnation > member->incarnation && (record->state == PEER_LEFT || meant) &&
        member->state == PEER_LEFT) {
        member->incarnation = record->incarnation; /* came and went without us */
        (void)origin_obtain(node, index, record->incarnation);
    } else if (record->incarnation > member->incarnation) {
        adopt_incarnation(node, index, record, effects);
    }
    if (record->incarnation != member->incarnation)
        return;
    if (record->state == PEER_LEFT)
        membership_left(node, index, record->forgotten, effects, record->forgotten ? "is forgotten" : "has left");
    if (record->state == PEER_ACTIVE && member->state == PEER_JOINING) {
        member->state = PEER_ACTIVE;
        member->reserved = true;
        effects_notice(effects, NOTICE_INFO, "%s is active", member->name);
    }
}

/* What it spent may still be on its way to somebody: we must say how much of it we have. */
static void member_gone_before_we_came(struct node *node, uint32_t index, const struct member_record *record)
{
    struct member *member = &node->member[index];
    member->incarnation = record->incarnation;
    member->state = PEER_LEFT;
    member->forgotten = record->forgotten;
    member->left_ns = node->now_ns;
    (void)origin_obtain(node, index, record->incarnation);
}

void membership_merge(struct node *node, const struct message *message, int *map, struct effects *effects)
{
    for (uint32_t i = 0; i < message->member_count; i++) {
        const struct member_record *record = &message->members[i];
        int index = member_find(node, record->name);
        map[i] = index;
        if (index >= 0 && node->member[index].self) {
            merge_self(node, record, effects);
            continue;
        }
        if (index < 0) {
            index =
                member_add(node, record->name, record->region, record->gossip_address, record->snapshot_address);
            map[i] = index;
            if (index < 0)
                continue;
            if (record->state == PEER_LEFT) {
                member_gone_before_we_came(node, (uint32_t)index, record);
                continue;
            }
            connect_to(effects, &node->member[index]);
        }
        merge_record(node, record, (uint32_t)index, i == message->sender, effects);
    }
}

bool member_hears(const struct node *node, const struct member *listener, uint32_t speaker)
{
    if (listener->self) {
        const struct member *member = &node->member[speaker];
        return member->heard_direct_ns != 0 &&
               node->now_ns - member->heard_direct_ns <= HEARING_INTERVALS * node->options.interval_ns;
    }
    return (listener->hears >> speaker & 1) != 0;
}

bool member_rests(const struct node *node, uint32_t index)
{
    return (node->member[index].hears >> index & 1) != 0;
}

static void refresh_silence(struct node *node, struct effects *effects)
{
    node->somebody_silent = false;
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (!member_needed(member))
            continue;
        uint64_t since_ns = member->heard_ns ? member->heard_ns : node->started_ns;
        uint64_t quiet_ns = node->now_ns - since_ns;
        bool silent = quiet_ns > node->options.silent_after_ns;
        if (silent != member->silent && (member->heard_ns || silent))
            effects_notice(effects, silent ? NOTICE_WARNING : NOTICE_INFO, "%s %s", member->name,
                           silent ? "is silent: its share stays reserved" : "is heard again");
        member->silent = silent;
        if (silent && node->options.forget_after_ns && quiet_ns > node->options.forget_after_ns) {
            membership_left(node, i, true, effects, "was silent for forget_after and is forgotten");
            continue;
        }
        node->somebody_silent |= silent || !member->heard_ns;
    }
}

/*
 * Whoever left for good gives its share back when all it ever told is applied here, or after a time without hope.
 * A node that the config names may return where nobody hears it and use its share at once: it keeps it until the
 * operator forgets it.
 */
static void refresh_freed(struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (!member->used || member->state != PEER_LEFT || member->share_freed ||
            (member->configured && !member->forgotten))
            continue;
        bool complete = true;
        for (uint32_t o = 0; o < node->origin_end; o++)
            complete &=
                !node->origin[o].uid || node->origin[o].member != i || node->origin[o].applied >= member->known[o];
        member->share_freed = complete || node->now_ns - member->left_ns > node->options.silent_after_ns;
    }
}

static uint64_t region_weight(const struct node *node, const char *region)
{
    for (uint32_t i = 0; i < node->options.region_count; i++)
        if (strcmp(node->options.regions[i].region, region) == 0)
            return node->options.regions[i].weight;
    return 0;
}

static uint64_t member_share(const struct node *node, const struct member *member)
{
    uint64_t sharers = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *other = &node->member[i];
        sharers += other->used && !other->share_freed && strcmp(other->region, member->region) == 0;
    }
    return sharers == 0 ? 0 : region_weight(node, member->region) / sharers;
}

void membership_refresh_budget(struct node *node, uint32_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    budget_init(&node->budget[index], limit, node->share, node->alone);
    uint64_t early = node->options.early_push_share, peers = node->peer_count > 0 ? node->peer_count : 1;
    node->early_units[index] =
        early ? units_times(limit->capacity_units, early) : limit->capacity_units / (4 * (int64_t)peers);
    if (node->early_units[index] < limit->units_per_token)
        node->early_units[index] = limit->units_per_token;
    node->soon_units[index] = soon_paid_units(node, limit, node->share);
    wait_note_limit(node, index);
}

/* Thousands of limits are not gone through unless a share has changed. */
static void refresh_budgets(struct node *node)
{
    uint32_t peers_before = node->peer_count;
    node->peer_count = 0;
    uint32_t counted = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        node->peer_count += member->self || member_needed(member);
        counted += member->used && !member->share_freed;
    }
    bool alone = counted == 1;
    uint64_t share =
        node->state == PEER_ACTIVE && !node->superseded ? member_share(node, &node->member[node->me]) : 0;
    if (alone && node->state == PEER_ACTIVE && !node->superseded)
        share = SHARE_ONE;
    if (node->share == share && node->alone == alone && node->peer_count == peers_before)
        return;
    node->share = share;
    node->alone = alone;
    table_set_share_min(node->table, share);
    wait_carefully(node);
    for (uint32_t i = 0; i < node->limits.count; i++)
        if (limit_set_has(&node->limits, i))
            membership_refresh_budget(node, i);
}

void membership_refresh(struct node *node, struct effects *effects)
{
    refresh_silence(node, effects);
    refresh_freed(node);
    refresh_budgets(node);
}
