#include "tests/lib/cluster_harness.h"

/*
 * A peer is forgotten while it lives behind a cut. The others retire its incarnation: they have the same of it, which
 * is not all that it spent. Shares are 1/2 (ann), 1/4 (bob) and 1/4 (cat).
 */

static void forgotten_behind_a_cut(void)
{
    world_of(3);
    world_spend(CAT, "alice", 3);
    world_run(300);
    world_links(CAT, LINK_CUT);
    world_spend(CAT, "alice", 10);
    world_run(1500);
    world_forget(ANN, CAT);
    world_run(500);
    skip_text();
    world_show("alice");
    world_links(CAT, LINK_FINE);
    world_run(2000);
    world_show("alice");
    EXPECT("what a forgotten peer spent unheard is told when it is back",
           "ann: alice 157.0 - 0.0, may take 73, keeps 0\n"
           "bob: alice 157.0 - 0.0, may take 36, keeps 0\n"
           "cat: alice 157.0 - 10.0, may take 26, keeps 1\n"
           "cat: cat was declared gone by its peers and joins again\n"
           "cat: ann is heard again\n"
           "cat: bob is heard again\n"
           "bob: cat (region cat's) has started anew\n"
           "bob: cat is heard again\n"
           "ann: cat (region cat's) has started anew\n"
           "ann: cat is heard again\n"
           "cat: took a snapshot from bob\n"
           "cat: cat is active: its state comes from a peer\n"
           "ann: cat is active\n"
           "bob: cat is active\n"
           "ann: alice 147.0 - 0.0, may take 66, keeps 0\n"
           "bob: alice 147.0 - 0.0, may take 33, keeps 0\n"
           "cat: alice 147.0 - 0.0, may take 33, keeps 0\n");
    world_close();
}

/* It does not join again; it hears of it all the same. */
static void forgotten_while_it_leaves(void)
{
    world_of(3);
    world.host[CAT].options.leave_timeout_ns = 60000 * MS;
    world_crash(CAT);
    world_start(CAT);
    world_run(500);
    world_spend(CAT, "alice", 3);
    world_run(300);
    world_links(CAT, LINK_CUT);
    world_spend(CAT, "alice", 10);
    world_run(1500);
    world_stop(CAT);
    world_forget(ANN, CAT);
    world_run(500);
    skip_text();
    world_links(CAT, LINK_FINE);
    world_run(2000);
    world_show("alice");
    EXPECT("what a leaving peer spent unheard stays unsettled there when it is forgotten",
           "cat: ann is heard again\n"
           "cat: bob is heard again\n"
           "ann: alice 157.0 - 0.0, may take 73, keeps 0\n"
           "bob: alice 157.0 - 0.0, may take 36, keeps 0\n"
           "cat: alice 157.0 - 10.0, may take 0, keeps 1\n");
    world_close();
}

int main(void)
{
    forgotten_while_it_leaves();
    forgotten_behind_a_cut();
    return tap_done();
}
