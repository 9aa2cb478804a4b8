/*
 * origin reads facts off the origins: where one stands in the list, whether its incarnation is
 * over, and whether all that a member said is applied here. Nothing here changes an origin or its
 * log.
 */
#include "cluster/state/origin.h"

#include "cluster/codec/batch.h"
#include "cluster/codec/batch_hash.h"
#include "cluster/state/node_state.h"

int origin_find(const struct node *node, uint32_t member, uint64_t incarnation)
{
    for (uint32_t i = 0; i < node->origin_end; i++) {
        const struct origin *origin = &node->origin[i];
        if (origin->uid && origin->member == member && origin->incarnation == incarnation)
            return (int)i;
    }
    return -1;
}

int origin_find_uid(const struct node *node, uint32_t uid)
{
    for (uint32_t i = 0; i < node->origin_end; i++)
        if (node->origin[i].uid == uid)
            return (int)i;
    return -1;
}

void origin_holders(const struct node *node, const struct batch *batch, struct batch_holder *holders)
{
    for (uint32_t g = 0; g < batch->grant_count; g++) {
        const int slot = origin_find_uid(node, batch->grant[g].holder_uid);
        holders[g] = (struct batch_holder){0};
        if (slot < 0)
            continue;
        const struct origin *origin = &node->origin[slot];
        holders[g] = (struct batch_holder){bytes_of(node->member[origin->member].name), origin->incarnation};
    }
}

bool origin_is_ghost(const struct node *node, const struct origin *origin)
{
    const struct member *member = &node->member[origin->member];
    return origin->incarnation != member->incarnation || member->state == PEER_LEFT;
}

/* True if the member's own incarnations are covered, and with `ghosts` all ended ones. */
static bool cover(const struct node *node, uint32_t index, bool ghosts)
{
    const struct member *member = &node->member[index];
    if (origin_find(node, index, member->incarnation) < 0)
        return false;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && member->known[slot] > origin->applied &&
            (origin->member == index || (ghosts && origin_is_ghost(node, origin))))
            return false;
    }
    return true;
}

bool origins_cover_spends(const struct node *node, uint32_t member)
{
    return cover(node, member, false);
}

bool origins_cover_view(const struct node *node, uint32_t member)
{
    return cover(node, member, true);
}

bool origin_has_begun(const struct origin *origin, const struct batch *part)
{
    return origin->next_part > 0 && part->parts > 0 && part->merge == origin->merge;
}

bool origins_are_amid_parts(const struct node *node)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        if (node->origin[slot].uid && node->origin[slot].next_part > 0)
            return true;
    return false;
}

bool origins_have_settled(const struct node *node, uint64_t before_ns)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *own = &node->origin[slot];
        if (own->mine && !list_empty(&own->log) &&
            (slot != node->my_slot ||
             batch_opened_ns(LIST_OWNER(own->log.next, const struct batch, link)) < before_ns))
            return false;
    }
    return true;
}

uint64_t origin_most_known(const struct node *node, uint32_t slot)
{
    uint64_t most = 0;
    for (uint32_t m = 0; m < node->member_end; m++) {
        const struct member *member = &node->member[m];
        if (member->used && !member->self && member->known[slot] > most)
            most = member->known[slot];
    }
    return most;
}

/* Of a maker that only itself speaks for, nobody has more than it says that it has made. */
static uint64_t believed(const struct node *node, uint32_t index, uint32_t slot)
{
    const struct origin *origin = &node->origin[slot];
    const uint64_t known = node->member[index].known[slot], made = node->member[origin->member].known[slot];
    const bool is_bound = index != origin->member && slot != node->my_slot && known > made &&
                          !origin_is_ghost(node, origin) && member_speaks_alone(node, origin->member);
    return is_bound ? made : known;
}

int origin_most_informed(const struct node *node, uint32_t slot)
{
    int best = -1;
    uint64_t most = node->origin[slot].applied;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && member->state == PEER_ACTIVE && !member->silent &&
            believed(node, i, slot) > most) {
            best = (int)i;
            most = believed(node, i, slot);
        }
    }
    return best;
}
