/* Whose clock is called fast, slow or jumped, by whom, and whose time is held. Each host has a clock of its own. */
#include "base/held_clock.h"
#include "tests/lib/cluster_harness.h"

#include <string.h>

static struct {
    int32_t ppm; /* how much faster than true time the clock runs */
    int64_t ahead_ns;
    int64_t wall_ahead_ms; /* of the wall clock, which runs as true time does */
} clocks[WORLD_HOSTS_MAX];

static uint64_t raw_ns(unsigned i)
{
    const int64_t now_ns = (int64_t)world.now_ns;
    return (uint64_t)((int64_t)(5000 * MS * (i + 1)) + clocks[i].ahead_ns + now_ns +
                      now_ns / 1000000 * clocks[i].ppm);
}

/* Its clock runs so fast from now on; it does not jump. */
static void runs(unsigned i, int32_t ppm)
{
    clocks[i].ahead_ns += (int64_t)(world.now_ns / 1000000) * (clocks[i].ppm - ppm);
    clocks[i].ppm = ppm;
}

static void step_with_clock(unsigned i, const struct event *event)
{
    struct event copy = *event;
    copy.clock_ns = raw_ns(i);
    copy.wall_ms = (uint64_t)((int64_t)(1700000000000 + world.now_ns / MS) + clocks[i].wall_ahead_ms);
    node_step(world.host[i].node, &copy, &world.effects);
}

static void world_with_clocks(unsigned count)
{
    memset(clocks, 0, sizeof clocks);
    world_init(count);
    world_name_all();
    world.step = step_with_clock;
    world_start_all();
    world_run(1000);
    skip_text();
}

static struct peer_report peer_of(unsigned host, unsigned peer)
{
    struct peer_report reports[NODE_PEERS_MAX];
    size_t count = node_peers(world.host[host].node, world.now_ns, reports);
    for (size_t i = 0; i < count; i++)
        if (strcmp(reports[i].name, host_names[peer]) == 0)
            return reports[i];
    return (struct peer_report){0};
}

static uint32_t held_ppm(unsigned i)
{
    return node_held_ppm(world.host[i].node);
}

static void agree(void)
{
    world_with_clocks(3);
    clocks[BOB].wall_ahead_ms = 3000;
    runs(BOB, 4000);
    world_run(60000);
    EXPECT("a clock that is 0.4% fast is named by nobody", "");
    OK(peer_of(ANN, BOB).clock == CLOCK_GOOD && peer_of(ANN, BOB).clock_ppm > 3900 &&
           peer_of(ANN, BOB).clock_ppm < 4100,
       "but its rate is known: %d ppm", (int)peer_of(ANN, BOB).clock_ppm);
    OK(peer_of(ANN, BOB).wall_known && peer_of(ANN, BOB).wall_ahead_ms > 2800 &&
           peer_of(ANN, BOB).wall_ahead_ms < 3200,
       "so is how far its wall clock is ahead: %" PRId64 " ms", peer_of(ANN, BOB).wall_ahead_ms);
    OK_U64(held_ppm(BOB), 0, "its time is not held");
    world_close();
}

/* Windows begin and end by the wall clock, so that an operator has to hear of one that is wrong. */
static void walls(void)
{
    world_with_clocks(3);
    clocks[BOB].wall_ahead_ms = 3600000;
    clocks[CAT].wall_ahead_ms = -4000;
    world_run(10000);
    EXPECT("a wall clock that is far from others is named",
           "ann: the wall clock of bob is 3600.0 s ahead of that of this daemon: windows and quotas go by them\n"
           "bob: the wall clock of ann is 3600.0 s behind that of this daemon: windows and quotas go by them\n"
           "bob: the wall clock of cat is 3604.0 s behind that of this daemon: windows and quotas go by them\n"
           "cat: the wall clock of bob is 3604.0 s ahead of that of this daemon: windows and quotas go by them\n");
    world_run(60000);
    EXPECT("once", "");
    clocks[BOB].wall_ahead_ms = 3000;
    world_run(10000);
    EXPECT("also when it comes nearer", "");
    clocks[BOB].wall_ahead_ms = -2000;
    world_run(10000);
    EXPECT("until it is near", "ann: the wall clocks of bob and of this daemon agree again\n"
                               "bob: the wall clocks of ann and of this daemon agree again\n"
                               "bob: the wall clocks of cat and of this daemon agree again\n"
                               "cat: the wall clocks of bob and of this daemon agree again\n");
    clocks[BOB].wall_ahead_ms = 9000;
    world_run(1500);
    clocks[BOB].wall_ahead_ms = 0;
    world_run(10000);
    EXPECT("nothing is said of what is over at once", "");
    world_close();
}

