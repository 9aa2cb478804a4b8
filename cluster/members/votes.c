/*
 * votes counts words about members. A word is a part of its speaker's newest message, so it ends when the speaker says
 * something else, and when the incarnation that it was about has ended.
 */
#include "cluster/members/votes.h"

#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/members/membership.h"
#include "cluster/members/takeover.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/share.h"

enum { WORDS_LEAST = 2 };

struct count {
    uint32_t voters, words;
    uint64_t weight, said_weight;
};

static void add(const struct node *node, struct count *count, uint32_t voter, bool says)
{
    const uint64_t weight = member_share_by_config(node, &node->member[voter]);
    count->voters++;
    count->weight += weight;
    count->words += says;
    count->said_weight += says ? weight : 0;
}

static bool is_enough(const struct count *count)
{
    return count->words > 0 && (count->words == count->voters ||
                                (count->words >= WORDS_LEAST && 2 * count->said_weight > count->weight));
}

bool votes_say(const struct node *node, uint32_t index)
{
    return (node->member[node->me].proof.forgets & member_bit(index)) != 0;
}

/* Words about that member: of all who have not left, this node included, but for those that it says are gone. */
static struct count about(const struct node *node, uint32_t index)
{
    struct count count = {0};
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (i != index && (member->self || (member_needed(member) && !votes_say(node, i))))
            add(node, &count, i, (member->proof.forgets & member_bit(index)) != 0);
    }
    return count;
}

/* Who declares a member gone knows more than those who took it over: its process has ended. */
static void forget(struct node *node, uint32_t index, struct effects *effects, const char *why)
{
    takeover_is_away(&node->takeover, index, true);
    membership_left(node, index, true, effects, why);
    todo_add(&node->todo, DO_ANSWER);
}

static bool decide(struct node *node, uint32_t index, struct effects *effects, const char *why)
{
    const struct member *member = &node->member[index];
    const struct count count = about(node, index);
    if (!member->used || member->self || member->forgotten || !is_enough(&count))
        return false;
    forget(node, index, effects, why);
    return true;
}

static void decide_all(struct node *node, struct effects *effects)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        (void)decide(node, i, effects, "is forgotten, as enough members say");
}

void votes_hear(struct node *node, const struct message *message, const int *map, uint32_t sender,
                struct effects *effects)
{
    uint64_t forgets = 0;
    if (node->options.forget != FORGET_BY_MAJORITY)
        return;
    for (uint32_t i = 0; i < message->member_count; i++) {
        const struct member_record *record = &message->members[i];
        if (map[i] >= 0 && i != message->sender && record->forgotten &&
            record->incarnation == node->member[map[i]].incarnation)
            forgets |= member_bit((uint32_t)map[i]);
    }
    if (node->member[sender].proof.forgets == forgets)
        return;
    node->member[sender].proof.forgets = forgets;
    decide_all(node, effects);
}

bool votes_forget(struct node *node, uint32_t index, struct effects *effects, const char *why)
{
    if (node->options.forget == FORGET_BY_ANYONE) {
        forget(node, index, effects, why);
        return true;
    }
    struct member *me = &node->member[node->me];
    const bool is_said = votes_say(node, index);
    me->proof.forgets |= member_bit(index);
    if (decide(node, index, effects, why)) {
        decide_all(node, effects); /* one less is asked about the others */
        return true;
    }
    const struct count count = about(node, index);
    if (!is_said && !node->member[index].forgotten)
        effects_notice(effects, NOTICE_WARNING,
                       "%s is not forgotten yet: %u of the %u members that are asked say so, this one among them; "
                       "it takes two of them and more than half of their weights",
                       node->member[index].name, count.words, count.voters);
    return false;
}

/* Who has left is asked as well: else one of three could say anything while another is stopped. */
static bool may_come_back(const struct member *member)
{
    return member_needed(member) || (member->used && !member->self && member->configured && !member->forgotten);
}

bool votes_end_us(struct node *node, const struct member_record *record, int sender)
{
    struct count count = {0};
    if (sender < 0)
        return false;
    node->member[sender].proof.ends_us = record->incarnation;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (may_come_back(&node->member[i]))
            add(node, &count, i, node->member[i].proof.ends_us >= record->incarnation);
    return is_enough(&count);
}

/* A stranger of which the config says nothing has no word about another. */
static bool may_know(const struct member *member)
{
    return member_needed(member) && (member->configured || member->incarnation > 0);
}

bool votes_gone(struct node *node, uint32_t index, uint64_t incarnation, int sender)
{
    struct count count = {0};
    if (sender < 0 || node->member[sender].self || incarnation == 0)
        return false;
    node->member[sender].proof.gone[index] = incarnation;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (i != index && may_know(&node->member[i]))
            add(node, &count, i, node->member[i].proof.gone[index] == incarnation);
    /* in a cluster of three the word of one is that of all others: it does not end whom the config names */
    return is_enough(&count) && (count.words >= WORDS_LEAST || !node->member[index].configured);
}

void votes_heard(struct node *node, uint32_t index)
{
    node->member[node->me].proof.forgets &= ~member_bit(index);
}

void votes_drop(struct node *node, uint32_t index)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        node->member[i].proof.forgets &= ~member_bit(index);
        node->member[i].proof.gone[index] = 0;
        node->member[i].proof.ends_us = index == node->me ? 0 : node->member[i].proof.ends_us;
    }
    node->member[index].proof.forgets = 0;
}
