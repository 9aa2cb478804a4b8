#include "cluster/publish.h"
#include "cluster/state/node_state.h"
#include "tests/lib/cluster_harness.h"

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

/*
 * While the way to bob is long, ann learns to wait for long before she says something again. What gets lost then is not
 * due when bob hears her again, but rides along with what she says: as much as a step of his works on.
 */
static void rides_along(void)
{
    enum { FEW = 8, BATCHES = 64 };
    char key[32];
    world_init_steps(1024, FEW);
    world.link[ANN][BOB].delay_ns = world.link[BOB][ANN].delay_ns = 4000 * MS;
    world_start_all();
    world_run(20000);
    OK(world_ask(ANN, "alice", 0, 1).allowed, "the first of ann's spends is acknowledged late");
    world_run(20000);
    OK_U64(world_stats(ANN).log_keys, 0, "but at last");
    world.link[ANN][BOB].delay_ns = world.link[BOB][ANN].delay_ns = 10 * MS;
    world_link(ANN, BOB, LINK_CUT);
    for (unsigned i = 0; i < BATCHES; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        (void)world_ask(ANN, key, 0, 1);
        world_run(100);
    }
    OK_U64(world_stats(ANN).log_keys, BATCHES, "then %d get lost, one in each interval", BATCHES);
    world_link(ANN, BOB, LINK_FINE);
    unsigned waited_ms = 0;
    for (; world_stats(ANN).log_keys > 0 && waited_ms < 10000; waited_ms += 10)
        world_run(10);
    OK(waited_ms <= (BATCHES / FEW + 2) * 100, "bob has all %u ms after he hears her again, %d an interval",
       waited_ms, FEW);
    world_close();
}

/* Bob is ann's only peer. */
static uint64_t gap_ms(uint64_t round_trip_ms)
{
    struct node *node = world.host[ANN].node;
    for (uint32_t i = 0; i < node->member_end; i++)
        node->member[i].round_trip_ns = round_trip_ms * MS;
    publish_set_gaps(node);
    return node->publishing.gap_ns / MS;
}

static void paced(void)
{
    world_init_steps(1024, 2048);
    world_start_all();
    world_run(1000);
    skip_text();
    OK_U64(gap_ms(0), 3, "answers wait for each other for a thirty-second of an interval");
    OK_U64(gap_ms(8), 3, "also if the nearest peer is near");
    OK_U64(gap_ms(80), 20, "and if it is far, for a quarter of the round trip");
    OK_U64(gap_ms(400), 50, "but for half an interval at most");
    OK_U64(world.host[ANN].node->publishing.gap_least_ns / MS, 3, "and where rights are asked for, as if it were near");
    world_link(BOB, ANN, LINK_CUT);
    world_run(5000);
    OK_U64(gap_ms(400), 3, "a peer that is silent is not waited for");
    world_close();
}

int main(void)
{
    unanswered();
    rides_along();
    paced();
    return tap_done();
}
