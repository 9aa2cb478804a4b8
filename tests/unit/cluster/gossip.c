#include "tests/lib/cluster_harness.h"

/* Shares are 1/2 (ann), 1/4 (bob) and 1/4 (cat); of a full bucket 1/16 of each is held back; links take 10 ms. */

static void overtaking(void)
{
    char name[16];
    world_of(2);
    world_spend(BOB, "alice", 5);
    for (int i = 0; i < 400; i++) { /* too much to be said again just in case */
        (void)snprintf(name, sizeof name, "key %d", i);
        (void)world_ask(BOB, name, 0, 1);
    }
    world_link(BOB, ANN, LINK_HELD);
    tell("what bob says now is held up:");
    world_until_published(BOB);
    world_link(BOB, ANN, LINK_FINE);
    world_spend(ANN, "alice", 3);
    world_until_published(ANN);
    world_run(30);
    tell("bob has acknowledged:");
    world_show("alice");
    world_release(BOB, ANN, true);
    world_run(0);
    tell("what was held up arrives:");
    world_show("alice");
    EXPECT("an acknowledgement that overtakes spends does not count",
           "bob: 5 of alice? yes\n"
           "what bob says now is held up:\n"
           "ann: 3 of alice? yes\n"
           "bob has acknowledged:\n"
           "ann: alice 160.0 - 3.0, may take 72, keeps 1\n"
           "bob: alice 157.0 - 5.0, may take 68, keeps 1\n"
           "what was held up arrives:\n"
           "ann: alice 152.0 - 0.0, may take 70, keeps 0\n"
           "bob: alice 157.0 - 5.0, may take 68, keeps 1\n");
    world_close();
}

static void relayed(void)
{
    world_of(3);
    world_link(ANN, BOB, LINK_CUT);
    tell("bob does not hear ann:");
    world_spend(ANN, "alice", 3);
    world_run(500);
    world_show("alice");
    world_show_peers();
    world_run(1000);
    (void)world_spend_many(ANN, "key", 300); /* too much to be said again just in case */
    world_spend(ANN, "alice", 3);
    world_until_published(ANN);
    world_run(30);
    tell("cat knows by now that bob does not hear ann; 30 ms are enough:");
    world_show("alice");
    EXPECT("where a link is cut one way, the third passes it on",
           "bob does not hear ann:\n"
           "ann: 3 of alice? yes\n"
           "ann: alice 157.0 - 0.0, may take 73, keeps 0\n"
           "bob: alice 157.0 - 0.0, may take 36, keeps 0\n"
           "cat: alice 157.0 - 0.0, may take 36, keeps 0\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat active 25.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat active 25.0%\n"
           "cat sees itself active 25.0%, ann active 50.0%, bob active 25.0%\n"
           "ann: 3 of alice? yes\n"
           "cat knows by now that bob does not hear ann; 30 ms are enough:\n"
           "ann: alice 154.0 - 0.0, may take 71, keeps 0\n"
           "bob: alice 154.0 - 0.0, may take 35, keeps 0\n"
           "cat: alice 154.0 - 0.0, may take 35, keeps 0\n");
    world_close();
}

static void silent(void)
{
    world_of(3);
    world_links(CAT, LINK_CUT);
    tell("cat is cut off:");
    world_spend(ANN, "alice", 20);
    world_run(500);
    world_show("alice");
    world_run(1000);
    world_show_peers();
    world_drain(ANN, "alice");
    world_drain(BOB, "alice");
    world_drain(CAT, "alice");
    struct verdict verdict = world_ask(ANN, "alice", 0, 1);
    tell("ann: retry after %" PRIu64 " s", verdict.retry_after_ns / (1000 * MS));
    world_run(1000);
    world_links(CAT, LINK_FINE);
    tell("and back:");
    world_run(500);
    world_show("alice");
    world_show_peers();
    EXPECT("a silent peer keeps its share, and so does everybody else",
           "cat is cut off:\n"
           "ann: 20 of alice? yes\n"
           "ann: alice 160.0 - 20.0, may take 55, keeps 1\n"
           "bob: alice 140.0 - 0.0, may take 31, keeps 1\n"
           "cat: alice 160.0 - 0.0, may take 37, keeps 0\n"
           "ann: cat is silent: its share stays reserved\n"
           "bob: cat is silent: its share stays reserved\n"
           "cat: ann is silent: its share stays reserved\n"
           "cat: bob is silent: its share stays reserved\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat silent 25.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat silent 25.0%\n"
           "cat sees itself active 25.0%, ann silent 50.0%, bob silent 25.0%\n"
           "ann: takes 55 of alice, all it may\n"
           "bob: takes 31 of alice, all it may\n"
           "cat: takes 37 of alice, all it may\n"
           "ann: retry after 7198 s\n"
           "and back:\n"
           "cat: ann is heard again\n"
           "cat: bob is heard again\n"
           "ann: cat is heard again\n"
           "bob: cat is heard again\n"
           "ann: alice 17.0 - 0.0, may take 4, keeps 0\n"
           "bob: alice 17.0 - 0.0, may take 2, keeps 0\n"
           "cat: alice 17.0 - 0.0, may take 2, keeps 0\n"
           "ann sees itself active 50.0%, bob active 25.0%, cat active 25.0%\n"
           "bob sees itself active 25.0%, ann active 50.0%, cat active 25.0%\n"
           "cat sees itself active 25.0%, ann active 50.0%, bob active 25.0%\n");
    world_close();
}

