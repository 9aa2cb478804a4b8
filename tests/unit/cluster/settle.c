#include "tests/lib/cluster_impostor.h"

static void inbox(void)
{
    char key[32];
    world_of(3);
    world_link(ANN, BOB, LINK_CUT);
    world_link(CAT, BOB, LINK_HELD);
    for (int i = 0; i < 700; i++) {
        (void)snprintf(key, sizeof key, "key %d", i);
        (void)world_ask(CAT, key, 0, 1);
        world_until_published(CAT);
    }
    skip_text();
    world_release(CAT, BOB, true);
    uint64_t waiting_max = 0;
    while (next_packet() >= 0 && world.packet[next_packet()].at_ns <= world.now_ns) {
        world_step_packet();
        if (world_stats(BOB).batches_waiting > waiting_max)
            waiting_max = world_stats(BOB).batches_waiting;
    }
    OK(waiting_max == 512, "of 700 batches in the wrong order, at most %" PRIu64 " wait", waiting_max);
    OK(world_stats(BOB).limit_drops > 0, "others are dropped");
    OK(world_stats(BOB).batches_applied > 512, "when the first arrives, all that wait are applied: %" PRIu64,
       world_stats(BOB).batches_applied);
    world_run(3000);
    OK_U64(world_stats(BOB).batches_waiting, 0, "three seconds later none waits");
    OK_U64(world_count_left(BOB, "key", 700, 159), 700, "and all are known");
    world_close();
}

static void impossible_acknowledgement(void)
{
    impostor_world();
    world_spend(ANN, "alice", 3);
    world_run(150);
    impostor_begin(MESSAGE_GOSSIP, 0, 1000);
    impostor_say(NULL);
    tell("bob says that it has a thousand batches of ann's, who made one:");
    world_show_one(ANN, "alice");
    impostor_begin(MESSAGE_GOSSIP, 0, 1);
    impostor_say(NULL);
    tell("that it has one:");
    world_show_one(ANN, "alice");
    EXPECT("what was never made cannot be acknowledged",
           "ann: 3 of alice? yes\n"
           "bob says that it has a thousand batches of ann's, who made one:\n"
           "ann: alice 160.0 - 3.0, may take 72, keeps 1\n"
           "that it has one:\n"
           "ann: alice 157.0 - 0.0, may take 73, keeps 0\n");
    world_close();
}

static void two_limits(void)
{
    impostor_world();
    world_spend(ANN, "alice", 3);
    impostor_begin(MESSAGE_GOSSIP, 1, 0);
    impostor_say(impostor_batch(1, 1, key_of("alice", 0), 1, 100));
    tell("bob says that alice spent under another limit, which his rule has already:");
    world_show_one(ANN, "alice");
    EXPECT("a token is a token, whatever its limit is where it was spent",
           "ann: 3 of alice? yes\n"
           "bob says that alice spent under another limit, which his rule has already:\n"
           "ann: alice 60.0 - 3.0, may take 12, keeps 1\n");
    world_close();
}

static void enormous(void)
{
    impostor_world();
    impostor_begin(MESSAGE_GOSSIP, 2, 0);
    impostor_say(impostor_batch(1, 1, key_of("alice", 0), 0, UINT64_MAX));
    impostor_say(impostor_batch(2, 2, key_of("alice", 0), 0, UINT64_MAX));
    world_spend(ANN, "alice", 1);
    OK(world_stats(ANN).batches_applied == 2, "spends of 2^64 are applied");
    EXPECT("and leave nothing", "ann: 1 of alice? no, nothing is left\n");
    impostor_begin(MESSAGE_GOSSIP, UINT64_MAX, 0);
    impostor.members[0].incarnation = UINT64_MAX;
    impostor_say(NULL);
    OK_U64(world_stats(ANN).messages_invalid, 1, "an incarnation that leaves no room for a later one is refused");
    world_close();
}

int main(void)
{
    impossible_acknowledgement();
    two_limits();
    enormous();
    inbox();
    return tap_done();
}
