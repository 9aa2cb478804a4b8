/*
 * takeover_node tells the protocol of takeover.c what the node knows: times, messages, and what is applied here. Of
 * whoever was taken over the node then thinks as of a member that was forgotten, but for its share, which nobody
 * gets: others lower their allowances for what it may have spent.
 */
#include "cluster/members/takeover_node.h"

#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/log/tell.h"
#include "cluster/members/incarnation.h"
#include "cluster/members/membership.h"
#include "cluster/members/shares.h"
#include "cluster/members/takeover.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/share.h"

#include <assert.h>
#include <string.h>

static struct takeover_time time_of(const struct node *node)
{
    return (struct takeover_time){.now_ns = node->now_ns, .awake_ns = awake_ns(node)};
}

void takeover_node_init(struct node *node)
{
    uint64_t weights[NODE_PEERS_MAX];
    uint32_t ranks[NODE_PEERS_MAX];
    if (node->options.takeover_after_ns == 0)
        return;
    for (uint32_t i = 0; i < node->member_end; i++) {
        weights[i] = member_share_by_config(node, &node->member[i]);
        ranks[i] = 0;
        for (uint32_t other = 0; other < node->member_end; other++)
            ranks[i] += strcmp(node->member[other].name, node->member[i].name) < 0;
    }
    takeover_begin(&node->takeover, node->options.takeover_after_ns, weights, ranks, node->member_end,
                   time_of(node));
    assert(node->takeover.me == node->me);
}

void takeover_node_expire(struct node *node)
{
    if (takeover_expire(&node->takeover, time_of(node))) {
        node->stats.rights_lapsed++;
        todo_add(&node->todo, DO_ANSWER);
        (void)shares_refresh(node);
    }
}

/* ---- what messages say ---- */

static uint32_t own_flags(const struct node *node)
{
    const struct takeover *takeover = &node->takeover;
    return (takeover->acted ? MEMBER_ACTED : 0u) | (takeover->has_figures ? MEMBER_FIGURES : 0u) |
           (takeover_is_stuck(takeover, node->life.state == PEER_ACTIVE) ? MEMBER_STUCK : 0u);
}

uint32_t takeover_node_flags(const struct node *node, uint32_t index)
{
    const struct takeover_peer *peer = &node->takeover.peer[index];
    if (node->takeover.after_ns == 0)
        return 0;
    if (index == node->me)
        return own_flags(node);
    return (takeover_renews(&node->takeover, index) ? MEMBER_RENEWED : 0u) |
           (peer->saying == SAYS_DISOWNED ? MEMBER_DISOWNED : 0u) | (peer->recorded ? MEMBER_RECORDED : 0u) |
           (peer->owed ? MEMBER_OWED : 0u) | (peer->taken ? MEMBER_TAKEN : 0u);
}

/* Notes what the record says of member `index`. */
static void read_record_of(const struct member_record *record, uint32_t index, bool is_us,
                           struct takeover_word *word)
{
    const uint64_t bit = member_bit(index);
    word->renews_us |= is_us && (record->rights & MEMBER_RENEWED) != 0;
    word->disowns |= (record->rights & MEMBER_DISOWNED) != 0 ? bit : 0;
    word->records |= (record->rights & MEMBER_RECORDED) != 0 ? bit : 0;
    word->owes |= (record->rights & MEMBER_OWED) != 0 ? bit : 0;
    word->takes |= (record->rights & MEMBER_TAKEN) != 0 ? bit : 0;
}

