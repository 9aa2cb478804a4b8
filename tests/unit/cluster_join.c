/* Who joins where nobody hears it is heard when links heal. */
#include "tests/cluster_harness.h"

static void cut(enum link_mood mood)
{
    world_link(ANN, BOB, mood);
    world_link(BOB, ANN, mood);
}

/* Ann has seen bob leave, and does not listen to him any more. He came back while nobody could tell her. */
static void alone_meanwhile(void)
{
    world_init(2);
    world_name_all();
    world_start_all();
    world_run(1000);
    world_stop(BOB);
    world_run(500);
    cut(LINK_CUT);
    world_start(BOB);
    world_run(3000);
    skip_text();
    world_show_peers();
    cut(LINK_FINE);
    world_run(300);
    world_show_peers();
    EXPECT("who went on alone is listened to again", "ann sees itself active 50.0%, bob left 0.0%\n"
                                                     "bob sees itself active 50.0%, ann silent 50.0%\n"
                                                     "bob: ann (region ann's) is heard for the first time\n"
                                                     "bob: ann is active\n"
                                                     "bob: ann is heard again\n"
                                                     "ann: bob (region bob's) has started anew\n"
                                                     "ann: bob is active\n"
                                                     "ann sees itself active 50.0%, bob active 50.0%\n"
                                                     "bob sees itself active 50.0%, ann active 50.0%\n");
    uint64_t bob = world.host[BOB].requests;
    world_run(1000);
    OK_U64(world.host[BOB].requests - bob, 0, "and then he need not say hello");
    world_close();
}

int main(void)
{
    alone_meanwhile();
    return tap_done();
}
