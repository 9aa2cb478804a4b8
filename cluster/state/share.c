/*
 * share computes the part of every limit that each member has: the weight of its region, divided by
 * the members of the region that take a share. Nothing here changes a budget: members/shares.c
 * does.
 */
#include "cluster/state/share.h"

#include "cluster/state/node_state.h"

#include <string.h>

/* The weight in force here; by_config: the weight of the config. */
static uint64_t region_weight(const struct node *node, const char *region, bool by_config)
{
    for (uint32_t i = 0; i < node->options.region_count; i++)
        if (strcmp(node->options.regions[i].region, region) == 0)
            return by_config ? node->options.regions[i].weight : node->weights.in_force[i];
    return 0;
}

static uint64_t part_of_region(const struct node *node, const struct member *member, bool by_config)
{
    uint64_t sharers = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *other = &node->member[i];
        sharers += other->used && !other->share_freed && strcmp(other->region, member->region) == 0;
    }
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

uint32_t shares_of_all(const struct node *node, uint64_t shares[NODE_PEERS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && !node->member[i].share_freed)
            shares[count++] = member_share(node, &node->member[i]);
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
        count += member->used && !member->self && !member->configured && !member->share_freed &&
                 (member->state == PEER_LEFT) == left;
    }
    return count;
}
