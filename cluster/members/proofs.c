/*
 * proofs signs what this node is, checks what others have signed of themselves, learns their keys and pins them. A
 * signature that was checked once is known again by its bytes, so in a quiet cluster nothing is checked.
 */
#include "cluster/members/proofs.h"

#include "base/hex.h"
#include "cluster/codec/effects.h"
#include "cluster/codec/life.h"
#include "cluster/members/handover.h"
#include "cluster/members/pins.h"
#include "cluster/members/signature_check.h"
#include "cluster/state/node_state.h"

#include <string.h>

void proofs_recall(struct node *node, uint32_t index)
{
    struct member *member = &node->member[index];
    const struct pin *known = pins_find(node, member->name);
    if (!known || !signatures_are_checked(node) || member->self)
        return;
    member->proof.has_key = true;
    memcpy(member->proof.key, known->key, NODE_KEY_BYTES);
    member->proof.had_former = known->has_former;
    memcpy(member->proof.former, known->former, NODE_KEY_BYTES);
    member->proof.since = known->since;
}

/* An operator says which key the name has. An empty one: none, so that the next one is learnt. */
static void accept_key(struct node *node, const struct event *event, struct effects *effects)
{
    const int index = member_find(node, bytes_of(event->name));
    if (index < 0 || node->member[index].self || !signatures_are_checked(node))
        return; /* the caller has looked */
    struct member_proof *proof = &node->member[index].proof;
    const bool is_kept =
        event->key != NULL && proof->has_key && memcmp(proof->key, event->key, NODE_KEY_BYTES) == 0;
    proof->differs = proof->is_missing = false;
    if (is_kept)
        return;
    proof->has_key = event->key != NULL;
    proof->has_life = proof->is_new = proof->handover.is_there = proof->had_former = false;
    proof->since = 0;
    if (event->key) {
        memcpy(proof->key, event->key, NODE_KEY_BYTES);
        pins_put(node, event->name, event->key);
    } else {
        pins_drop(node, event->name);
    }
    effects_notice(effects, NOTICE_INFO,
                   event->key ? "the key of %s is the one that the operator accepts"
                              : "the key of %s is forgotten, as the operator asked",
                   event->name);
}

bool proofs_event(struct node *node, const struct event *event, struct effects *effects)
{
    if (event->kind == EVENT_RESTORE && event->keys_text.size > 0)
        pins_restore(node, event);
    else if (event->kind == EVENT_RETELL)
        node->proofs.unsaved = true;
    else if (event->kind == EVENT_KEY)
        accept_key(node, event, effects);
    else if (event->kind == EVENT_ROTATE)
        handover_begin(node, event, effects);
    return event->kind == EVENT_KEY || event->kind == EVENT_ROTATE;
}

/* ---- the own word ---- */

static struct life_record life_of(const struct member_proof *proof)
{
    return (struct life_record){.incarnation = proof->incarnation,
                                .config = proof->config,
                                .state = proof->state,
                                .key = proof->key,
                                .proof = proof->proof};
}

static struct member_record own_record(const struct node *node, const struct member_proof *proof)
{
    const struct node_options *options = &node->options;
    return (struct member_record){.name = bytes_of(options->name),
                                  .region = bytes_of(options->region),
                                  .gossip_address = bytes_of(options->gossip_address),
                                  .snapshot_address = bytes_of(options->snapshot_address),
                                  .life = life_of(proof)};
}

void proofs_say(struct node *node)
{
    const struct node_signing *signing = &node->options.signing;
    struct member_proof *own = &node->member[node->me].proof;
    char text[LIFE_TEXT_MAX_BYTES];
    if (!signing->sign ||
        (own->has_life && own->incarnation == node->life.incarnation && own->state == node->life.state))
        return;
    own->has_key = own->has_life = true;
    memcpy(own->key, signing->key, NODE_KEY_BYTES);
    own->incarnation = node->life.incarnation;
    own->state = node->life.state;
    own->config = node->options.config_digest;
    const struct member_record record = own_record(node, own);
    signing->sign(signing->context, life_text(&record, text), own->proof);
}

struct life_record proofs_life(const struct node *node, uint32_t index)
{
    const struct member_proof *proof = &node->member[index].proof;
    if (!proof->has_life)
        return (struct life_record){0};
    struct life_record life = life_of(proof);
    handover_say(node, index, &life);
    return life;
}

/* ---- the word of others ---- */

/* The record has the very life that is known of its member, with the same addresses. */
static bool is_known(const struct member *member, const struct member_record *record)
{
    const struct member_proof *proof = &member->proof;
    const struct life_record *life = &record->life;
    return proof->has_life && same_key(proof->key, life->key) && proof->incarnation == life->incarnation &&
           proof->state == life->state && proof->config == life->config &&
           memcmp(proof->proof, life->proof, NODE_PROOF_BYTES) == 0 &&
           bytes_equal(record->region, bytes_of(member->region)) &&
           bytes_equal(record->gossip_address, bytes_of(member->gossip_address)) &&
           bytes_equal(record->snapshot_address, bytes_of(member->snapshot_address));
}

