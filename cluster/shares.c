#include "cluster/parts.h"

#include <string.h>

/* What part of every limit each member has, and what follows for the limits. */

/*
 * Whoever left for good gives its share back when all it ever told is applied here, or after a time without hope.
 * A node that the config names may return where nobody hears it and use its share at once: it keeps it until the
 * operator forgets it.
 */
static void refresh_freed(struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (!member->used || member->state != PEER_LEFT || member->share_freed ||
            (member->configured && !member->forgotten))
            continue;
        bool complete = true;
        for (uint32_t o = 0; o < node->origin_end; o++)
            complete &=
                !node->origin[o].uid || node->origin[o].member != i || node->origin[o].applied >= member->known[o];
        member->share_freed = complete || node->now_ns - member->left_ns > node->options.silent_after_ns;
    }
}

static uint64_t region_weight(const struct node *node, const char *region)
{
    for (uint32_t i = 0; i < node->options.region_count; i++)
        if (strcmp(node->options.regions[i].region, region) == 0)
            return node->options.regions[i].weight;
    return 0;
}

static uint64_t member_share(const struct node *node, const struct member *member)
{
    uint64_t sharers = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *other = &node->member[i];
        sharers += other->used && !other->share_freed && strcmp(other->region, member->region) == 0;
    }
    return sharers == 0 ? 0 : region_weight(node, member->region) / sharers;
}

uint32_t shares_of_all(const struct node *node, uint64_t shares[NODE_PEERS_MAX])
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (node->member[i].used && !node->member[i].share_freed)
            shares[count++] = member_share(node, &node->member[i]);
    return count;
}

uint64_t membership_share(const struct node *node, uint32_t index)
{
    const struct member *member = &node->member[index];
    return member->used && !member->share_freed ? member_share(node, member) : 0;
}

void membership_refresh_budget(struct node *node, uint32_t index)
{
    const struct limit *limit = &node->limits.limit[index];
    budget_init(&node->budget[index], limit, node->share, node->alone);
    uint64_t early = node->options.early_push_share, peers = node->peer_count > 0 ? node->peer_count : 1;
    node->early_units[index] =
        early ? units_times(limit->capacity_units, early) : limit->capacity_units / (4 * (int64_t)peers);
    if (node->early_units[index] < limit->units_per_token)
        node->early_units[index] = limit->units_per_token;
    node->soon_units[index] = soon_paid_units(node, limit, node->share);
    wait_note_limit(node, index);
}

/* Thousands of limits are not gone through unless a share has changed. */
static void refresh_budgets(struct node *node)
{
    uint32_t peers_before = node->peer_count;
    node->peer_count = 0;
    uint32_t counted = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        node->peer_count += member->self || member_needed(member);
        counted += member->used && !member->share_freed;
    }
    bool alone = counted == 1;
    uint64_t share =
        node->state == PEER_ACTIVE && node->accord.decides ? member_share(node, &node->member[node->me]) : 0;
    if (alone && node->state == PEER_ACTIVE && node->accord.decides)
        share = SHARE_ONE;
    if (node->share == share && node->alone == alone && node->peer_count == peers_before)
        return;
    node->share = share;
    node->alone = alone;
    table_set_share_min(node->table, share);
    wait_carefully(node);
    for (uint32_t i = 0; i < node->limits.count; i++)
        if (limit_set_has(&node->limits, i))
            membership_refresh_budget(node, i);
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

void shares_refresh(struct node *node)
{
    refresh_freed(node);
    refresh_budgets(node);
}
