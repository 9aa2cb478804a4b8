/*
 * What a config says of rights that end by themselves: takeover_after, and where it is refused.
 */
#include "edge/settings/settings_takeover.h"

#include "edge/settings/settings.h"
#include "tests/lib/tap.h"

#include <stdio.h>

#define SECOND UINT64_C(1000000000)
#define PEER(name, region, port) "- {node: " name ", region: " region ", gossip: '10.0.0.1:" port "'}\n"
#define EVEN "regions: [{name: x, weight: 0.34}, {name: y, weight: 0.33}, {name: z, weight: 0.33}]\n"
#define THREE EVEN "peers:\n" PEER("b", "y", "7001") PEER("c", "z", "7101")
#define ON "takeover_after: 30s\n"

static struct settings settings;
static struct error error;

/* A config of node a in region x with these lines. */
static bool reads(const char *lines)
{
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "node: a\nregion: x\nsecret: long\nlisten: {gossip: '10.0.0.9:7071'}\n"
                   "limits: [{name: default, capacity: 5, rate: 1/s}]\n%s",
                   lines);
    error.text[0] = '\0';
    return settings_parse(&settings, bytes_of(text), "c.yaml", &error);
}

static uint64_t digest(const char *lines)
{
    return reads(lines) ? settings.node.config_digest : 0;
}

static bool refuses(const char *lines, const char *why)
{
    const bool is_refused = !reads(lines) && strstr(error.text, why) != NULL;
    if (!is_refused)
        printf("# %s\n", error.text);
    return is_refused;
}

int main(void)
{
    OK(reads(THREE) && settings.node.takeover_after_ns == 0 && settings.node.unlisted_max > 0, "off by default");
    OK(reads(THREE ON) && settings.node.takeover_after_ns == 30 * SECOND, "three even regions may have it");
    OK_U64(settings.node.unlisted_max, 0, "and then take in nobody whom they do not name");
    OK(reads(THREE "takeover_after: off\nforget_after: 1h\n"), "off is nothing");
    OK(reads("regions: [{name: x, weight: 0.6}, {name: y, weight: 0.4}]\npeers:\n" PEER("b", "y", "7001")
                 PEER("c", "y", "7101") ON),
       "so may two, of which one has two daemons");

    OK(refuses("regions: [{name: x, weight: 0.5}, {name: y, weight: 0.5}]\npeers:\n" PEER("b", "y", "7001") ON,
               "takeover_after is '30s': expected off, as without any of these daemons there are no two others "
               "with more "
               "than half of all weights"),
       "two even ones have no majority without each other");
    OK(refuses(ON, "there are no two others"), "nor has a daemon without peers");
    OK(refuses("regions: [{name: x, weight: 0.6}, {name: y, weight: 0.4}]\npeers:\n" PEER("b", "y", "7001") ON,
               "there are no two others"),
       "of two, none is taken over");
    OK(refuses(THREE ON "forget_after: 1h\n", "forget_after gives away the share"), "not with forget_after");
    OK(refuses(THREE ON "grants: true\n", "expected off, or grants: false"), "not with grants");
    OK(refuses(THREE ON "unlisted_peers: 2\n", "expected off, or unlisted_peers: 0"), "not with unlisted peers");
    OK(refuses(THREE "takeover_after: 1s\n",
               "c.yaml:10: takeover_after is '1s': expected a duration from 2 s to 1 d"),
       "not below the time of two silences");

    const uint64_t on = digest(THREE ON);
    OK(on != 0 && digest(THREE) != on, "the digest has it");
    OK(digest(THREE "takeover_after: 31s\n") != on, "and its time");
    OK_U64(digest(EVEN "peers:\n" PEER("c", "z", "7101") PEER("b", "y", "7001") ON), on,
           "and all peers in any order");
    OK(digest(EVEN "peers:\n" PEER("b", "y", "7001") PEER("d", "z", "7101") ON) != on, "and their names");
    OK_U64(digest(EVEN "peers:\n" PEER("b", "y", "7001")), digest(THREE), "which it has not without it");
    return tap_done();
}
