/*
 * settings_takeover reads takeover_after, and refuses it where no majority can be without some daemon, or where another
 * setting contradicts it.
 */
#include "edge/settings/settings_takeover.h"

#include "edge/settings/settings.h"
#include "edge/settings/settings_reach.h"
#include "edge/settings/settings_reader.h"

#include <stdio.h>

#define DAY (UINT64_C(86400) * 1000000000)

enum {
    SILENCES = 2, /* a right lasts at least so many times silent_after */
    DAEMONS_LEAST = 3,
};

/* True if the others, two at least, still have more than half of all weights when some daemon is gone. */
static bool somebody_can_be_missed(const struct node_options *node)
{
    uint64_t shares[NODE_PEERS_MAX + 1], sum = 0, least = UINT64_MAX;
    const uint32_t count = settings_shares(node, shares);
    for (uint32_t i = 0; i < count; i++) {
        sum += shares[i];
        least = shares[i] < least ? shares[i] : least;
    }
    return count >= DAEMONS_LEAST && 2 * (sum - least) > sum;
}

static bool check(const struct settings *settings, const struct settings_reader *reader)
{
    const struct node_options *node = &settings->node;
    const char *text = reader_text(reader, "takeover_after");
    if (node->forget_after_ns > 0)
        return reader_fail(
            reader, "takeover_after",
            "takeover_after is '%s' and forget_after is on as well: expected one of them to be off, as "
            "forget_after gives away the share of a peer that may be alive",
            text);
    if (node->grants)
        return reader_wrong(reader, "takeover_after", text,
                            "off, or grants: false, as grants are not tried with it");
    if (node->unlisted_max > 0)
        return reader_wrong(reader, "takeover_after", text,
                            "off, or unlisted_peers: 0, as a majority is one of all that peers names");
    if (!somebody_can_be_missed(node))
        return reader_wrong(
            reader, "takeover_after", text,
            "off, as without any of these daemons there are no two others with more than half of all weights");
    return true;
}

bool settings_read_takeover(struct settings *settings, const struct settings_reader *reader)
{
    struct node_options *node = &settings->node;
    if (!read_duration_or_off(reader, "takeover_after", SILENCES * node->silent_after_ns, DAY,
                              &node->takeover_after_ns))
        return false;
    if (node->takeover_after_ns == 0)
        return true;
    if (!reader_text(reader, "unlisted_peers"))
        node->unlisted_max = 0;
    if (!reader_text(reader, "grants"))
        node->grants = false;
    return check(settings, reader);
}

static uint64_t hash_of(const struct hash_key *key, const char *name, const char *region)
{
    char line[2 * NODE_NAME_BYTES + 32];
    const int size = snprintf(line, sizeof line, "takeover of %s in %s", name, region);
    return hash_64(key, line, (size_t)size);
}

uint64_t settings_takeover_digest(const struct settings *settings)
{
    const struct node_options *node = &settings->node;
    char line[64];
    if (node->takeover_after_ns == 0)
        return 0;
    const int size = snprintf(line, sizeof line, "takeover %llu ns", (unsigned long long)node->takeover_after_ns);
    uint64_t sum =
        hash_64(&node->hash_key, line, (size_t)size) + hash_of(&node->hash_key, node->name, node->region);
    for (uint32_t i = 0; i < node->peer_count; i++)
        sum += hash_of(&node->hash_key, node->peers[i].name, node->peers[i].region);
    return sum;
}
