/*
 * shares computes which part of every limit this node has, and refreshes the budgets of all limits
 * when that has changed. It frees the shares of members that have left for good, and withholds the
 * name of a member that divides this node's share until all former spends are told. state/share.c
 * has the formula of a share.
 */
#include "cluster/members/shares.h"

#include "cluster/log/tell.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/limits.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/share.h"

#include <string.h>
#include <sysexits.h>

/*
 * A member that left for good gives its share back when all spends that it ever told are applied
 * here, or after silent_after. A member that the config names may come back where this node does
 * not hear it, and would use its share at once: it keeps its share until an operator forgets it.
 */
static bool refresh_freed(struct node *node)
{
    bool some = false;
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (!member->used || member->state != PEER_LEFT || member->share_freed || node->takeover.peer[i].owed ||
            (member->configured && !member->forgotten))
            continue;
        bool complete = true;
        for (uint32_t o = 0; o < node->origin_end; o++)
            complete &=
                !node->origin[o].uid || node->origin[o].member != i || node->origin[o].applied >= member->known[o];
        member->share_freed = complete || node->now_ns - member->left_ns > node->options.silent_after_ns;
        some |= member->share_freed;
    }
    return some;
}

/* Goes through thousands of limits only when the share has changed. */
static void refresh_budgets(struct node *node)
{
    uint32_t peers_before = node->sharing.peer_count;
    node->sharing.peer_count = 0;
    uint32_t counted = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        node->sharing.peer_count += member->self || member_needed(member);
        counted += member->used && !member->share_freed;
    }
    const struct member *me = &node->member[node->me];
    const bool alone = counted == 1, decides = node->life.state == PEER_ACTIVE && node->accord.decides;
    const uint64_t share = !decides ? 0 : alone ? SHARE_ONE : member_share(node, me);
    const uint64_t home_share = !decides ? 0 : alone ? SHARE_ONE : member_home_share(node, me);
    const struct takeover *takeover = &node->takeover;
    if (node->sharing.share == share && node->sharing.home_share == home_share && node->sharing.alone == alone &&
        node->sharing.peer_count == peers_before && node->sharing.stops == takeover->stops &&
        node->sharing.owed_weight == takeover->owed_weight)
        return;
    node->sharing.share = share;
    node->sharing.home_share = home_share;
    node->sharing.sharers = decides ? region_sharers(node, me->region) : 0;
    node->sharing.stops = takeover->stops;
    node->sharing.owed_weight = takeover->owed_weight;
    node->sharing.alone = alone;
    limits_refresh_share_min(node);
    deferred_carefully(node);
    for (uint32_t i = 0; i < node->limits.count; i++)
        if (limit_set_has(&node->limits, i))
            limits_refresh_budget(node, i);
}

/* Several daemons of a region never count as one that has the whole: each has a part, and keeps a reserve. */
static void refresh_home(const struct node *node, const char *region, struct home *home)
{
    home->heard = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (other_is_heard(member) && strcmp(member->region, region) == 0)
            home->heard += member_home_share(node, member);
    }
    if (home->heard == SHARE_ONE && region_sharers(node, region) > 1)
        home->heard--;
}

/* Requests go through these where they would go through all members (voucher_told.c). */
static void refresh_groups(struct node *node)
{
    struct sharing *sharing = &node->sharing;
    const char *own_region = node->member[node->me].region;
    sharing->group_count = 0;
    sharing->own_group = NODE_REGIONS_MAX;
    for (uint32_t i = 0; i < node->options.region_count; i++) {
        const char *region = node->options.regions[i].region;
        const uint32_t sharers = (uint32_t)region_sharers(node, region);
        const uint64_t share = sharers == 0 ? 0 : node->weights.in_force[i] / sharers;
        uint32_t at = 0;
        while (at < sharing->group_count && sharing->groups[at].share != share)
            at++;
        if (share == 0)
            continue;
        if (at == sharing->group_count)
            sharing->groups[sharing->group_count++] = (struct share_group){.share = share};
        sharing->groups[at].members += sharers;
        if (strcmp(region, own_region) == 0)
            sharing->own_group = at;
    }
}

bool shares_create(struct node *node, struct error *error)
{
    struct sharing *sharing = &node->sharing;
    sharing->home = limit_home_of(bytes_of(node->options.region));
    sharing->region = region_place(node, node->options.region);
    for (uint32_t i = 0; i < node->options.region_count; i++) {
        const char *region = node->options.regions[i].region;
        sharing->homes[i].number = limit_home_of(bytes_of(region));
        for (uint32_t k = 0; k < i; k++)
            if (sharing->homes[k].number == sharing->homes[i].number)
                return error_set(error, EX_CONFIG,
                                 "regions '%s' and '%s' have the same hash: expected one of them to be renamed",
                                 node->options.regions[k].region, region);
    }
    return true;
}

bool shares_refresh(struct node *node)
{
    const bool some_freed = refresh_freed(node);
    for (uint32_t i = 0; i < node->options.region_count; i++)
        refresh_home(node, node->options.regions[i].region, &node->sharing.homes[i]);
    refresh_groups(node);
    refresh_budgets(node);
    return some_freed;
}

/*
 * The newcomer must not spend its part while spends by the larger share are unknown to it: both
 * together may be more than the limit allows. It becomes active when a message of this node names
 * its incarnation and it has applied all that this node had told by then (join.c). So the name
 * waits for the spends. The share itself is smaller from this step on.
 */
void shares_divide(struct node *node, uint32_t index)
{
    struct member *member = &node->member[index];
    if (!member->withheld) {
        member->former = member->incarnation;
        member->former_left = member->state == PEER_LEFT;
    }
    member->withheld = true;
    node->sharing.withholds = true;
    node->sharing.divided_ns = node->now_ns;
}

void shares_tell_former(struct node *node)
{
    if (!node->sharing.withholds)
        return;
    bool all = tell_some(node);
    if (!all && outbox_age_ns(node) >= node->now_ns - node->sharing.divided_ns) {
        todo_add(&node->todo, DO_STEP);
        return;
    }
    node->sharing.withholds = false;
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].withheld = false;
    todo_add(&node->todo, DO_ANSWER);
}
