/*
 * demand averages what each member has spent since the last tick: of others what their batches said, of this node what
 * its threads have admitted.
 */
#include "cluster/members/demand.h"

#include "cluster/state/node_state.h"

enum { DEMAND_SMOOTHING = 8 };

static uint64_t own_tokens(const struct node *node)
{
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < node->thread_count; i++)
        tokens += node->thread[i].admitted_tokens;
    return tokens;
}

void demand_average(struct node *node)
{
    struct publishing *publishing = &node->publishing;
    const uint64_t elapsed_ns = node->now_ns - publishing->demand_ns, own = own_tokens(node);
    publishing->demand_ns = node->now_ns;
    if (elapsed_ns == 0)
        return;
    node->member[node->me].demand_tokens = own - publishing->demand_tokens;
    publishing->demand_tokens = own;
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        const double sample = (double)member->demand_tokens * 1e9 / (double)elapsed_ns;
        member->demand_tokens_per_s += (sample - member->demand_tokens_per_s) / DEMAND_SMOOTHING;
        member->demand_tokens = 0;
    }
}
