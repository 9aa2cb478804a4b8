/*
 * share computes the part of every limit that each member has: the weight of its region, divided by
 * the members of the region that take a share. Nothing here changes a budget: members/shares.c
 * does.
 */
#include "cluster/state/share.h"

#include "cluster/state/member.h"
#include "cluster/state/node_state.h"

#include <assert.h>
#include <string.h>

uint32_t region_place(const struct node *node, const char *region)
{
    uint32_t place = 0;
    while (place < node->options.region_count && strcmp(node->options.regions[place].region, region) != 0)
        place++;
    return place;
}

/* The weight in force here; by_config: the weight of the config. */
static uint64_t region_weight(const struct node *node, const char *region, bool by_config)
{
    const uint32_t place = region_place(node, region);
    if (place == node->options.region_count)
        return 0;
    return by_config ? node->options.regions[place].weight : node->weights.in_force[place];
}

uint64_t region_sharers(const struct node *node, const char *region)
{
    uint64_t sharers = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *other = &node->member[i];
        sharers += other->used && !other->share_freed && strcmp(other->region, region) == 0;
    }
    return sharers;
}

static uint64_t part_of_region(const struct node *node, const struct member *member, bool by_config)
{
    const uint64_t sharers = region_sharers(node, member->region);
    return sharers == 0 ? 0 : region_weight(node, member->region, by_config) / sharers;
}

uint64_t member_share(const struct node *node, const struct member *member)
{
    return part_of_region(node, member, false);
}

uint64_t member_share_by_config(const struct node *node, const struct member *member)
{
    return part_of_region(node, member, true);
}

uint32_t shares_of_all(const struct node *node, uint64_t shares[NODE_PEERS_MAX],
                       const char *regions[NODE_PEERS_MAX], const char *names[NODE_PEERS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!member->used || member->share_freed)
            continue;
        regions[count] = member->region;
        names[count] = member->name;
        shares[count++] = member_share(node, member);
    }
    return count;
}

uint64_t share_of_member(const struct node *node, uint32_t index)
{
    const struct member *member = &node->member[index];
    return member->used && !member->share_freed ? member_share(node, member) : 0;
}

uint32_t shares_unlisted(const struct node *node, bool left)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        count += member_may_share(member) && !member->configured && (member->state == PEER_LEFT) == left;
    }
    return count;
}

/* ---- homes, and weights of rules ---- */

uint64_t member_home_share(const struct node *node, const struct member *member)
{
    const uint64_t sharers = region_sharers(node, member->region);
    return sharers == 0 ? 0 : SHARE_ONE / sharers;
}

/* Rights that end by themselves go to others by the config's weights, which say nothing of homes. */
uint64_t own_share_of(const struct node *node, const struct limit *limit)
{
    if (limit->home == 0)
        return node->sharing.share;
    if (node->options.takeover_after_ns > 0)
        return 0;
    if (node->sharing.alone || limit->home == node->sharing.home)
        return node->sharing.home_share;
    if (limit->home == node->member[node->me].home)
        return node->sharing.sharers > 0 ? SHARE_ONE : 0;
    return own_share_by_list(node, weight_list_of(node, limit));
}

const struct weight_list *weight_list_of(const struct node *node, const struct limit *limit)
{
    const size_t index = (size_t)(limit - node->limits.limit);
    assert(index < node->limits.count);
    const uint16_t place = node->by_limit.list[index];
    return place > 0 ? &node->weight_lists.list[place - 1] : NULL;
}

uint64_t own_share_by_list(const struct node *node, const struct weight_list *list)
{
    const struct sharing *sharing = &node->sharing;
    if (!list || sharing->sharers == 0 || sharing->region == node->options.region_count)
        return 0;
    return list->weight[sharing->region] / sharing->sharers;
}

/* By rounding, several may have the whole. */
static uint64_t heard_by_list(const struct node *node, const struct weight_list *list)
{
    uint64_t heard = 0;
    for (uint32_t i = 0; i < node->options.region_count && list; i++)
        heard += (uint64_t)units_times((int64_t)list->weight[i], node->sharing.homes[i].heard);
    return heard < SHARE_ONE ? heard : SHARE_ONE - 1;
}

bool other_is_heard(const struct member *member)
{
    return member_may_share(member) && !member->silent && member->state == PEER_ACTIVE;
}

static uint64_t heard_of_daemon(const struct node *node, uint64_t home)
{
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].home == home && other_is_heard(&node->member[i]))
            return SHARE_ONE;
    return 0;
}

uint64_t share_heard_of(const struct node *node, const struct limit *limit)
{
    if (limit_home_is_list(limit->home))
        return heard_by_list(node, weight_list_of(node, limit));
    for (uint32_t i = 0; i < node->options.region_count; i++)
        if (node->sharing.homes[i].number == limit->home)
            return node->sharing.homes[i].heard;
    return heard_of_daemon(node, limit->home);
}
