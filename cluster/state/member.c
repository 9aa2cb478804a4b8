/*
 * member reads facts off the list of members: which members count, who hears whom, whom to ask for
 * a snapshot. Nothing here changes a member: members/membership.c does, by what messages say.
 */
#include "cluster/state/member.h"

#include "cluster/state/node_state.h"

uint64_t member_hash(uint64_t hash, const struct member *member, uint64_t bits)
{
    static const uint64_t odd = UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ member->incarnation) * odd;
    hash = (hash ^ bits) * odd;
    return hash ^ hash >> 29;
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

bool member_hears(const struct node *node, const struct member *listener, uint32_t speaker)
{
    if (listener->self) {
        const struct member *member = &node->member[speaker];
        return member->heard_direct_ns != 0 &&
               node->now_ns - member->heard_direct_ns <= HEARING_INTERVALS * node->options.interval_ns;
    }
    return (listener->hears >> speaker & 1) != 0;
}

bool member_speaks_alone(const struct node *node, uint32_t index)
{
    return node->options.signing.check && node->member[index].proof.has_key &&
           member_hears(node, &node->member[node->me], index);
}

bool member_rests(const struct node *node, uint32_t index)
{
    return (node->member[index].hears >> index & 1) != 0;
}

int member_to_ask(const struct node *node)
{
    int best = -1;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_needed(member) || member->state != PEER_ACTIVE || member->silent || member->mute_in ||
            member->number == 0)
            continue;
        if (best < 0 || member->heard_direct_ns > node->member[best].heard_direct_ns)
            best = (int)i;
    }
    return best;
}
