/*
 * spent looks for the oldest own spend that some member may not have acknowledged: in the rings, among
 * waiting and gathered spends, and in the logs of this process's incarnations.
 */
#include "cluster/log/spent.h"

#include "cluster/log/tell.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

bool spent_is_settled(const struct node *node, uint64_t before_ns)
{
    return node->now_ns - outbox_age_ns(node) >= before_ns && origins_have_settled(node, before_ns);
}
