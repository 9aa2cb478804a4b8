#include "tests/lib/cluster_harness.h"

/* Shares are 1/2 (ann), 1/4 (bob) and 1/4 (cat); of a full bucket 1/16 of each is held back; links take 10 ms. */

/* Like world_of(4), but dan shares a region with cat; nobody has dan in its config. */
static void world_with_dan(void)
{
    world_init(4);
    for (unsigned i = 0; i < 3; i++)
        for (unsigned j = 0; j < 3; j++)
            if (i != j)
                world_name_peer(i, j);
    world_name_peer(DAN, ANN);
    for (unsigned i = 0; i < 4; i++) {
        struct node_options *options = &world.host[i].options;
        options->region_count = 3;
        options->regions[2].weight = options->regions[1].weight;
    }
    memcpy(world.host[DAN].options.region, world.host[CAT].options.region, NODE_NAME_BYTES);
    for (unsigned i = 0; i < 3; i++)
        world_start(i);
    world_run(1000);
    skip_text();
}

static void leaving(void)
{
    world_with_dan();
    world_start(DAN);
    world_run(1000);
    skip_text();
    world_show_peers();
    world_spend(DAN, "alice", 5);
    world_stop(DAN);
    world_spend(DAN, "alice", 1);
    world_run(500);
    world_show_peers();
    world_show("alice");
    EXPECT("who leaves tells what it spent, waits until all know, says goodbye; its share is freed",
           "ann sees itself active 50.0%, bob active 25.0%, cat active 12.5%, dan active 12.5%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat active 12.5%, dan active 12.5%\n"
           "cat sees itself active 12.5%, ann active 50.0%, bob active 25.0%, dan active 12.5%\n"
           "dan sees itself active 12.5%, ann active 50.0%, bob active 25.0%, cat active 12.5%\n"
           "dan: 5 of alice? yes\n"
           "dan is asked to leave\n"
           "dan: 1 of alice? no, joining\n"
           "ann: dan has left\n"
           "bob: dan has left\n"
           "cat: dan has left\n"
           "dan is gone\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat active 25.0%, dan left 0.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat active 25.0%, dan left 0.0%\n"
           "cat sees itself active 25.0%, ann active 50.0%, bob active 25.0%, dan left 0.0%\n"
           "ann: alice 155.0 - 0.0, may take 71, keeps 0\n"
           "bob: alice 155.0 - 0.0, may take 35, keeps 0\n"
           "cat: alice 155.0 - 0.0, may take 35, keeps 0\n");

    world_stop(CAT);
    world_run(500);
    world_show_peers();
    world_forget(ANN, CAT);
    world_run(500);
    EXPECT("a node that the config names keeps its share until it is forgotten",
           "cat is asked to leave\n"
           "ann: cat has left\n"
           "bob: cat has left\n"
           "cat is gone\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat left 0.0%, dan left 0.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat left 0.0%, dan left 0.0%\n"
           "ann: cat is forgotten, as the operator asked\n"
           "bob: cat is forgotten\n");
    world_close();
}

static void leaving_alone(void)
{
    world_of(2);
    world_links(BOB, LINK_CUT);
    world_spend(BOB, "alice", 5);
    world_stop(BOB);
    world_run(1900);
    tell("1.9 s later:");
    world_run(200);
    EXPECT("who is cut off leaves after a time", "bob: 5 of alice? yes\n"
                                                 "bob is asked to leave\n"
                                                 "ann: bob is silent: its share stays reserved\n"
                                                 "bob: ann is silent: its share stays reserved\n"
                                                 "1.9 s later:\n"
                                                 "bob is gone\n");
    world_close();
}

