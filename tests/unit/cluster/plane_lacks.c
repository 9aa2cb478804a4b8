/* A peer that is asked for a rule which it has not got knows whether the rule may be on its way. */
#include "tests/lib/plane_world.h"

/* Whoever asks for what is not known here is told to ask again, for as long as rules may be on their way. */
static void test_on_their_way(void)
{
    world_of(3);
    OK(!node_rules_may_lack(world.host[BOB].node), "all have joined and have the same rules: nothing lacks");
    (void)set(ANN, "{id: a, service: s, rate: 5/m}");
    bool lacked = false;
    for (unsigned ms = 0; ms < 3 * INTERVAL_MS && rate(BOB, "s", "a") == 0; ms++) {
        lacked |= node_rules_may_lack(world.host[BOB].node);
        world_run(1);
    }
    OK(lacked && rate(BOB, "s", "a") == 5, "a peer that has heard of a change knows that it lacks something");
    world_run(INTERVAL_MS);
    OK(!node_rules_may_lack(world.host[BOB].node), "until it has it");
    world_links(CAT, LINK_CUT);
    (void)set(ANN, "{id: a, service: t, rate: 5/m}");
    world_run(30 * INTERVAL_MS);
    OK(!node_rules_may_lack(world.host[CAT].node), "who hears nobody knows of nothing that is on its way");
    world_close();
}

int main(void)
{
    test_on_their_way();
    return tap_done();
}
