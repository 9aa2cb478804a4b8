/*
 * What a config says of weights that follow demand: weights_by_demand and floors, and where they are refused.
 */
#include "edge/settings/settings_weights.h"

#include "tests/lib/settings_lines.h"
#include "tests/lib/tap.h"

#define SECOND UINT64_C(1000000000)
#define PEERS "peers:\n" PEER("b", "y", "7001") PEER("c", "z", "7101")
#define FLOORS(a, b)                                                                                               \
    "regions: [{name: x, weight: 0.34" a "}, {name: y, weight: 0.33" b "}, {name: z, weight: 0.33}]\n" PEERS
#define THREE FLOORS("", "")
#define ON "weights_by_demand: 10m\n"

int main(void)
{
    OK(lines_read(THREE) && lines_settings.node.weights_by_demand_ns == 0, "off by default");
    OK(lines_read(THREE ON) && lines_settings.node.weights_by_demand_ns == 600 * SECOND, "ten minutes");
    OK(lines_read(THREE "weights_by_demand: off\n") && lines_settings.node.weights_by_demand_ns == 0,
       "off is nothing");
    OK(lines_read(FLOORS(", floor: 0.2", "") ON) && lines_settings.node.regions[0].floor_billionths == 200000000 &&
           lines_settings.node.regions[1].floor_billionths == 0,
       "a region has a floor");
    const uint64_t off = lines_digest(THREE);
    OK(off != 0 && lines_digest(FLOORS(", floor: 0.2", "") ON) == off, "daemons may differ in it");
    OK(lines_refused(ON, "weights_by_demand is '10m': expected off, as there is one region, which has all"),
       "one region");
    OK(lines_refused(THREE ON "takeover_after: 30s\n",
                     "weights_by_demand is '10m': expected off, as weights cannot be set"),
       "with takeover_after");
    OK(lines_refused(THREE ON "state_dir: none\n", "weights_by_demand is '10m': expected off, or a state_dir"),
       "with nothing that keeps them");
    OK(lines_refused(FLOORS(", floor: 0.2", ""), "region x has a floor, which has no effect"),
       "a floor without it");
    OK(lines_refused(FLOORS(", floor: 0.6", ", floor: 0.5") ON,
                     "regions have floors that sum to 1.100000000: expected at most 0.9"),
       "floors of more than the whole");
    OK(lines_refused(FLOORS(", floor: 0", "") ON, "regions[0].floor is '0': expected a decimal above 0"),
       "no floor");
    OK(lines_refused(THREE "weights_by_demand: 1s\n",
                     "weights_by_demand is '1s': expected a duration from 10 s to 1 d"),
       "too short");
    return tap_done();
}