static bool check(struct node *node, const struct member_record *record, int bringer, struct effects *effects)
{
    char text[LIFE_TEXT_MAX_BYTES];
    if (signature_check(node, record->life.key, life_text(record, text), record->life.proof))
        return true;
    signature_was_wrong(node, record->name, bringer, effects);
    return false;
}

/* A member says of itself what it has signed, or it is damaged. */
static bool says_what_it_signs(const struct member_record *record)
{
    return record->life.incarnation == record->incarnation && record->life.state == record->state &&
           record->life.config == record->config;
}

/* Where keys are required. A member that has none yet may not be in the list. */
static bool refuse_unsigned(struct node *node, struct bytes name, int index, struct effects *effects)
{
    node->stats.messages_unsigned++;
    if (index >= 0)
        node->member[index].proof.is_missing = true;
    if (!effects_notice_is_due(&node->proofs.unsigned_ns, node->now_ns))
        return false;
    effects_notice(
        effects, NOTICE_WARNING,
        "%.*s signs nothing, and is not heard (signatures: required): it lacks a state_dir, is of a release "
        "before 0.4, or has signatures: off",
        (int)name.size, name.data);
    return false;
}

/* `is_late`: with the key before the present one, by a later start. */
static bool refuse(struct node *node, struct member *member, const uint8_t *offered, bool is_late,
                   struct effects *effects)
{
    static const uint8_t none[NODE_KEY_BYTES];
    char text[2 * NODE_KEY_BYTES + 1] = "none";
    node->stats.messages_unproven++;
    if (node->options.signing.keys == KEYS_LEARNT && !is_late)
        return false;
    member->proof.differs = true;
    memcpy(member->proof.offered, offered ? offered : none, NODE_KEY_BYTES);
    if (!effects_notice_is_due(&node->proofs.differs_ns, node->now_ns))
        return false;
    if (offered)
        hex_write(offered, NODE_KEY_BYTES, text);
    effects_notice(effects, NOTICE_WARNING,
                   "%s has another key than the one that is pinned here, and is not heard: if that is right, say "
                   "headgate key accept %s %.64s",
                   member->name, member->name, text);
    return false;
}

/* The member comes under another key than is known here, which does not follow from the known one. */
static bool may_have_another(struct node *node, const struct member_record *record, uint32_t index,
                             struct effects *effects)
{
    struct member *member = &node->member[index];
    const struct life_record *life = &record->life;
    const bool is_former = handover_is_former(node, index, life->key);
    const bool is_late = record->incarnation > member->incarnation && record->incarnation > member->proof.since;
    const bool follows =
        life->former && same_key(life->former, member->proof.key); /* it was not checked, or wrong */
    if (follows || (is_former && !is_late)) {
        node->stats.messages_unproven++; /* what was on its way, or is said again */
        return false;
    }
    return (node->options.signing.keys == KEYS_LEARNT && is_late && !is_former) ||
           refuse(node, member, life->key, is_former, effects);
}

bool proofs_admit(struct node *node, const struct message *message, struct effects *effects)
{
    const struct member_record *record = &message->members[message->sender];
    const uint8_t *key = record->life.key;
    const int index = member_find(node, record->name);
    const enum node_keys keys = node->options.signing.keys;
    node->proofs.sender_signed = false;
    if (!signatures_are_checked(node) || (index >= 0 && node->member[index].self))
        return true; /* of this node's own name nothing counts but its own signature, or a majority */
    struct member *member = index >= 0 ? &node->member[index] : NULL;
    const bool has_key = member && member->proof.has_key;
    const bool is_same =
        has_key && key &&
        (same_key(key, member->proof.key) || handover_take(node, record, (uint32_t)index, index, effects));
    if (has_key && !is_same && !may_have_another(node, record, (uint32_t)index, effects))
        return false;
    if (!key)
        return keys != KEYS_REQUIRED || refuse_unsigned(node, record->name, index, effects);
    if (!says_what_it_signs(record)) {
        signature_was_wrong(node, record->name, index, effects);
        return false;
    }
    node->proofs.sender_signed = (is_same && is_known(member, record)) || check(node, record, index, effects);
    return node->proofs.sender_signed;
}

