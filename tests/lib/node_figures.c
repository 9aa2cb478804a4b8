#include "tests/lib/node_figures.h"

#include "cluster/spend/outbox.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

struct step_figures step_figures_of(const struct node *node)
{
    uint64_t ghost_keys = 0;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        ghost_keys += origin->uid && origin_is_ghost(node, origin) ? origin->log_keys : 0;
    }
    return (struct step_figures){
        .log_keys = node->log.keys,
        .ghost_keys = ghost_keys,
        .open_keys = outbox_count(node),
        .batches_closed = node->stats.batches_closed,
        .batches_compacted = node->stats.batches_compacted,
        .step_keys_max = node->stats.step_keys_max,
        .doubted_tokens = node->stats.doubted_tokens,
        .reservations = open_reservations(node),
        .former = former_reservations(node),
        .rights = node->stats.rights_granted + node->stats.rights_returned_tokens,
    };
}

uint32_t open_reservations(const struct node *node)
{
    return node->reserving.pool ? reservations_count(node->reserving.pool) : 0;
}

uint32_t former_reservations(const struct node *node)
{
    return node->reserving.pool ? reservations_former_count(node->reserving.pool) : 0;
}

bool reservation_is_open(const struct node *node, struct reservation_id id)
{
    return node->reserving.pool && reservations_has(node->reserving.pool, id, 0);
}

uint64_t batches_closed(const struct node *node)
{
    return node->stats.batches_closed;
}

uint64_t uncharged_keys(const struct node *node)
{
    return node->uncharged.count;
}

bool all_have_heard(const struct node *node)
{
    const uint64_t own = node->origin[node->my_slot].applied;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member->used && !member->self && member->state != PEER_LEFT && member_needed(member) &&
            member->known[node->my_slot] < own)
            return false;
    }
    return true;
}

bool may_have_voucher(const struct node *node, struct key_id id)
{
    return voucher_may_be_held(node, id);
}
