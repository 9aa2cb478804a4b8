/*
 * incarnation decides which start of a name counts. Each start has a number, its incarnation: the
 * wall clock in nanoseconds. The larger number wins everywhere. A message with a number far ahead
 * of all clocks could take a name away for ever. So a number that is more than AHEAD_MAX_NS ahead
 * of this node's clock is not believed. A number larger than any believed one can always be had a
 * moment later.
 *
 * A node that hears of a later start of its own name stops deciding at once, since two nodes of one
 * name would use one share twice. The node comes back under a larger number when that start has
 * ended or was forgotten, or when the nodes that it hears have heard nothing of that start for
 * silent_after: then no other node has the name.
 */
#include "cluster/members/incarnation.h"

#include "cluster/apply/pages.h"
#include "cluster/codec/effects.h"
#include "cluster/log/origins.h"
#include "cluster/log/tell.h"
#include "cluster/members/proofs.h"
#include "cluster/members/stores.h"
#include "cluster/members/takeover.h"
#include "cluster/members/takeover_node.h"
#include "cluster/members/votes.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/node_state.h"

#define AHEAD_MAX_NS (UINT64_C(10) * 365 * 24 * 3600 * 1000000000)

enum {
    /* two new nodes of one name would otherwise outbid each other for ever */
    INCARNATION_CHANGES_MAX = 16,
};

bool incarnation_is_plausible(struct node *node, const struct member_record *record, struct effects *effects)
{
    uint64_t clock_ns = node->options.incarnation + (node->now_ns - node->life.born_ns);
    if (record->incarnation <= clock_ns + AHEAD_MAX_NS)
        return true;
    node->stats.incarnations_refused++;
    if (!effects_notice_is_due(&node->notices.implausible_ns, node->now_ns))
        return false;
    effects_notice(
        effects, NOTICE_WARNING,
        "a message says that %.*s started more than ten years from now: that is dropped; either it was made "
        "up, or a wall clock is wrong",
        (int)record->name.size, record->name.data);
    return false;
}

/* Joins again. Own spends that other members may not have heard of stay unsettled. */
static bool begin_anew(struct node *node, uint64_t incarnation, const char *why, struct effects *effects)
{
    int slot = origin_obtain(node, node->me, incarnation);
    if (incarnation == 0 || slot < 0)
        return false;
    tell_all(node);
    node->life.incarnation = incarnation;
    node->life.changes++;
    node->member[node->me].incarnation = incarnation;
    node->origin[slot].mine = true;
    node->my_slot = (uint32_t)slot; /* the log of the old origin is a ghost's now */
    voucher_forget(node);
    votes_drop(node, node->me);
    for (uint32_t m = 0; m < node->member_end; m++) {
        node->member[m].acknowledged = 0;
        node->member[m].knows_me = false;
    }
    stores_join_again(node);
    takeover_begin_anew(&node->takeover);
    node->notices.has_right = false; /* `why` says it */
    node->life.state = PEER_JOINING;
    node->life.started_ns = node->now_ns;
    node->awake.started_ns = awake_ns(node);
    node->life.hello_ns = node->now_ns;
    todo_drop(&node->todo, DO_SNAPSHOT);
    snapshot_abandon(node);
    node->snapshot.giver_count = 0;
    effects_notice(effects, NOTICE_WARNING, "%s %s", node->options.name, why);
    return true;
}

/*
 * A node that signs is ended by itself, or by more than one other. What one peer alone may still say is in
 * docs/threats.md: that it has recorded this node as gone, and, without a majority that forgets, that it is forgotten.
 */
static bool is_believed(struct node *node, const struct member_record *record, int bringer, struct effects *effects)
{
    const bool anyone = node->options.forget == FORGET_BY_ANYONE && record->forgotten &&
                        record->state == PEER_LEFT && record->incarnation == node->life.incarnation;
    return anyone || takeover_node_is_recorded(node, record) || proofs_are_ours(node, record, bringer, effects) ||
           votes_end_us(node, record, bringer);
}

void incarnation_heard(struct node *node, const struct member_record *record, int bringer, struct effects *effects)
{
    bool newer = record->incarnation > node->life.incarnation;
    bool over = record->state == PEER_LEFT || takeover_node_is_recorded(node, record);
    if (record->incarnation < node->life.incarnation || (!newer && !over)) {
        if (bringer >= 0)
            node->member[bringer].proof.ends_us = 0;
        return;
    }
    if (node->life.superseded || node->life.stopping || !is_believed(node, record, bringer, effects))
        return;
    bool outbid = node->life.state != PEER_JOINING || node->life.changes >= INCARNATION_CHANGES_MAX;
    if (newer && outbid && !over) {
        node->life.superseded = true;
        node->accord.decides = false;
        node->life.rival.incarnation = record->incarnation;
        node->life.rival.number = 0;
        node->life.rival.heard_awake_ns = awake_ns(node);
        effects_notice(effects, NOTICE_WARNING,
                       "a newer node is called %s as well, at %.*s: this one stops deciding and stays out of the "
                       "cluster until that one is gone",
                       node->options.name, (int)record->gossip_address.size, record->gossip_address.data);
    } else {
        (void)begin_anew(node, record->incarnation + 1, "was declared gone by its peers and joins again", effects);
    }
}

void incarnation_join_again(struct node *node, const char *why, struct effects *effects)
{
    if (!node->life.superseded && !node->life.stopping)
        (void)begin_anew(node, node->life.incarnation + 1, why, effects);
}

static uint64_t number_of(const struct message *message, uint32_t record)
{
    for (uint32_t r = 0; r < message->row_count; r++)
        if (message->rows[r].member == record)
            return message->rows[r].number;
    return 0;
}

static void come_back(struct node *node, const char *why, struct effects *effects)
{
    if (node->life.stopping || !begin_anew(node, node->life.rival.incarnation + 1, why, effects))
        return;
    node->life.superseded = false;
    node->life.changes = 0;
    /* this node did not listen to them meanwhile */
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].heard_awake_ns = awake_ns(node);
}

void incarnation_watch(struct node *node, const struct message *message, struct effects *effects)
{
    for (uint32_t i = 0; i < message->member_count; i++) {
        const struct member_record *record = &message->members[i];
        if (!bytes_equal(record->name, bytes_of(node->options.name)) ||
            record->incarnation < node->life.rival.incarnation || !incarnation_is_plausible(node, record, effects))
            continue;
        uint64_t number = number_of(message, i);
        bool newer = record->incarnation > node->life.rival.incarnation;
        if (newer || number > node->life.rival.number) {
            node->life.rival.incarnation = record->incarnation;
            node->life.rival.number = number;
            node->life.rival.heard_awake_ns = awake_ns(node);
        }
        if (record->state == PEER_LEFT) {
            come_back(node, "joins again: the newer node of that name is gone", effects);
            return;
        }
    }
    if (awake_ns(node) - node->life.rival.heard_awake_ns > node->options.silent_after_ns)
        come_back(node, "joins again: nobody hears a newer node of that name", effects);
}
