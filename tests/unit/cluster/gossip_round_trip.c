#include "tests/lib/cluster_harness.h"

/* How long ann takes a message to be on its way to bob and back. */

static void world_apart(uint64_t ms, uint32_t step_keys)
{
    world_init_steps(1024, step_keys);
    world.link[ANN][BOB].delay_ns = world.link[BOB][ANN].delay_ns = ms * MS;
    world_start_all();
    world_run(1000);
    skip_text();
}

/* In intervals. */
static void show_round_trip(void)
{
    struct peer_report report[NODE_PEERS_MAX];
    size_t count = node_peers(world.host[ANN].node, world.now_ns, report);
    for (size_t i = 0; i < count; i++)
        if (!report[i].self)
            tell("ann: %s lacks %" PRIu64 " batches, there and back takes %" PRIu64 " intervals and a bit",
                 report[i].name, report[i].lag_batches, report[i].round_trip_ns / (100 * MS));
}

static void spend_for_a_while(int times)
{
    for (int i = 0; i < times; i++) {
        (void)world_ask(ANN, "alice", 0, 1);
        world_run(100);
    }
}

/* Most is sent once: what is said again to who does not answer is as much as eight steps work on. */
static void answers_lost(void)
{
    world_apart(10, 8);
    spend_for_a_while(8);
    show_round_trip();
    world_link(BOB, ANN, LINK_CUT);
    tell("ann does not hear bob:");
    (void)world_spend_many(ANN, "key", 160);
    world_run(800);
    show_round_trip();
    world_link(BOB, ANN, LINK_FINE);
    tell("and hears him again:");
    world_run(200);
    show_round_trip();
    EXPECT("answers that were lost make no round trip longer",
           "ann: bob lacks 0 batches, there and back takes 0 intervals and a bit\n"
           "ann does not hear bob:\n"
           "ann: bob lacks 20 batches, there and back takes 0 intervals and a bit\n"
           "and hears him again:\n"
           "ann: bob lacks 0 batches, there and back takes 0 intervals and a bit\n");
    world_close();
}

/* What bob says when he is heard again is no answer to anything that ann has said lately. */
static void late_news(void)
{
    world_apart(10, 8);
    spend_for_a_while(8);
    world_link(BOB, ANN, LINK_CUT);
    (void)world_ask(ANN, "alice", 0, 1);
    world_until_published(ANN);
    world_run(20);
    world_link(ANN, BOB, LINK_CUT);
    tell("bob has heard of a batch, ann has not heard that, and none hears the other for a while:");
    world_run(850);
    show_round_trip();
    world_link(BOB, ANN, LINK_FINE);
    world_until_published(BOB);
    world_run(20);
    show_round_trip();
    EXPECT("nor does hearing of it late",
           "bob has heard of a batch, ann has not heard that, and none hears the other for a while:\n"
           "ann: bob lacks 1 batches, there and back takes 0 intervals and a bit\n"
           "ann: bob lacks 0 batches, there and back takes 0 intervals and a bit\n");
    world_close();
}

/* Longer than an interval, as between continents. Where nothing is known of that, all is said twice. */
static void far_apart(void)
{
    world_apart(120, 2048);
    for (int i = 0; i < 24; i++) {
        (void)world_spend_many(ANN, "key", 400); /* too much to be said again just in case */
        world_run(1000);
    }
    tell("of 24 batches ann has said %s again", world_stats(ANN).batches_resent > 4 ? "many" : "the first few");
    show_round_trip();
    EXPECT("a long way is found to be", "of 24 batches ann has said the first few again\n"
                                        "ann: bob lacks 0 batches, there and back takes 2 intervals and a bit\n");
    world_close();
}

/* What rides along in every message while it is small is not counted as said again. */
static void copies_lost(void)
{
    world_apart(120, 8);
    spend_for_a_while(8);
    for (int i = 0; i < 24; i++) {
        world_link(ANN, BOB, LINK_CUT);
        (void)world_ask(ANN, "alice", 0, 1);
        world_until_published(ANN);
        world_run(150);
        world_link(ANN, BOB, LINK_FINE);
        world_run(850);
    }
    tell("of each batch two copies were lost, and the third was not:");
    show_round_trip();
    EXPECT("nor do copies that were lost",
           "of each batch two copies were lost, and the third was not:\n"
           "ann: bob lacks 0 batches, there and back takes 2 intervals and a bit\n");
    world_close();
}

static void longer_way(void)
{
    world_apart(10, 8);
    spend_for_a_while(8);
    show_round_trip();
    world.link[ANN][BOB].delay_ns = world.link[BOB][ANN].delay_ns = 80 * MS;
    tell("messages go another way:");
    spend_for_a_while(24);
    world_run(1000);
    show_round_trip();
    EXPECT("so is one that has become long",
           "ann: bob lacks 0 batches, there and back takes 0 intervals and a bit\n"
           "messages go another way:\n"
           "ann: bob lacks 0 batches, there and back takes 1 intervals and a bit\n");
    world_close();
}

int main(void)
{
    answers_lost();
    copies_lost();
    late_news();
    far_apart();
    longer_way();
    return tap_done();
}