static void fast(void)
{
    world_with_clocks(3);
    runs(BOB, 100000);
    world_run(20000);
    EXPECT("nobody is named before clocks are measured", "");
    world_run(20000);
    EXPECT("a clock that is 10% fast is named by all, once",
           "ann: the clock of bob runs 10.0% fast against the median of all\n"
           "bob: the clock of this daemon runs 10.0% fast against the median of all, to which its time is slowed\n"
           "cat: the clock of bob runs 10.0% fast against the median of all\n");
    OK(held_ppm(BOB) > 90800 && held_ppm(BOB) < 91000, "its time is slowed by 1 / 11: %" PRIu32 " ppm",
       held_ppm(BOB));
    OK_U64(world_stats(BOB).clock_held_ppm, held_ppm(BOB), "which its figures say");
    OK(held_ppm(ANN) == 0 && held_ppm(CAT) == 0, "no other time is held");
    OK(peer_of(ANN, BOB).clock == CLOCK_FAST && peer_of(BOB, BOB).clock == CLOCK_FAST &&
           peer_of(BOB, ANN).clock == CLOCK_GOOD,
       "reports say whose clock is fast");
    OK(peer_of(BOB, BOB).clock_ppm > 99000 && peer_of(BOB, ANN).clock_ppm < 1000 &&
           peer_of(BOB, ANN).clock_ppm > -1000,
       "to bob he is the fast one, and not ann the slow one");
    world_links(BOB, LINK_CUT);
    world_run(60000);
    skip_text();
    OK(held_ppm(BOB) > 90800, "whoever is cut off is held as before");
    world_links(BOB, LINK_FINE);
    world_run(10000);
    skip_text();
    runs(BOB, 0);
    world_run(120000);
    EXPECT("and is named once more when it is repaired",
           "bob: the clock of this daemon runs as the others do again\n"
           "ann: the clock of bob runs as the others do again\n"
           "cat: the clock of bob runs as the others do again\n");
    OK_U64(held_ppm(BOB), 0, "then its time runs freely");
    world_close();
}

static void slow(void)
{
    world_with_clocks(3);
    runs(CAT, -30000);
    world_run(60000);
    EXPECT("a clock that is 3% slow is named, and not held",
           "ann: the clock of cat runs 3.0% slow against the median of all\n"
           "bob: the clock of cat runs 3.0% slow against the median of all\n"
           "cat: the clock of this daemon runs 3.0% slow against the median of all, and its limits refill as "
           "slowly\n");
    OK(peer_of(ANN, CAT).clock == CLOCK_SLOW && peer_of(CAT, CAT).clock == CLOCK_SLOW, "reports say so");
    OK(held_ppm(ANN) + held_ppm(BOB) + held_ppm(CAT) == 0, "nobody's time is held");
    world_close();
}

static void two(void)
{
    world_with_clocks(2);
    runs(BOB, 50000);
    world_run(60000);
    EXPECT("of two the faster one is off",
           "ann: the clock of bob runs 5.0% fast against the median of all\n"
           "bob: the clock of this daemon runs 5.0% fast against the median of all, to which its time is slowed\n");
    OK(held_ppm(BOB) > 47000 && held_ppm(ANN) == 0, "and is held");
    runs(BOB, 400000);
    world_run(60000);
    skip_text();
    OK_U64(held_ppm(BOB), HELD_CLOCK_PPM_MAX, "no time is slowed by more than a quarter");
    world_close();
}

static void jumped(void)
{
    world_with_clocks(3);
    world_run(10000);
    clocks[BOB].ahead_ns = 5000 * (int64_t)MS;
    world_run(5000);
    EXPECT("others name the clock that has jumped; its daemon says that it is its own",
           "ann: the clock of bob has jumped 5.0 s ahead\n"
           "cat: the clock of bob has jumped 5.0 s ahead\n"
           "bob: the clock of this daemon has jumped 5.0 s ahead\n");
    OK_U64(world_stats(ANN).clock_jumps, 1, "one jump was seen");
    clocks[BOB].ahead_ns = 9000 * (int64_t)MS;
    world_run(5000);
    EXPECT("a clock that jumps all the time has a line a minute", "");
    OK_U64(world_stats(ANN).clock_jumps, 2, "but all its jumps count");
    OK(peer_of(ANN, BOB).clock_jumps == 2 && peer_of(ANN, CAT).clock_jumps == 0 &&
           peer_of(BOB, BOB).clock_jumps == 2 && peer_of(ANN, BOB).clock == CLOCK_UNMEASURED,
       "as jumps of bob, whose clock is measured anew");
    world_run(60000);
    clocks[ANN].ahead_ns = -30000 * (int64_t)MS;
    world_run(40000);
    skip_text();
    OK(world_stats(BOB).clock_jumps >= 3, "a clock that falls back is seen as well");
    world_close();
}

/* A start has a clock of its own: another machine, or another boot. */
static void started_anew(void)
{
    world_with_clocks(2);
    world_run(10000);
    world_crash(BOB);
    clocks[BOB].ahead_ns = -4000 * (int64_t)MS;
    world_run(1000);
    world_start(BOB);
    world_run(10000);
    skip_text();
    OK_U64(peer_of(ANN, BOB).clock_jumps + world_stats(ANN).clock_jumps, 0,
           "a daemon that starts anew with another clock has not jumped");
    world_close();
}

int main(void)
{
    agree();
    walls();
    fast();
    slow();
    two();
    jumped();
    started_anew();
    return tap_done();
}