static void forgetting(void)
{
    world_with_dan();
    world_start(DAN);
    world_run(1000);
    skip_text();
    world_crash(CAT);
    world_spend(ANN, "alice", 20);
    world_run(1500);
    world_show("alice");
    world_show_peers();
    world_forget(ANN, ANN);
    step(ANN, (struct event){.kind = EVENT_FORGET, .name = "eve"}, ANN);
    world_forget(ANN, CAT);
    world_run(500);
    world_show("alice");
    world_show_peers();
    EXPECT("forgetting a peer that is gone lets others settle and gives its share to its region",
           "cat crashes\n"
           "ann: 20 of alice? yes\n"
           "dan: cat is silent: its share stays reserved\n"
           "ann: cat is silent: its share stays reserved\n"
           "bob: cat is silent: its share stays reserved\n"
           "ann: alice 160.0 - 20.0, may take 55, keeps 1\n"
           "bob: alice 140.0 - 0.0, may take 31, keeps 1\n"
           "dan: alice 140.0 - 0.0, may take 15, keeps 1\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat silent 12.5%, dan active 12.5%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat silent 12.5%, dan active 12.5%\n"
           "dan sees itself active 12.5%, ann active 50.0%, bob active 25.0%, cat silent 12.5%\n"
           "ann: cannot forget ann: that is this node\n"
           "ann: cannot forget eve: no such peer\n"
           "ann: cat is forgotten, as the operator asked\n"
           "bob: cat is forgotten\n"
           "dan: cat is forgotten\n"
           "ann: alice 140.0 - 0.0, may take 62, keeps 0\n"
           "bob: alice 140.0 - 0.0, may take 31, keeps 0\n"
           "dan: alice 140.0 - 0.0, may take 31, keeps 0\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat left 0.0%, dan active 25.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat left 0.0%, dan active 25.0%\n"
           "dan sees itself active 25.0%, ann active 50.0%, bob active 25.0%, cat left 0.0%\n");

    world_start(CAT);
    world_run(500);
    world_show_peers();
    world_show("alice");
    EXPECT("should it return after all, it joins like a new one",
           "ann: cat (region cat's) has started anew\n"
           "ann: cat is heard again\n"
           "bob: cat (region cat's) has started anew\n"
           "bob: cat is heard again\n"
           "cat: ann (region ann's) is heard for the first time\n"
           "cat: ann is active\n"
           "cat: bob (region bob's) is heard for the first time\n"
           "cat: bob is active\n"
           "cat: dan (region cat's) is heard for the first time\n"
           "cat: dan is active\n"
           "cat: took a snapshot from ann\n"
           "dan: cat (region cat's) has started anew\n"
           "dan: cat is heard again\n"
           "cat: cat is active: its state comes from a peer\n"
           "ann: cat is active\n"
           "bob: cat is active\n"
           "dan: cat is active\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat active 12.5%, dan active 12.5%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat active 12.5%, dan active 12.5%\n"
           "cat sees itself active 12.5%, ann active 50.0%, bob active 25.0%, dan active 12.5%\n"
           "dan sees itself active 12.5%, ann active 50.0%, bob active 25.0%, cat active 12.5%\n"
           "ann: alice 140.0 - 0.0, may take 62, keeps 0\n"
           "bob: alice 140.0 - 0.0, may take 31, keeps 0\n"
           "cat: alice 140.0 - 0.0, may take 15, keeps 0\n"
           "dan: alice 140.0 - 0.0, may take 15, keeps 0\n");
    world_close();
}

static void forgetting_unheard(void)
{
    world_init(3);
    world_name_all();
    world_links(ANN, LINK_CUT);
    world_start_all();
    world_run(2500);
    world_crash(CAT);
    world_run(1500);
    skip_text();
    world_forget(ANN, CAT);
    world_links(ANN, LINK_FINE);
    world_run(500);
    world_show_peers();
    EXPECT("who is forgotten by a node that never heard him is forgotten by those that have",
           "ann: cat is forgotten, as the operator asked\n"
           "bob: ann (region ann's) is heard for the first time\n"
           "bob: ann is active\n"
           "bob: ann is heard again\n"
           "ann: bob (region bob's) is heard for the first time\n"
           "ann: bob is active\n"
           "ann: bob is heard again\n"
           "bob: cat is forgotten\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat left 0.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat left 0.0%\n");
    world_close();
}