static void doubled(void)
{
    world_of(3);
    world_link(ANN, BOB, LINK_STUTTERS);
    tell("all that ann says reaches bob twice, and late:");
    for (int i = 0; i < 5; i++) {
        world_spend(ANN, "alice", 1);
        world_until_published(ANN);
    }
    world_run(300);
    world_show("alice");
    tell("bob applied %" PRIu64 " batches with %" PRIu64 " tokens", world_stats(BOB).batches_applied,
         world_stats(BOB).applied_tokens);
    EXPECT("what arrives twice counts once", "all that ann says reaches bob twice, and late:\n"
                                             "ann: 1 of alice? yes\n"
                                             "ann: 1 of alice? yes\n"
                                             "ann: 1 of alice? yes\n"
                                             "ann: 1 of alice? yes\n"
                                             "ann: 1 of alice? yes\n"
                                             "ann: alice 155.0 - 0.0, may take 71, keeps 0\n"
                                             "bob: alice 155.0 - 0.0, may take 35, keeps 0\n"
                                             "cat: alice 155.0 - 0.0, may take 35, keeps 0\n"
                                             "bob applied 5 batches with 5 tokens\n");
    world_close();
}

static void reordered(void)
{
    char name[16];
    world_of(2);
    world_link(ANN, BOB, LINK_HELD);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 300; k++) { /* too much to be said again just in case */
            (void)snprintf(name, sizeof name, "key %d", k);
            (void)world_ask(ANN, name, 0, 1);
        }
        world_spend(ANN, "alice", 20);
        world_until_published(ANN);
    }
    world_release(ANN, BOB, true);
    while (world_stats(BOB).batches_waiting == 0)
        world_step_packet();
    tell("the last of three messages is the first to arrive; bob lets %" PRIu64 " batch wait:",
         world_stats(BOB).batches_waiting);
    world_show("alice");
    OK_U64(world_stats(BOB).batches_missing, 3, "he lacks three batches that ann has");
    world_run(0);
    OK_U64(world_stats(BOB).batches_missing, 0, "and then none");
    tell("then the others; bob has applied %" PRIu64 ":", world_stats(BOB).batches_applied);
    world_show("alice");
    EXPECT("batches are applied in order, once",
           "ann: 20 of alice? yes\n"
           "ann: 20 of alice? yes\n"
           "ann: 20 of alice? yes\n"
           "the last of three messages is the first to arrive; bob lets 1 batch wait:\n"
           "ann: alice 160.0 - 60.0, may take 15, keeps 3\n"
           "bob: alice 160.0 - 0.0, may take 75, keeps 0\n"
           "then the others; bob has applied 3:\n"
           "ann: alice 160.0 - 60.0, may take 15, keeps 3\n"
           "bob: alice 100.0 - 0.0, may take 37, keeps 0\n");
    world_close();
}

static void muted(void)
{
    world_of(3);
    world_mute(ANN, BOB, true, false);
    world_mute(ANN, DAN, true, true);
    world_spend(BOB, "alice", 3);
    world_run(500);
    world_show("alice");
    world_mute(ANN, BOB, true, true);
    world_mute(ANN, CAT, true, true);
    world_run(1500);
    world_spend(ANN, "alice", 4);
    world_run(500);
    world_show("alice");
    world_show_peers();
    tell("%s", world_stats(ANN).messages_muted > 10 && world_stats(BOB).messages_muted > 10
                   ? "both count what they dropped"
                   : "not counted");
    world_mute(ANN, BOB, false, false);
    world_mute(ANN, CAT, false, false);
    world_run(500);
    world_show("alice");
    EXPECT("dropping messages on demand", "ann: messages from bob are dropped, to it sent\n"
                                          "ann: cannot drop messages of dan: no such peer\n"
                                          "bob: 3 of alice? yes\n"
                                          "ann: alice 157.0 - 0.0, may take 73, keeps 0\n"
                                          "bob: alice 157.0 - 0.0, may take 36, keeps 0\n"
                                          "cat: alice 157.0 - 0.0, may take 36, keeps 0\n"
                                          "ann: messages from bob are dropped, to it dropped\n"
                                          "ann: messages from cat are dropped, to it dropped\n"
                                          "bob: ann is silent: its share stays reserved\n"
                                          "cat: ann is silent: its share stays reserved\n"
                                          "ann: bob is silent: its share stays reserved\n"
                                          "ann: cat is silent: its share stays reserved\n"
                                          "ann: 4 of alice? yes\n"
                                          "ann: alice 157.0 - 4.0, may take 69, keeps 1\n"
                                          "bob: alice 157.0 - 0.0, may take 36, keeps 0\n"
                                          "cat: alice 157.0 - 0.0, may take 36, keeps 0\n"
                                          "ann sees itself active 50.0%, bob silent 25.0%, cat silent 25.0%\n"
                                          "bob sees itself active 25.0%, ann silent 50.0%, cat active 25.0%\n"
                                          "cat sees itself active 25.0%, ann silent 50.0%, bob active 25.0%\n"
                                          "both count what they dropped\n"
                                          "ann: messages from bob are heard, to it sent\n"
                                          "ann: messages from cat are heard, to it sent\n"
                                          "bob: ann is heard again\n"
                                          "cat: ann is heard again\n"
                                          "ann: bob is heard again\n"
                                          "ann: cat is heard again\n"
                                          "ann: alice 153.0 - 0.0, may take 70, keeps 0\n"
                                          "bob: alice 153.0 - 0.0, may take 35, keeps 0\n"
                                          "cat: alice 153.0 - 0.0, may take 35, keeps 0\n");
    world_close();
}

int main(void)
{
    overtaking();
    doubled();
    reordered();
    relayed();
    silent();
    muted();
    return tap_done();
}
