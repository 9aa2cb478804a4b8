/*
 * plane_state answers what other folders ask about the rules, from what the plane remembers:
 * whether a change is on its way, and whether all peers have the same rules. Nothing here changes
 * the plane.
 */
#include "cluster/state/plane_state.h"

#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

bool plane_is_idle(const struct node *node)
{
    return node->plane->work == NULL;
}

bool plane_is_at_rest(const struct node *node)
{
    const struct plane *plane = node->plane;
    uint64_t ours = rulebook_digest(plane->book);
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]) && plane->peer[i].digest != ours)
            return false;
    return plane->service_count == 0 && plane_is_idle(node);
}
