/*
 * What a config says of rights that end by themselves: takeover_after, and where it is refused.
 */
#include "edge/settings/settings_takeover.h"

#include "tests/lib/settings_lines.h"
#include "tests/lib/tap.h"

#define SECOND UINT64_C(1000000000)
#define EVEN "regions: [{name: x, weight: 0.34}, {name: y, weight: 0.33}, {name: z, weight: 0.33}]\n"
#define THREE EVEN "peers:\n" PEER("b", "y", "7001") PEER("c", "z", "7101")
#define ON "takeover_after: 30s\n"

int main(void)
{
    OK(lines_read(THREE) && lines_settings.node.takeover_after_ns == 0 && lines_settings.node.unlisted_max > 0,
       "off by default");
    OK(lines_read(THREE ON) && lines_settings.node.takeover_after_ns == 30 * SECOND,
       "three even regions may have it");
    OK_U64(lines_settings.node.unlisted_max, 0, "and then take in nobody whom they do not name");
    OK(lines_read(THREE "takeover_after: off\nforget_after: 1h\n"), "off is nothing");
    OK(lines_read("regions: [{name: x, weight: 0.6}, {name: y, weight: 0.4}]\npeers:\n" PEER("b", "y", "7001")
                      PEER("c", "y", "7101") ON),
       "so may two, of which one has two daemons");

    OK(lines_refused(
           "regions: [{name: x, weight: 0.5}, {name: y, weight: 0.5}]\npeers:\n" PEER("b", "y", "7001") ON,
           "takeover_after is '30s': expected off, as without any of these daemons there are no two others "
           "with more "
           "than half of all weights"),
       "two even ones have no majority without each other");
    OK(lines_refused(ON, "there are no two others"), "nor has a daemon without peers");
    OK(lines_refused("regions: [{name: x, weight: 0.6}, {name: y, weight: 0.4}]\npeers:\n" PEER("b", "y", "7001")
                         ON,
                     "there are no two others"),
       "of two, none is taken over");
    OK(lines_refused(THREE ON "forget_after: 1h\n", "forget_after gives away the share"), "not with forget_after");
    OK(lines_refused(THREE ON "grants: true\n", "expected off, or grants: false"), "not with grants");
    OK(lines_refused(THREE ON "unlisted_peers: 2\n", "expected off, or unlisted_peers: 0"),
       "not with unlisted peers");
    OK(lines_refused(THREE "takeover_after: 1s\n",
                     "c.yaml:10: takeover_after is '1s': expected a duration from 2 s to 1 d"),
       "not below the time of two silences");

    const uint64_t on = lines_digest(THREE ON);
    OK(on != 0 && lines_digest(THREE) != on, "the digest has it");
    OK(lines_digest(THREE "takeover_after: 31s\n") != on, "and its time");
    OK_U64(lines_digest(EVEN "peers:\n" PEER("c", "z", "7101") PEER("b", "y", "7001") ON), on,
           "and all peers in any order");
    OK(lines_digest(EVEN "peers:\n" PEER("b", "y", "7001") PEER("d", "z", "7101") ON) != on, "and their names");
    OK_U64(lines_digest(EVEN "peers:\n" PEER("b", "y", "7001")), lines_digest(THREE),
           "which it has not without it");
    return tap_done();
}