void takeover_node_hear(struct node *node, const struct message *message, const int *member_map, uint32_t sender,
                        uint64_t made_ns)
{
    const struct member_record *own = &message->members[message->sender];
    struct takeover_word word = {.number = message->number,
                                 .acted = (own->rights & MEMBER_ACTED) != 0,
                                 .is_stuck = (own->rights & MEMBER_STUCK) != 0,
                                 .has_figures = (own->rights & MEMBER_FIGURES) != 0};
    if (node->takeover.after_ns == 0)
        return;
    for (uint32_t i = 0; i < message->member_count; i++) {
        const int index = member_map[i];
        const bool is_us = index == (int)node->me;
        if (index < 0 || i == message->sender)
            continue;
        const uint64_t known = is_us ? node->life.incarnation : node->member[index].incarnation;
        if (message->members[i].incarnation == known)
            read_record_of(&message->members[i], (uint32_t)index, is_us, &word);
    }
    takeover_hear(&node->takeover, sender, &word, made_ns, time_of(node));
}

void takeover_node_heard(struct node *node, uint32_t index)
{
    takeover_heard(&node->takeover, index, time_of(node));
}

void takeover_node_started(struct node *node, uint32_t index, uint64_t incarnation)
{
    takeover_started(&node->takeover, index, incarnation, time_of(node));
}

bool takeover_node_decides(const struct node *node, const struct member_record *record)
{
    return node->takeover.after_ns > 0 && (record->rights & MEMBER_TAKEN) != 0;
}

bool takeover_node_is_recorded(const struct node *node, const struct member_record *record)
{
    return node->takeover.after_ns > 0 && (record->rights & MEMBER_RECORDED) != 0;
}

void takeover_node_all_are_new(struct node *node)
{
    bool somebody_has = node->takeover.has_figures;
    for (uint32_t i = 0; i < node->takeover.count; i++)
        somebody_has |= node->takeover.peer[i].word.has_figures;
    if (node->takeover.after_ns > 0 && !somebody_has)
        takeover_has_table(&node->takeover);
}

/* ---- what follows ---- */

static struct takeover_view view_of(const struct node *node)
{
    struct takeover_view view = {.is_covered = true,
                                 .is_settled = spent_is_settled(node, node->takeover.ready_ns),
                                 .serves = node->life.state == PEER_ACTIVE && node->accord.decides};
    for (uint32_t i = 0; i < node->takeover.count; i++) {
        if (i == node->me)
            continue;
        view.covers |= origins_cover_spends(node, i) ? member_bit(i) : 0;
        view.is_covered &= !member_needed(&node->member[i]) || origins_cover_view(node, i);
    }
    return view;
}

static void take_over(struct node *node, struct effects *effects)
{
    for (uint32_t i = 0; i < node->takeover.count; i++) {
        const struct member *member = &node->member[i];
        if (!node->takeover.peer[i].taken || member->state == PEER_LEFT)
            continue;
        node->stats.takeovers++;
        membership_left(node, i, true, effects, "is out of reach of most peers and is not waited for any more");
    }
}

/* Not by what a step changes: a right ends between two of them (takeover_node_expire). */
static void tell_right(struct node *node, struct effects *effects)
{
    const bool acts = takeover_acts(&node->takeover);
    if (acts != node->notices.has_right)
        effects_notice(effects, acts ? NOTICE_INFO : NOTICE_WARNING, "%s %s", node->options.name,
                       acts ? "has its right to its share"
                            : "is out of reach of most peers: it goes on with what its share has left");
    node->notices.has_right = acts;
}

void takeover_node_step(struct node *node, struct effects *effects)
{
    struct takeover *takeover = &node->takeover;
    if (takeover->after_ns == 0)
        return;
    if (node->snapshot.done && !node->snapshot.of_store)
        takeover_has_table(takeover);
    const struct takeover_view view = view_of(node);
    const bool was_ready = takeover->is_ready;
    if (takeover_step(takeover, &view, time_of(node)))
        todo_add(&node->todo, DO_ANSWER);
    if (takeover->is_ready && !was_ready)
        takeover->ready_ns = node->now_ns;
    take_over(node, effects);
    tell_right(node, effects);
    if (takeover_wants_anew(takeover, &view, time_of(node)))
        incarnation_join_again(node, "joins again: others may have settled without it", effects);
}
