/* Who starts anew waits for what others have heard of its earlier start, as long as it can still come. */
#include "tests/lib/cluster_harness.h"

/*
 * Ann crashes when only bob has heard what she spent. Cat, who has not, gives ann her figures, before a word of bob
 * comes, which says that he knows more.
 */
static void only_bob_has_heard(void)
{
    world_of(3);
    world_link(ANN, CAT, LINK_CUT);
    world_link(BOB, CAT, LINK_CUT);
    (void)world_drain(ANN, "key");
    world_run(150);
    skip_text();
    world_show("key");
    EXPECT("all that ann may spend is spent", "ann: key 160.0 - 75.0, may take 0, keeps 1\n"
                                              "bob: key 85.0 - 0.0, may take 14, keeps 1\n"
                                              "cat: key 160.0 - 0.0, may take 37, keeps 0\n");
    world_crash(ANN);
    world_link(ANN, CAT, LINK_FINE);
    world_link(BOB, ANN, LINK_HELD);
    world_start(ANN);
    world_run(25);
    skip_text();
}

static enum peer_state state_of_ann(void)
{
    struct node_status status;
    node_status(world.host[ANN].node, &status);
    return status.state;
}

static void is_awaited(void)
{
    only_bob_has_heard();
    OK(state_of_ann() == PEER_JOINING, "ann waits for bob, who counts her share");
    world_release(BOB, ANN, false);
    for (unsigned ms = 0; ms < 3000 && state_of_ann() != PEER_ACTIVE; ms++)
        world_run(1);
    world_show_one(ANN, "key");
    EXPECT("when ann may spend, ann knows what her earlier start spent",
           "ann: ann is active: its state comes from a peer\n"
           "ann: key 85.0 - 0.0, may take 28, keeps 1\n");
    world_close();
}

/* Bob is cut off when he has said that he knows more. */
static void not_for_good(void)
{
    only_bob_has_heard();
    world_release(BOB, ANN, false);
    world_link(BOB, ANN, LINK_CUT);
    world_run(10000);
    skip_text();
    OK(state_of_ann() == PEER_ACTIVE, "who is silent is awaited no more");
    world_close();
}

int main(void)
{
    is_awaited();
    not_for_good();
    return tap_done();
}
