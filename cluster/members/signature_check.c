/*
 * signature_check counts the signatures that a step may still check, and the wrong ones of each member that brought
 * some.
 */
#include "cluster/members/signature_check.h"

#include "cluster/codec/effects.h"
#include "cluster/members/handover.h"

enum {
    /* after so many wrong ones in so long a time, nothing that their bringer passes on is checked until it is over */
    WRONG_MAX = 8,
    WRONG_TIME_NS = 1000000000,
};

void signature_begin_step(struct node *node)
{
    node->proofs.checks_left = STEP_CHECKS_MAX;
}

static bool wrong_time_is_over(const struct node *node, const struct member_proof *proof)
{
    return node->now_ns - proof->wrong_since_ns > WRONG_TIME_NS;
}

static void count_wrong(const struct node *node, struct member_proof *proof)
{
    if (proof->wrong_count == 0 || wrong_time_is_over(node, proof)) {
        proof->wrong_since_ns = node->now_ns;
        proof->wrong_count = 0;
    }
    proof->wrong_count++;
}

void signature_was_wrong(struct node *node, struct bytes about, int bringer, struct effects *effects)
{
    node->stats.proofs_wrong++;
    if (bringer >= 0)
        count_wrong(node, &node->member[bringer].proof);
    if (!effects_notice_is_due(&node->proofs.wrong_ns, node->now_ns))
        return;
    effects_notice(
        effects, NOTICE_WARNING,
        "%s has brought a word of %.*s with a wrong signature: it was dropped; either it was made up, or "
        "it was damaged",
        bringer >= 0 ? node->member[bringer].name : "somebody", (int)about.size, about.data);
}

bool signature_may_check(const struct node *node, int bringer)
{
    const struct member_proof *proof = bringer >= 0 ? &node->member[bringer].proof : NULL;
    return node->proofs.checks_left > 0 &&
           (!proof || proof->wrong_count < WRONG_MAX || wrong_time_is_over(node, proof));
}

bool signature_check(struct node *node, const uint8_t *key, struct bytes text, const uint8_t *proof)
{
    node->proofs.checks_left -= node->proofs.checks_left > 0; /* a sender's own word is always checked */
    node->stats.proofs_checked++;
    return node->options.signing.check(key, text, proof);
}

bool signature_check_text(struct node *node, uint32_t index, struct bytes text, const uint8_t *proof, int bringer,
                          struct effects *effects)
{
    const struct member *member = &node->member[index];
    if (!signatures_are_checked(node) || !member->proof.has_key || !signature_may_check(node, bringer))
        return false;
    if (signature_check(node, member->proof.key, text, proof))
        return true;
    if (!handover_was_right(node, index, text, proof))
        signature_was_wrong(node, bytes_of(member->name), bringer, effects);
    return false;
}