static void restarting(void)
{
    world_of(3);
    world_spend(ANN, "alice", 20);
    world_spend(CAT, "alice", 10);
    world_run(500);
    skip_text();
    world_crash(CAT);
    world_spend(ANN, "alice", 8);
    world_run(300);
    world_show("alice");
    world_start(CAT);
    tell("at once:");
    world_spend(CAT, "alice", 1);
    world_show("alice");
    world_run(300);
    world_show("alice");
    EXPECT("a restart without memory takes a snapshot; what others spend settles when it has it",
           "cat crashes\n"
           "ann: 8 of alice? yes\n"
           "ann: alice 130.0 - 8.0, may take 48, keeps 1\n"
           "bob: alice 122.0 - 0.0, may take 25, keeps 1\n"
           "at once:\n"
           "cat: 1 of alice? no, joining\n"
           "ann: alice 130.0 - 8.0, may take 48, keeps 1\n"
           "bob: alice 122.0 - 0.0, may take 25, keeps 1\n"
           "cat: alice 160.0 - 0.0, may take 0, keeps 0\n"
           "ann: cat (region cat's) has started anew\n"
           "bob: cat (region cat's) has started anew\n"
           "cat: ann (region ann's) is heard for the first time\n"
           "cat: ann is active\n"
           "cat: bob (region bob's) is heard for the first time\n"
           "cat: bob is active\n"
           "cat: took a snapshot from ann\n"
           "cat: cat is active: its state comes from a peer\n"
           "ann: cat is active\n"
           "bob: cat is active\n"
           "ann: alice 122.0 - 0.0, may take 51, keeps 0\n"
           "bob: alice 122.0 - 0.0, may take 25, keeps 0\n"
           "cat: alice 122.0 - 0.0, may take 25, keeps 0\n");
    world_close();
}

static void unlisted(void)
{
    world_with_dan();
    world_spend(ANN, "alice", 60);
    world_run(200);
    skip_text();
    world_links(CAT, LINK_CUT);
    tell("cat is cut off; dan is new and knows only ann:");
    world_start(DAN);
    world_run(3000);
    world_show_peers();
    world_spend(DAN, "alice", 1);
    world_show("alice");
    world_links(CAT, LINK_FINE);
    tell("cat is back:");
    world_run(500);
    world_show_peers();
    world_spend(DAN, "alice", 1);
    EXPECT("who is not in the others' config spends nothing until all have acknowledged it",
           "cat is cut off; dan is new and knows only ann:\n"
           "ann: dan (region cat's) is heard for the first time\n"
           "dan: ann (region ann's) is heard for the first time\n"
           "dan: ann is active\n"
           "dan: bob (region bob's) is heard for the first time\n"
           "dan: bob is active\n"
           "dan: cat (region cat's) is heard for the first time\n"
           "dan: cat is active\n"
           "dan: took a snapshot from ann\n"
           "bob: dan (region cat's) is heard for the first time\n"
           "cat: ann is silent: its share stays reserved\n"
           "ann: cat is silent: its share stays reserved\n"
           "bob: cat is silent: its share stays reserved\n"
           "cat: bob is silent: its share stays reserved\n"
           "dan: cat is silent: its share stays reserved\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat silent 12.5%, dan joining 0.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat silent 12.5%, dan joining 0.0%\n"
           "cat sees itself active 25.0%, ann silent 50.0%, bob silent 25.0%\n"
           "dan sees itself joining 0.0%, ann active 50.0%, bob active 25.0%, cat silent 12.5%\n"
           "dan: 1 of alice? no, joining\n"
           "ann: alice 100.0 - 0.0, may take 37, keeps 0\n"
           "bob: alice 100.0 - 0.0, may take 18, keeps 0\n"
           "cat: alice 100.0 - 0.0, may take 18, keeps 0\n"
           "dan: alice 100.0 - 0.0, may take 0, keeps 0\n"
           "cat is back:\n"
           "cat: dan (region cat's) is heard for the first time\n"
           "cat: ann is heard again\n"
           "cat: bob is heard again\n"
           "ann: cat is heard again\n"
           "bob: cat is heard again\n"
           "dan: cat is heard again\n"
           "dan: dan is active: its state comes from a peer\n"
           "ann: dan is active\n"
           "bob: dan is active\n"
           "cat: dan is active\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat active 12.5%, dan active 12.5%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat active 12.5%, dan active 12.5%\n"
           "cat sees itself active 12.5%, ann active 50.0%, bob active 25.0%, dan active 12.5%\n"
           "dan sees itself active 12.5%, ann active 50.0%, bob active 25.0%, cat active 12.5%\n"
           "dan: 1 of alice? yes\n");
    world_close();
}

