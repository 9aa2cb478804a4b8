/*
 * settings_reach computes the shares of all daemons that the config names, and holds each limit
 * against them.
 */
#include "edge/settings/settings_reach.h"

#include "rules/rule_reach.h"

#include <stdio.h>
#include <string.h>

enum { SENTENCE_BYTES = 320 };

/* The number of daemons that the config names in a region, this one included. */
static uint32_t nodes_in(const struct node_options *node, const char *region)
{
    uint32_t count = strcmp(node->region, region) == 0;
    for (uint32_t i = 0; i < node->peer_count; i++)
        count += strcmp(node->peers[i].region, region) == 0;
    return count;
}

static uint64_t share_in(const struct node_options *node, const char *region)
{
    for (uint32_t i = 0; i < node->region_count; i++)
        if (strcmp(node->regions[i].region, region) == 0)
            return node->regions[i].weight / nodes_in(node, region);
    return 0;
}

uint32_t settings_shares(const struct node_options *node, uint64_t shares[NODE_PEERS_MAX + 1])
{
    shares[0] = share_in(node, node->region);
    for (uint32_t i = 0; i < node->peer_count; i++)
        shares[1 + i] = share_in(node, node->peers[i].region);
    return 1 + node->peer_count;
}

bool settings_check_reach(struct settings *settings, const struct settings_reader *reader)
{
    const struct node_options *node = &settings->node;
    uint64_t shares[NODE_PEERS_MAX + 1];
    const struct reach_peers peers = {settings_shares(node, shares), shares, node->grants, NULL, false, NULL};
    for (uint16_t i = 0; i < settings->limits.count; i++) {
        const struct named_limit *limit = &settings->limits.limit[i];
        const uint32_t can = reach_count(&limit->terms, 0, &peers);
        char sentence[SENTENCE_BYTES];
        struct settings_reader entry;
        if (can == peers.count)
            continue;
        reach_sentence(&limit->terms, 0, &peers, can, sentence, sizeof sentence);
        if (can == 0)
            return reader_fail(reader_entry(reader, "limits", i, &entry) ? &entry : reader, "",
                               "limits[%u] '%s': %s", i, limit->name, sentence);
        if (!settings->warning[0])
            (void)snprintf(settings->warning, sizeof settings->warning, "limits[%u] '%s': %s", i, limit->name,
                           sentence);
    }
    return true;
}
