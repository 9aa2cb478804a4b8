#include "cluster/state.h"

bool inbox_holds(const struct node *node, uint32_t origin_uid)
{
    for (struct list *at = node->inbox.next; at != &node->inbox; at = at->next)
        if (LIST_OWNER(at, const struct batch, link)->origin_uid == origin_uid)
            return true;
    return false;
}

bool inbox_has(const struct node *node, uint32_t uid, uint64_t first, uint64_t last)
{
    for (struct list *at = node->inbox.next; at != &node->inbox; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        if (batch->origin_uid == uid && batch->first == first && batch->last == last)
            return true;
    }
    return false;
}

void inbox_put(struct node *node, struct batch *batch)
{
    list_insert_before(&node->inbox, &batch->link);
    node->inbox_count++;
    node->inbox_keys += batch->spend_count;
}

void inbox_take(struct node *node, struct batch *batch)
{
    list_remove(&batch->link);
    node->inbox_count--;
    node->inbox_keys -= batch->spend_count;
}

/* How far its origin has to come before it is this one's turn. */
static uint64_t distance_of(const struct node *node, const struct batch *batch)
{
    int slot = origin_find_uid(node, batch->origin_uid);
    if (slot < 0)
        return UINT64_MAX; /* the origin is gone */
    uint64_t applied = node->origin[slot].applied;
    return batch->first > applied ? batch->first - applied : 0;
}

bool inbox_make_room(struct node *node, const struct batch *batch)
{
    uint64_t distance = distance_of(node, batch);
    /*
     * An inbox full of what is far from its turn would take in nothing else: where two origins' batches depend on each
     * other's, a message would then bring only those of one up to the next that depends on the other.
     */
    while (node->inbox_count >= INBOX_BATCHES_MAX || node->inbox_keys > node->options.log_keys_max) {
        struct batch *furthest = NULL;
        uint64_t most = distance;
        for (struct list *at = node->inbox.next; at != &node->inbox; at = at->next) {
            struct batch *other = LIST_OWNER(at, struct batch, link);
            uint64_t others = distance_of(node, other);
            if (others > most) {
                most = others;
                furthest = other;
            }
        }
        if (!furthest)
            return false;
        inbox_take(node, furthest);
        batch_destroy(&furthest);
        node->stats.limit_drops++;
    }
    return true;
}
