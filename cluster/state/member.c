/*
 * member reads facts off the list of members: which members count, who hears whom, whom to ask for
 * a snapshot. Nothing here changes a member: members/membership.c does, by what messages say.
 */
#include "cluster/state/member.h"

#include "cluster/codec/batch.h"
#include "cluster/codec/batch_hash.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

#include <string.h>

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

bool member_has_retired(const struct member *member, uint32_t slot)
{
    return (member->retired[slot / 64] >> (slot % 64) & 1) != 0;
}

bool member_lacks(const struct member *member, uint32_t slot, uint64_t number)
{
    return !member_has_retired(member, slot) && member->known[slot] < number;
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

bool member_signs(const struct node *node, uint32_t index)
{
    const struct node_signing *signing = &node->options.signing;
    return signing->check && (node->member[index].proof.has_key || signing->keys == KEYS_REQUIRED);
}

bool member_speaks_alone(const struct node *node, uint32_t index)
{
    return member_signs(node, index) && member_hears(node, &node->member[node->me], index);
}

/* Before a batch is hashed: false where the newest statement of that member lists none. */
static bool lists_batches(const struct node *node, uint32_t index)
{
    const struct kept_statement *kept = &node->proofs.kept[index];
    return kept->size > 0 && kept->batch_count > 0 && kept->incarnation == node->member[index].incarnation;
}

/* What that statement lists under the hash; NULL: nothing. */
static const struct statement_batch *listed_batch(const struct node *node, uint32_t index,
                                                  const uint8_t hash[TEXT_HASH_BYTES])
{
    const struct kept_statement *kept = &node->proofs.kept[index];
    for (uint32_t b = 0; b < kept->batch_count; b++)
        if (memcmp(kept->batches[b].hash, hash, TEXT_HASH_BYTES) == 0)
            return &kept->batches[b];
    return NULL;
}

bool member_vouches(const struct node *node, uint32_t index, const struct batch *batch, uint64_t *age_ns)
{
    uint8_t hash[TEXT_HASH_BYTES];
    if (!lists_batches(node, index))
        return false;
    batch_hash(batch, &node->limits, hash);
    const struct statement_batch *listed = listed_batch(node, index, hash);
    return listed &&
           !__builtin_add_overflow(listed->age_ns, node->now_ns - node->proofs.kept[index].heard_ns, age_ns);
}

bool member_vouches_grants(const struct node *node, uint32_t index, const struct batch *batch)
{
    struct batch_holder holders[BATCH_GRANTS_MAX];
    uint8_t hash[TEXT_HASH_BYTES];
    if (!lists_batches(node, index))
        return false;
    origin_holders(node, batch, holders);
    batch_hash_granting(batch, &node->limits, holders, hash);
    return listed_batch(node, index, hash) != NULL;
}

bool member_rests(const struct node *node, uint32_t index)
{
    return (node->member[index].hears >> index & 1) != 0;
}

bool member_can_give(const struct member *member)
{
    return member_needed(member) && member->state == PEER_ACTIVE && !member->silent && !member->mute_in &&
           member->number > 0;
}

bool member_is_passed_over(const struct member *member)
{
    return member->vain_incarnation > 0 && member->vain_incarnation == member->incarnation;
}

/* Of those that can give, the one that was heard last; -1: none. */
static int heard_last(const struct node *node, bool with_passed_over)
{
    int best = -1;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member_can_give(member) || (!with_passed_over && member_is_passed_over(member)))
            continue;
        if (best < 0 || member->heard_direct_ns > node->member[best].heard_direct_ns)
            best = (int)i;
    }
    return best;
}

int member_to_ask(const struct node *node)
{
    return heard_last(node, true);
}

int member_to_ask_first(const struct node *node)
{
    const int best = heard_last(node, false);
    return best >= 0 ? best : heard_last(node, true);
}
