/* Which start of a name counts, whatever is made up: nobody loses his name for ever. */
#include "tests/lib/cluster_forger.h"

/* Ann, bob and cat are active; so many others are taken in. */
static void world_beside(uint32_t others)
{
    world_init(3);
    world_name_all();
    for (unsigned i = 0; i < 3; i++)
        world.host[i].options.unlisted_max = others;
    world_start_all();
    world_run(1000);
    skip_text();
}

static void far_ahead(void)
{
    world_beside(0);
    forge(ANN, &(struct forged){"cat", "cat's", INCARNATION_MAX, 0, PEER_ACTIVE}, 1);
    forge(ANN, &(struct forged){"cat", "cat's", INCARNATION_MAX, 0, PEER_LEFT}, 1);
    world_run(1500);
    world_show_peers();
    world_spend(CAT, "alice", 1);
    EXPECT(
        "a start that is centuries ahead is not believed, whoever tells of it",
        "ann: eve is not taken in: the config does not name it, and of such peers at most 0 are (unlisted_peers)\n"
        "ann: a message says that cat started more than ten years from now: that is dropped; either it was made "
        "up, "
        "or a wall clock is wrong\n"
        "ann sees itself active 50.0%, bob active 25.0%, cat active 25.0%\n"
        "bob sees itself active 25.0%, ann active 50.0%, cat active 25.0%\n"
        "cat sees itself active 25.0%, ann active 50.0%, bob active 25.0%\n"
        "cat: 1 of alice? yes\n");
    OK_U64(world_stats(ANN).incarnations_refused, 2, "both are counted");
    world_close();
}

static void near(void)
{
    world_beside(0);
    forge(ANN, &(struct forged){"cat", "cat's", 1000, 0, PEER_ACTIVE}, 1);
    world_run(500);
    world_spend(CAT, "alice", 1);
    skip_text();
    tell("half a second later:");
    world_run(1500);
    world_show_peers();
    world_spend(CAT, "alice", 1);
    EXPECT("one that may be stops the node of that name, until nobody has heard of it for silent_after",
           "half a second later:\n"
           "ann: cat is silent: its share stays reserved\n"
           "bob: cat is silent: its share stays reserved\n"
           "cat: cat joins again: nobody hears a newer node of that name\n"
           "ann: cat (region cat's) has started anew\n"
           "ann: cat is heard again\n"
           "bob: cat (region cat's) has started anew\n"
           "bob: cat is heard again\n"
           "cat: took a snapshot from ann\n"
           "cat: cat is active: its state comes from a peer\n"
           "ann: cat is active\n"
           "bob: cat is active\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat active 25.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat active 25.0%\n"
           "cat sees itself active 25.0%, ann active 50.0%, bob active 25.0%\n"
           "cat: 1 of alice? yes\n");
    world_close();
}

/* As long as there is news of it, it is taken for real; forgetting ends it. */
static void forgotten(void)
{
    world_beside(1);
    for (uint64_t number = 1; number <= 10; number++) {
        forge(ANN, &(struct forged){"cat", "cat's", 1000, number, PEER_ACTIVE}, 1);
        world_run(300);
    }
    step(ANN, (struct event){.kind = EVENT_FORGET, .name = "eve"}, ANN);
    world_run(300);
    skip_text();
    world_spend(CAT, "alice", 1);
    world_forget(ANN, CAT);
    world_run(400);
    world_spend(CAT, "alice", 1);
    EXPECT("forgetting a name gives it back to the node that has it",
           "cat: 1 of alice? no, joining\n"
           "ann: cat is forgotten, as the operator asked\n"
           "bob: cat is forgotten\n"
           "cat: cat joins again: the newer node of that name is gone\n"
           "cat: eve is forgotten\n"
           "ann: cat (region cat's) has started anew\n"
           "bob: cat (region cat's) has started anew\n"
           "cat: took a snapshot from ann\n"
           "cat: cat is active: its state comes from a peer\n"
           "ann: cat is active\n"
           "bob: cat is active\n"
           "cat: 1 of alice? yes\n");
    world_close();
}

/* Cat's machine runs another bob. */
static void namesake(void)
{
    world_init(3);
    world_name_peer(ANN, BOB);
    world_name_peer(BOB, ANN);
    world_name_peer(CAT, ANN);
    memcpy(world.host[CAT].options.name, "bob", 4);
    memcpy(world.host[CAT].options.region, world.host[BOB].options.region, NODE_NAME_BYTES);
    world.host[CAT].incarnation = 5;
    world_start(ANN);
    world_start(BOB);
    world_run(3000);
    world_start(CAT);
    world_run(5000);
    world_spend(BOB, "alice", 1);
    world_spend(CAT, "alice", 1);
    skip_text();
    world_stop(CAT);
    world_run(1000);
    world_spend(BOB, "alice", 1);
    EXPECT("a real one keeps the name as long as it runs",
           "cat is asked to leave\n"
           "ann: bob has left\n"
           "bob: bob joins again: the newer node of that name is gone\n"
           "cat is gone\n"
           "ann: bob (region bob's) has started anew\n"
           "bob: took a snapshot from ann\n"
           "bob: bob is active: its state comes from a peer\n"
           "ann: bob is active\n"
           "bob: 1 of alice? yes\n");
    world_close();
}

int main(void)
{
    far_ahead();
    near();
    forgotten();
    namesake();
    return tap_done();
}
