/*
 * spent looks for the oldest own spend that some member may not have acknowledged: in the rings, among
 * waiting and gathered spends, and in the logs of this process's incarnations.
 */
#include "cluster/log/spent.h"

#include "cluster/codec/batch.h"
#include "cluster/log/tell.h"
#include "cluster/state/node_state.h"

bool spent_is_settled(const struct node *node, uint64_t before_ns)
{
    if (node->now_ns - outbox_age_ns(node) < before_ns)
        return false;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (!origin->uid || !origin->mine || list_empty(&origin->log))
            continue;
        if (slot != node->my_slot ||
            batch_opened_ns(LIST_OWNER(origin->log.next, const struct batch, link)) < before_ns)
            return false;
    }
    return true;
}
