#include "tests/cluster_harness.h"

enum { KEYS = 12000, STEP_KEYS = 256, WINDOW_BATCHES = 8, LONGEST_WAIT_MS = 3200 };

static void world_of_slices(void)
{
    world_init_steps(4 * KEYS, STEP_KEYS);
    world_start_all();
    world_run(1000);
    skip_text();
}

/* Ann does not know that bob hears nothing: she hears him. */
static void unanswered(void)
{
    world_of_slices();
    world_link(ANN, BOB, LINK_CUT);
    OK_U64(world_spend_many(ANN, "key", KEYS), KEYS, "many keys get a token each, and bob hears of none");
    world_run(50);
    uint64_t resent = world_stats(ANN).batches_resent, batches = world_stats(ANN).log_batches;
    world_run(3000);
    resent = world_stats(ANN).batches_resent - resent;
    OK(batches > 5 * WINDOW_BATCHES, "they are in %" PRIu64 " batches", batches);
    OK(resent >= WINDOW_BATCHES && resent <= 6 * WINDOW_BATCHES,
       "who does not answer is told a window of them now and then: %" PRIu64 " batches in 3 s", resent);
    world_link(ANN, BOB, LINK_FINE);
    unsigned waited_ms = 0;
    for (; world_stats(ANN).log_keys > 0 && waited_ms < 10000; waited_ms += 100)
        world_run(100);
    OK(waited_ms <= LONGEST_WAIT_MS, "who answers again is told all, or takes a snapshot, and all settles: %u ms",
       waited_ms);
    OK_U64(world_count_left(BOB, "key", KEYS, 159), KEYS, "he knows of all");
    world_close();
}

int main(void)
{
    unanswered();
    return tap_done();
}
