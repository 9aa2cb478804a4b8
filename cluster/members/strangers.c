/*
 * strangers decides what becomes of records of members without a key, where keys are required. A stranger has no state
 * but that it is in the list, so a false word about one has it dialled in vain, and waited for, as a made-up member
 * always could.
 */
#include "cluster/members/strangers.h"

#include "cluster/codec/effects.h"
#include "cluster/codec/message.h"
#include "cluster/members/votes.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <string.h>

#define REDIAL_GAP_NS UINT64_C(1000000000)

bool stranger_is(const struct node *node, uint32_t index)
{
    const struct member *member = &node->member[index];
    return !member->self && member_signs(node, index) && !member->proof.has_key;
}

void listen_to(struct effects *effects, enum effect_kind kind, const struct member *member)
{
    if (member->gossip_address[0] != '\0')
        effects_emit_to(effects, kind, member->name, member->gossip_address, effects->arena_size);
}

/* Whom the config names is dialled at the address of the config, from the start on. */
static void dial(struct node *node, const struct member_record *record, struct member *member,
                 struct effects *effects)
{
    struct member_proof *proof = &member->proof;
    const bool is_dialled = proof->dialled_ns != 0 || (member->configured && member->state != PEER_LEFT);
    const bool moves = !member->configured && record->gossip_address.size > 0 &&
                       !bytes_equal(record->gossip_address, bytes_of(member->gossip_address));
    if (is_dialled && (!moves || node->now_ns - proof->dialled_ns < REDIAL_GAP_NS))
        return;
    if (moves) {
        if (is_dialled)
            listen_to(effects, EFFECT_DISCONNECT, member);
        memcpy(member->gossip_address, record->gossip_address.data, record->gossip_address.size);
        member->gossip_address[record->gossip_address.size] = '\0';
        memcpy(member->snapshot_address, record->snapshot_address.data, record->snapshot_address.size);
        member->snapshot_address[record->snapshot_address.size] = '\0';
    }
    proof->dialled_ns = node->now_ns > 0 ? node->now_ns : 1;
    listen_to(effects, EFFECT_CONNECT, member);
}

bool strangers_heed(struct node *node, const struct member_record *record, uint32_t index, int sender,
                    struct member_record *heeded, struct effects *effects)
{
    struct member *member = &node->member[index];
    const bool is_over = member->state == PEER_LEFT && record->incarnation <= member->incarnation;
    *heeded = *record;
    heeded->forgotten = false; /* see votes_hear */
    heeded->config = 0;
    heeded->region = bytes_of(member->region); /* only itself says where it is */
    heeded->gossip_address = heeded->snapshot_address = (struct bytes){0};
    if (is_over)
        return false;
    if (record->state != PEER_LEFT) {
        if (sender >= 0)
            node->member[sender].proof.gone[index] = 0;
        dial(node, record, member, effects);
        return false;
    }
    if (!votes_gone(node, index, record->incarnation, sender))
        return false;
    if (member->proof.dialled_ns != 0)
        listen_to(effects, EFFECT_DISCONNECT, member);
    member->proof.dialled_ns = 0;
    return true;
}

bool strangers_are_awaited(const struct node *node)
{
    if (node->now_ns - node->life.started_ns > node->options.silent_after_ns)
        return false;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]) && stranger_is(node, i))
            return true;
    return false;
}
