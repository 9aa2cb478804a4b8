/*
 * view makes this node's own view of the cluster anew: which members are silent, whose config
 * counts, which weights are in force, and which share each has, in this order, since each reads the
 * ones before it. A notice warns when a new share leaves rules or limits under which this node can
 * admit nothing.
 */
#include "cluster/view.h"

#include "cluster/apply/uncharged.h"
#include "cluster/members/accord.h"
#include "cluster/members/clocks.h"
#include "cluster/members/shares.h"
#include "cluster/members/silence.h"
#include "cluster/members/takeover_node.h"
#include "cluster/members/weights.h"
#include "cluster/plane/plane_reach.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/node_state.h"

void view_refresh(struct node *node, struct effects *effects)
{
    const uint64_t share = node->sharing.share;
    const bool alone = node->sharing.alone;
    silence_refresh(node, effects);
    clocks_refresh(node, effects);
    voucher_look_around(node);
    accord_refresh(node, effects);
    takeover_node_step(node, effects);
    uncharged_refresh(node);
    weights_step(node, effects);
    const bool some_freed = shares_refresh(node);
    if (node->sharing.alone && !alone)
        voucher_forget(node);
    if (node->sharing.share != share || node->sharing.alone != alone)
        plane_warn_of_reach(node, effects);
    if (some_freed)
        plane_warn_of_homes(node, effects);
}
