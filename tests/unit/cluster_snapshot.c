#include "tests/cluster_harness.h"

static void pages(void)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.message_max_bytes = 65536;
    world.host[BOB].options.message_max_bytes = 65536;
    world.host[ANN].options.table_keys = world.host[BOB].options.table_keys = 16384;
    world_start_all();
    world_run(1000);
    unsigned anns = world_spend_many(ANN, "key", 9000), bobs = world_spend_many(BOB, "other", 1000);
    world_run(1000);
    skip_text();
    tell("ann spent of %u keys, bob of %u", anns, bobs);
    world_crash(BOB);
    world_start(BOB);
    world_run(1000);
    tell("bob knows of %u and %u", world_count_left(BOB, "key", 9000, 159),
         world_count_left(BOB, "other", 1000, 159));
    tell("ann was asked for %s", world_stats(ANN).snapshots_served > 4 ? "several parts" : "all at once");
    EXPECT("a snapshot larger than a message comes in parts",
           "ann spent of 9000 keys, bob of 1000\n"
           "bob crashes\n"
           "ann: bob (region bob's) has started anew\n"
           "bob: ann (region ann's) is heard for the first time\n"
           "bob: ann is active\n"
           "bob: took a snapshot from ann\n"
           "bob: bob is active: its state comes from a peer\n"
           "ann: bob is active\n"
           "bob knows of 9000 and 1000\n"
           "ann was asked for several parts\n");
    world_close();
}

int main(void)
{
    pages();
    return tap_done();
}
