/*
 * accord decides whose config counts. Limits, weights and the interval must be the same at all
 * peers, or each peer keeps another bound. While they differ, as in a rolling change, only peers of
 * one config decide: of the config that most members have; of two that equally many have, the
 * config that is in use, so that the restart of one daemon changes nothing; if none is, the config
 * whose oldest member started first. All others refuse, and their shares are unused. A silent
 * member counts with the config that was last heard of it; a member that has left does not count.
 *
 * Two configs must not be in use at the same time, and news travels. So a peer whose config becomes
 * the one in use begins only when each heard peer of another config has said that it refuses, and
 * has said so in knowledge that this peer is about to begin. A peer that hears nobody cannot know
 * other configs: it decides by its own.
 */
#include "cluster/members/accord.h"

#include "cluster/codec/effects.h"
#include "cluster/members/limit_list.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <string.h>

struct vote {
    uint64_t config, oldest;
    uint32_t count;
    bool in_use; /* some member of that config decides, by its newest message */
};

/* Whoever began with other limits, which the versions of limits know, has the newest version as this node has. */
uint64_t accord_config_of(const struct node *node, const struct member *member)
{
    const uint64_t ours = node->options.config_digest;
    if (member->self || member->config == ours)
        return ours;
    return member->config != 0 && ours != 0 && limit_list_knows(node, member->config) ? ours : member->config;
}

static bool votes(const struct node *node, const struct member *member)
{
    return (member->self || member_needed(member)) && accord_config_of(node, member) != 0;
}

/* While this node decides nobody else does by another config, whatever its last word was. */
static bool decides(const struct node *node, const struct member *member)
{
    if (member->self || node->accord.decides)
        return member->self && node->accord.decides;
    return member->state == PEER_ACTIVE && !member->refuses;
}

static struct vote votes_for(const struct node *node, uint64_t config)
{
    struct vote vote = {.config = config, .oldest = UINT64_MAX};
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!votes(node, member) || accord_config_of(node, member) != config)
            continue;
        vote.count++;
        vote.in_use |= decides(node, member);
        if (member->incarnation < vote.oldest)
            vote.oldest = member->incarnation;
    }
    return vote;
}

static bool beats(const struct vote *a, const struct vote *b)
{
    if (a->count != b->count)
        return a->count > b->count;
    if (a->in_use != b->in_use)
        return a->in_use;
    return a->oldest != b->oldest ? a->oldest < b->oldest : a->config < b->config;
}

/* Gives one notice for each member that has another config. True: some member has. */
static bool note_differences(struct node *node, struct effects *effects)
{
    uint64_t ours = node->options.config_digest;
    bool some = false;
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        bool differs = ours != 0 && !member->self && votes(node, member) && accord_config_of(node, member) != ours;
        if (differs && !member->config_differs)
            effects_notice(
                effects, NOTICE_WARNING,
                "config of %s differs in limits, weights or interval (its digest %016llx, ours %016llx): "
                "only peers of one config decide",
                member->name, (unsigned long long)member->config, (unsigned long long)ours);
        member->config_differs = differs;
        some |= differs;
    }
    return some;
}

static struct vote winner_of(const struct node *node)
{
    struct vote best = votes_for(node, node->options.config_digest);
    for (uint32_t i = 0; i < node->member_end; i++) {
        if (!votes(node, &node->member[i]))
            continue;
        struct vote vote = votes_for(node, accord_config_of(node, &node->member[i]));
        if (beats(&vote, &best))
            best = vote;
    }
    return best;
}

/*
 * True if each heard member of another config refuses and knows that this node is about to begin.
 */
static bool others_refuse(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member->config_differs || member->silent || member->heard_ns == 0)
            continue;
        bool knows = member->echo >= node->accord.asked_number;
        if (!member->refuses || (!knows && member_hears(node, &node->member[node->me], i)))
            return false;
    }
    return true;
}

static void begin(struct node *node, struct effects *effects)
{
    node->accord.decides = true;
    node->accord.asks = false;
    todo_add(&node->todo, DO_ANSWER);
    if (node->accord.told_out)
        effects_notice(effects, NOTICE_INFO, "%s decides again: its limits, weights and interval are in use",
                       node->options.name);
    node->accord.told_out = false;
}

static void stand_aside(struct node *node, const struct vote *winner, struct effects *effects)
{
    todo_add_if(&node->todo, DO_ANSWER, node->accord.decides);
    node->accord.decides = node->accord.asks = false;
    if (!node->accord.told_out)
        effects_notice(
            effects, NOTICE_WARNING,
            "%s decides nothing: its limits, weights or interval are not those in use (daemons with digest "
            "%016llx: %u; ours is %016llx)",
            node->options.name, (unsigned long long)winner->config, winner->count,
            (unsigned long long)node->options.config_digest);
    node->accord.told_out = true;
}

void accord_refresh(struct node *node, struct effects *effects)
{
    bool differ = note_differences(node, effects);
    if (node->life.state != PEER_ACTIVE || node->life.superseded) {
        node->accord.decides = node->accord.asks = false;
        return;
    }
    struct vote winner = {.config = node->options.config_digest};
    if (differ)
        winner = winner_of(node);
    if (winner.config != node->options.config_digest) {
        stand_aside(node, &winner, effects);
        return;
    }
    if (node->accord.decides)
        return;
    if (differ && !node->accord.asks) {
        node->accord.asks = true;
        node->accord.asked_number = node->publishing.number + 1;
        todo_add(&node->todo, DO_ANSWER);
    }
    if (!differ || others_refuse(node))
        begin(node, effects);
}
