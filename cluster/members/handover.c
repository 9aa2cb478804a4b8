/*
 * handover replaces keys of members by those that follow them. A handover is checked under the key that is known, or,
 * where a member has brought it with its first word, under the key that it names: so nobody can have this node pass on
 * a false one.
 */
#include "cluster/members/handover.h"

#include "base/hex.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/life.h"
#include "cluster/members/pins.h"
#include "cluster/members/signature_check.h"
#include "cluster/members/statements.h"
#include "cluster/state/node_state.h"

#include <string.h>

void handover_begin(struct node *node, const struct event *event, struct effects *effects)
{
    char text[2 * NODE_KEY_BYTES + 1];
    if (!node->options.signing.sign)
        return;
    node->options.signing = *event->signing;
    node->member[node->me].proof.has_life = false; /* it is signed anew */
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].proof.knows_ours = false;
    hex_write(node->options.signing.key, NODE_KEY_BYTES, text);
    effects_notice(effects, NOTICE_INFO, "%s signs with another key from now on: %s", node->options.name, text);
    todo_add(&node->todo, DO_ANSWER);
}

void handover_say(const struct node *node, uint32_t index, struct life_record *life)
{
    const struct node_handover *handover =
        index == node->me ? &node->options.signing.handover : &node->member[index].proof.handover;
    if (!handover->is_there)
        return;
    life->former = handover->former;
    life->handover = handover->proof;
}

static void put(struct node_handover *handover, const struct life_record *life)
{
    handover->is_there = true;
    memcpy(handover->former, life->former, NODE_KEY_BYTES);
    memcpy(handover->proof, life->handover, NODE_PROOF_BYTES);
}

bool handover_take(struct node *node, const struct member_record *record, uint32_t index, int bringer,
                   struct effects *effects)
{
    const struct life_record *life = &record->life;
    struct member *member = &node->member[index];
    char text[LIFE_TEXT_MAX_BYTES], shown[2 * NODE_KEY_BYTES + 1];
    if (!life->former || !same_key(life->former, member->proof.key) ||
        !signature_check_text(node, index, handover_text(record->name, life->former, life->key, text),
                              life->handover, bringer, effects))
        return false;
    put(&member->proof.handover, life);
    memcpy(member->proof.key, life->key, NODE_KEY_BYTES);
    member->proof.has_life = member->proof.differs = false;
    statements_drop(node, index); /* the former key has signed it */
    pins_put(node, member->name, life->key);
    pins_put_former(node, member->name, life->former);
    hex_write(life->key, NODE_KEY_BYTES, shown);
    effects_notice(effects, NOTICE_INFO, "%s has another key, as its former one has signed: %s", member->name,
                   shown);
    return true;
}

void handover_keep(struct node *node, const struct member_record *record, uint32_t index)
{
    struct node_handover *handover = &node->member[index].proof.handover;
    const struct life_record *life = &record->life;
    char text[LIFE_TEXT_MAX_BYTES];
    if (!life->former) {
        handover->is_there = false;
        return;
    }
    if (handover->is_there && same_key(handover->former, life->former) &&
        memcmp(handover->proof, life->handover, NODE_PROOF_BYTES) == 0)
        return;
    handover->is_there = false;
    if (node->proofs.checks_left > 0 &&
        signature_check(node, life->former, handover_text(record->name, life->former, life->key, text),
                        life->handover)) {
        put(handover, life);
        pins_put_former(node, node->member[index].name, life->former);
    }
}

bool handover_is_former(const struct node *node, uint32_t index, const uint8_t *key)
{
    const struct member_proof *proof = &node->member[index].proof;
    return key && ((proof->handover.is_there && same_key(proof->handover.former, key)) ||
                   (proof->had_former && same_key(proof->former, key)));
}

bool handover_was_right(const struct node *node, uint32_t index, struct bytes text, const uint8_t *proof)
{
    const struct node_handover *handover = &node->member[index].proof.handover;
    return handover->is_there && node->options.signing.check(handover->former, text, proof);
}

void handover_heard(struct node *node, const struct member_record *record, int bringer)
{
    if (bringer >= 0)
        node->member[bringer].proof.knows_ours =
            record->life.key && same_key(record->life.key, node->options.signing.key);
}
