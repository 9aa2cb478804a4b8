/*
 * What a config says of weights that follow demand: weights_by_demand and floors, and where they are refused.
 */
#include "edge/settings/settings_weights.h"

#include "edge/settings/settings.h"
#include "tests/lib/tap.h"

#include <stdio.h>

#define SECOND UINT64_C(1000000000)
#define PEER(name, region, port) "- {node: " name ", region: " region ", gossip: '10.0.0.1:" port "'}\n"
#define PEERS "peers:\n" PEER("b", "y", "7001") PEER("c", "z", "7101")
#define FLOORS(a, b)                                                                                               \
    "regions: [{name: x, weight: 0.34" a "}, {name: y, weight: 0.33" b "}, {name: z, weight: 0.33}]\n" PEERS
#define THREE FLOORS("", "")
#define ON "weights_by_demand: 10m\n"

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
    OK(reads(THREE) && settings.node.weights_by_demand_ns == 0, "off by default");
    OK(reads(THREE ON) && settings.node.weights_by_demand_ns == 600 * SECOND, "ten minutes");
    OK(reads(THREE "weights_by_demand: off\n") && settings.node.weights_by_demand_ns == 0, "off is nothing");
    OK(reads(FLOORS(", floor: 0.2", "") ON) && settings.node.regions[0].floor_billionths == 200000000 &&
           settings.node.regions[1].floor_billionths == 0,
       "a region has a floor");
    const uint64_t off = digest(THREE);
    OK(off != 0 && digest(FLOORS(", floor: 0.2", "") ON) == off, "daemons may differ in it");
    OK(refuses(ON, "weights_by_demand is '10m': expected off, as there is one region, which has all"),
       "one region");
    OK(refuses(THREE ON "takeover_after: 30s\n",
               "weights_by_demand is '10m': expected off, as weights cannot be set"),
       "with takeover_after");
    OK(refuses(THREE ON "state_dir: none\n", "weights_by_demand is '10m': expected off, or a state_dir"),
       "with nothing that keeps them");
    OK(refuses(FLOORS(", floor: 0.2", ""), "region x has a floor, which has no effect"), "a floor without it");
    OK(refuses(FLOORS(", floor: 0.6", ", floor: 0.5") ON,
               "regions have floors that sum to 1.100000000: expected at most 0.9"),
       "floors of more than the whole");
    OK(refuses(FLOORS(", floor: 0", "") ON, "regions[0].floor is '0': expected a decimal above 0"), "no floor");
    OK(refuses(THREE "weights_by_demand: 1s\n", "weights_by_demand is '1s': expected a duration from 10 s to 1 d"),
       "too short");
    return tap_done();
}