static void unlisted_and_unheard(void)
{
    world_with_dan();
    world_link_both(CAT, DAN, LINK_CUT);
    tell("cat and dan never hear each other:");
    world_start(DAN);
    world_run(3000);
    world_show_peers();
    world_spend(ANN, "alice", 5);
    world_run(500);
    world_show("alice");
    EXPECT("a joiner that one peer does not hear waits, and holds up nobody",
           "cat and dan never hear each other:\n"
           "ann: dan (region cat's) is heard for the first time\n"
           "dan: ann (region ann's) is heard for the first time\n"
           "dan: ann is active\n"
           "dan: bob (region bob's) is heard for the first time\n"
           "dan: bob is active\n"
           "dan: cat (region cat's) is heard for the first time\n"
           "dan: cat is active\n"
           "dan: took a snapshot from ann\n"
           "bob: dan (region cat's) is heard for the first time\n"
           "cat: dan (region cat's) is heard for the first time\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat active 12.5%, dan joining 0.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat active 12.5%, dan joining 0.0%\n"
           "cat sees itself active 12.5%, ann active 50.0%, bob active 25.0%, dan joining 0.0%\n"
           "dan sees itself joining 0.0%, ann active 50.0%, bob active 25.0%, cat active 12.5%\n"
           "ann: 5 of alice? yes\n"
           "ann: alice 155.0 - 0.0, may take 71, keeps 0\n"
           "bob: alice 155.0 - 0.0, may take 35, keeps 0\n"
           "cat: alice 155.0 - 0.0, may take 17, keeps 0\n"
           "dan: alice 155.0 - 0.0, may take 0, keeps 0\n");
    world_close();
}

static void same_name(void)
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
    skip_text();
    tell("on cat's machine another bob starts:");
    world_start(CAT);
    world_run(1000);
    world_show_peers();
    EXPECT("of two nodes of one name the newer one stays",
           "on cat's machine another bob starts:\n"
           "ann: bob (region bob's) has started anew\n"
           "cat: ann (region ann's) is heard for the first time\n"
           "cat: ann is active\n"
           "cat: took a snapshot from ann\n"
           "cat: bob is active: its state comes from a peer\n"
           "ann: bob is active\n"
           "bob: a newer node is called bob as well, at cat:1: this one stops deciding and stays out of the "
           "cluster until that one is gone\n"
           "ann sees itself active 50.0%, bob active 25.0%\n"
           "bob sees itself left 0.0%, ann active 50.0%\n"
           "cat sees itself active 25.0%, ann active 50.0%\n");
    world_close();
}

int main(void)
{
    leaving();
    leaving_alone();
    forgetting();
    forgetting_unheard();
    restarting();
    unlisted();
    unlisted_and_unheard();
    same_name();
    return tap_done();
}
