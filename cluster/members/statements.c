/*
 * statements signs this node's own digest for those who do not hear it, checks those of others, and keeps the newest
 * one of each member that somebody does not hear. A kept statement was checked, so nobody can make this node pass on
 * a wrong one.
 */
#include "cluster/members/statements.h"

#include "cluster/codec/batch.h"
#include "cluster/codec/batch_hash.h"
#include "cluster/codec/statement.h"
#include "cluster/members/signature_check.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

#include <stdlib.h>
#include <string.h>

/* Who was never heard knows nothing yet. */
static bool may_not_hear_us(const struct node *node, uint32_t index)
{
    const struct member *member = &node->member[index];
    return member_needed(member) && member->number > 0 &&
           (!member_hears(node, member, node->me) || !member_hears(node, &node->member[node->me], index));
}

/* Who is silent may hear this node all the same, and needs its word most. */
static bool somebody_may_not_hear_us(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        if (may_not_hear_us(node, i))
            return true;
    return false;
}

static bool somebody_does_not_hear(const struct node *node, uint32_t index)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (i != index && member_needed(member) && member->number > 0 && !member->silent &&
            !member_hears(node, member, index))
            return true;
    }
    return false;
}

/* The oldest number of own batches that somebody has who may get them from others only. */
static uint64_t least_known(const struct node *node)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (may_not_hear_us(node, i) && !node->member[i].silent && node->member[i].known[node->my_slot] < least)
            least = node->member[i].known[node->my_slot];
    return least;
}

/* Returns how many places it takes: one, and one more with its grants. 0: there is no room. */
static uint32_t list_batch(const struct node *node, struct batch *batch, struct statement_batch *listed,
                           uint32_t room)
{
    const uint32_t places = batch->grant_count > 0 ? 2 : 1;
    struct batch_holder holders[BATCH_GRANTS_MAX];
    if (room < places)
        return 0;
    if (!batch->hashed)
        batch_hash(batch, &node->limits, batch->hash);
    if (!batch->hashed && places > 1) {
        origin_holders(node, batch, holders);
        batch_hash_granting(batch, &node->limits, holders, batch->granting_hash);
    }
    batch->hashed = true;
    memcpy(listed[0].hash, batch->hash, TEXT_HASH_BYTES);
    if (places > 1)
        memcpy(listed[1].hash, batch->granting_hash, TEXT_HASH_BYTES);
    for (uint32_t p = 0; p < places; p++)
        listed[p].age_ns = node->now_ns - batch->at_ns;
    return places;
}

/* The own batches that somebody lacks who may get them from others only: the oldest ones. */
static uint32_t list_batches(struct node *node, struct statement_batch *listed)
{
    const uint64_t known = least_known(node);
    struct origin *mine = &node->origin[node->my_slot];
    uint32_t count = 0;
    bool has_room = true;
    for (struct list *at = mine->log.next; at != &mine->log && has_room; at = at->next) {
        struct batch *batch = LIST_OWNER(at, struct batch, link);
        if (batch->last <= known)
            continue;
        const uint32_t places = list_batch(node, batch, &listed[count], STATEMENT_BATCHES_MAX - count);
        has_room = places > 0;
        count += places;
    }
    return count;
}

struct bytes statements_say(struct node *node, const struct message *header, const struct digest_row *row)
{
    const struct node_signing *signing = &node->options.signing;
    char *own = node->proofs.own_statement;
    struct statement_batch listed[STATEMENT_BATCHES_MAX];
    if (!signing->sign || !somebody_may_not_hear_us(node))
        return (struct bytes){0};
    const uint32_t count = list_batches(node, listed);
    const struct bytes text = statement_write(header, row, listed, count, own);
    signing->sign(signing->context, text, (uint8_t *)own + text.size);
    node->stats.statements_made++;
    return (struct bytes){own, text.size + NODE_PROOF_BYTES};
}

struct bytes statements_of(const struct node *node, uint32_t index)
{
    const struct kept_statement *kept = &node->proofs.kept[index];
    if (kept->size == 0 || kept->incarnation != node->member[index].incarnation ||
        !somebody_does_not_hear(node, index))
        return (struct bytes){0};
    return (struct bytes){kept->bytes, kept->size};
}

static void keep(struct node *node, uint32_t index, const struct statement *statement, struct bytes bytes)
{
    struct kept_statement *kept = &node->proofs.kept[index];
    if (kept->room < bytes.size) {
        char *larger = realloc(kept->bytes, bytes.size);
        if (!larger)
            return;
        kept->bytes = larger;
        kept->room = bytes.size;
    }
    memcpy(kept->bytes, bytes.data, bytes.size);
    kept->size = bytes.size;
    kept->incarnation = statement->incarnation;
    kept->number = statement->number;
    kept->heard_ns = node->now_ns;
    kept->batch_count = statement->batch_count;
    memcpy(kept->batches, statement->batches, statement->batch_count * sizeof *kept->batches);
}

static bool is_of(const struct statement *statement, const struct member *member)
{
    return bytes_equal(statement->name, bytes_of(member->name)) && statement->incarnation == member->incarnation;
}

void statements_keep(struct node *node, uint32_t index, struct bytes bytes, struct effects *effects)
{
    const struct kept_statement *kept = &node->proofs.kept[index];
    struct statement *statement = &node->proofs.statement;
    if (bytes.size == 0 || !member_signs(node, index) || !somebody_does_not_hear(node, index) ||
        !statement_read(statement, bytes) || !is_of(statement, &node->member[index]) ||
        (kept->incarnation == statement->incarnation && statement->number <= kept->number))
        return;
    if (signature_check_text(node, index, statement->text, statement->proof, (int)index, effects))
        keep(node, index, statement, bytes);
}

const struct statement *statements_heed(struct node *node, uint32_t index, struct bytes bytes, int bringer,
                                        struct effects *effects)
{
    struct statement *statement = &node->proofs.statement;
    const struct member *member = &node->member[index];
    if (bytes.size == 0 || !statement_read(statement, bytes) || !is_of(statement, member) ||
        statement->number <= member->number ||
        !signature_check_text(node, index, statement->text, statement->proof, bringer, effects))
        return NULL;
    keep(node, index, statement, bytes);
    return statement;
}

void statements_drop(struct node *node, uint32_t index)
{
    node->proofs.kept[index].size = 0;
}

void statements_close(struct node *node)
{
    for (uint32_t i = 0; i < NODE_PEERS_MAX; i++)
        free(node->proofs.kept[i].bytes);
}
