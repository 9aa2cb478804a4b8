/* Who is called silent: never for a time in which the listener itself did not get to run. Silence is after 1 s. */
#include "tests/lib/cluster_harness.h"

static void stalled(void)
{
    world_of(3);
    world_stall(ANN, 900);
    world_run(900);
    world_stall(ANN, 4000);
    world_run(4000);
    tell("4.9 s later ann goes on:");
    world_run(2000);
    EXPECT("who did not run calls nobody silent; the others call it so",
           "bob: ann is silent: its share stays reserved\n"
           "cat: ann is silent: its share stays reserved\n"
           "4.9 s later ann goes on:\n"
           "bob: ann is heard again\n"
           "cat: ann is heard again\n");
    OK(world_stats(ANN).stalls >= 1 && world_stats(ANN).stalled_ms > 3000,
       "it says that it stalled: %" PRIu64 " ms", world_stats(ANN).stalled_ms);
    OK_U64(world_stats(BOB).stalls, 0, "the others did not");
    world_close();
}

/* All get to run for a moment now and then, each at another time, as on a machine that has too much to do. */
static void starved(void)
{
    world_of(3);
    for (unsigned round = 0; round < 200; round++) {
        for (unsigned i = 0; i < 3; i++)
            if (world.host[i].stalled_until_ns <= world.now_ns)
                world_stall(i, 600 + 130 * i + round % 7 * 110);
        world_run(100);
    }
    EXPECT("where nobody gets to run for long, nobody is called silent", "");
    world_close();
}

static void gone_while_stalling(void)
{
    world_of(2);
    world_crash(BOB);
    for (unsigned round = 0; round < 40 && world.text_size < 30; round++) {
        world_stall(ANN, 400);
        world_run(500);
    }
    EXPECT("who is gone is called silent in the end, however often the listener stalls",
           "bob crashes\n"
           "ann: bob is silent: its share stays reserved\n");
    world_close();
}

static void goes_and_comes(void)
{
    world_of(2);
    for (unsigned round = 0; round < 10; round++) {
        world_links(BOB, LINK_CUT);
        world_run(1500);
        world_links(BOB, LINK_FINE);
        world_run(500);
    }
    EXPECT("who goes and comes all the time has three lines", "ann: bob is silent: its share stays reserved\n"
                                                              "bob: ann is silent: its share stays reserved\n"
                                                              "bob: ann is heard again\n"
                                                              "ann: bob is heard again\n"
                                                              "ann: bob is silent: its share stays reserved\n"
                                                              "bob: ann is silent: its share stays reserved\n");
    world_run(20000);
    EXPECT("and one more when that is over", "bob: ann is heard again\n"
                                             "ann: bob is heard again\n");
    world_close();
}

/* Silence is for reports, merging and on_isolation: what may be spent does not depend on who stalls. */
static void allowance(void)
{
    world_of(3);
    unsigned before = world_drain(BOB, "alice");
    for (unsigned round = 0; round < 20; round++) {
        world_stall(ANN, 700);
        world_stall(BOB, 300);
        world_run(800);
        (void)world_ask(BOB, "carol", 0, 1);
    }
    world_links(BOB, LINK_CUT);
    unsigned given = 0;
    for (unsigned i = 0; i < 3; i++)
        given += world_drain(i, "dora");
    OK(before == 37 && given <= 160, "%u of 160 given while nobody is called silent", given);
    skip_text();
    world_close();
}

int main(void)
{
    stalled();
    starved();
    gone_while_stalling();
    goes_and_comes();
    allowance();
    return tap_done();
}