static void tell_key(const struct member *member, bool had_one, const uint8_t *key, struct effects *effects)
{
    char text[2 * NODE_KEY_BYTES + 1];
    if (!key) {
        effects_notice(effects, NOTICE_WARNING, "%s has started anew and signs nothing any more", member->name);
        return;
    }
    hex_write(key, NODE_KEY_BYTES, text);
    effects_notice(effects, had_one ? NOTICE_WARNING : NOTICE_INFO, "%s %s %.64s", member->name,
                   had_one ? "has started anew with another key, which counts from now on:" : "has the key", text);
}

/* Whose state_dir was copied: each of the two can sign in the name of the other. */
static void tell_shared(const struct node *node, uint32_t index, struct effects *effects)
{
    const struct member *member = &node->member[index];
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *other = &node->member[i];
        const uint8_t *key = other->self            ? node->options.signing.key
                             : other->proof.has_key ? other->proof.key
                                                    : NULL;
        if (i == index || (!other->self && !member_needed(other)) || !key || !same_key(key, member->proof.key))
            continue;
        effects_notice(effects, NOTICE_WARNING,
                       "%s has the key of %s: a state_dir was copied; stop the one that has the copy, remove its "
                       "headgate.key, and start it",
                       member->name, other->name);
        return;
    }
}

/* So that it can be passed on. What cannot be said again in the same words is not. */
static void keep(struct member *member, const struct member_record *record)
{
    struct member_proof *proof = &member->proof;
    const struct life_record *life = &record->life;
    if (!same_key(proof->key, life->key) || life->incarnation != member->incarnation)
        return;
    proof->incarnation = life->incarnation;
    proof->state = life->state;
    proof->config = life->config;
    if (proof->proof != life->proof)
        memcpy(proof->proof, life->proof, NODE_PROOF_BYTES);
    proof->has_life = true;
    proof->has_life = is_known(member, record);
}

void proofs_passed(struct node *node, const struct member_record *record, uint32_t index)
{
    if (signatures_are_checked(node) && node->member[index].proof.has_key && record->life.key)
        keep(&node->member[index], record);
}

void proofs_take(struct node *node, const struct member_record *record, uint32_t index, struct effects *effects)
{
    struct member *member = &node->member[index];
    struct member_proof *proof = &member->proof;
    const struct life_record *life = &record->life;
    if (!signatures_are_checked(node) || member->self || record->incarnation != member->incarnation)
        return;
    proof->differs = proof->is_missing = false;
    if (!life->key || !node->proofs.sender_signed) {
        if (proof->has_key && !life->key) {
            tell_key(member, true, NULL, effects);
            pins_drop(node, member->name);
            proof->has_key = proof->has_life = false;
        }
        return;
    }
    if (!proof->has_key || !same_key(proof->key, life->key)) {
        tell_key(member, proof->has_key, life->key, effects);
        memcpy(proof->key, life->key, NODE_KEY_BYTES);
        proof->has_key = proof->is_new = true;
        proof->had_former = false;
        pins_put(node, member->name, life->key);
        tell_shared(node, index, effects);
    }
    if (life->incarnation > proof->since) {
        proof->since = life->incarnation;
        pins_put_since(node, member->name, life->incarnation);
    }
    keep(member, record);
    handover_keep(node, record, index);
}

/* It says more than is known here already. */
static bool is_news(const struct member *member, const struct member_record *record)
{
    return record->incarnation > member->incarnation ||
           (record->incarnation == member->incarnation && record->state != member->state &&
            member->state != PEER_LEFT && record->state != PEER_JOINING);
}

bool proofs_heed(struct node *node, const struct member_record *record, uint32_t index, int sender,
                 struct member_record *heeded, struct effects *effects)
{
    struct member *member = &node->member[index];
    const struct life_record *life = &record->life;
    *heeded = *record;
    if (!signatures_are_checked(node) || !member->proof.has_key)
        return true;
    if (life->key && !same_key(life->key, member->proof.key))
        (void)handover_take(node, record, index, sender, effects);
    heeded->forgotten = false;
    heeded->state = life->state;
    heeded->config = life->config;
    const bool is_about =
        life->key && same_key(life->key, member->proof.key) && life->incarnation == record->incarnation;
    if (is_about && !is_news(member, heeded))
        return false;
    if (is_about &&
        (is_known(member, record) || (signature_may_check(node, sender) && check(node, record, sender, effects))))
        return true;
    node->stats.words_unproven +=
        is_news(member, record) && !record->forgotten && (record->rights & MEMBER_TAKEN) == 0;
    return false;
}

bool proofs_are_ours(struct node *node, const struct member_record *record, int sender, struct effects *effects)
{
    const struct life_record *life = &record->life;
    if (!node->options.signing.sign)
        return true;
    return life->key && same_key(life->key, node->options.signing.key) &&
           life->incarnation == record->incarnation &&
           (record->incarnation > node->life.incarnation || life->state == PEER_LEFT) &&
           signature_may_check(node, sender) && check(node, record, sender, effects);
}
