#include "tests/cluster_harness.h"

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
    world_release_backwards(CAT, BOB);
    uint64_t waiting_max = 0;
    while (next_packet() >= 0 && world.packet[next_packet()].at_ns <= world.now_ns) {
        world_step_packet();
        if (world_stats(BOB).batches_waiting > waiting_max)
            waiting_max = world_stats(BOB).batches_waiting;
    }
    OK(waiting_max == 512, "of 700 batches in the wrong order, at most %" PRIu64 " wait", waiting_max);
    OK(world_stats(BOB).limit_drops > 0, "others are dropped");
    world_run(3000);
    OK_U64(world_stats(BOB).batches_waiting, 0, "three seconds later none waits");
    OK_U64(world_count_left(BOB, "key", 700, 159), 700, "and all are known");
    world_close();
}

int main(void)
{
    inbox();
    return tap_done();
}
