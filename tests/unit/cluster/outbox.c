/* Own spends that nobody was told of: at a pace, oldest first, and what must not wait does not. */
#include "tests/lib/cluster_harness.h"

/* Two nodes, of which ann tells a tenth of the pace's keys in an interval, and twice as many after a rest. */
static void slow_world_of(uint64_t tell_pace, uint32_t step_keys)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.step_keys = step_keys;
    world.host[ANN].options.tell_pace = tell_pace;
    world.host[ANN].options.untold_max = 512;
    world_start_all();
    world_run(1000);
    skip_text();
}

static void slow_world(void)
{
    slow_world_of(100, 0);
}

static void spend_from(unsigned host, const char *name, unsigned first, unsigned end)
{
    char key[32];
    for (unsigned i = first; i < end; i++) {
        (void)snprintf(key, sizeof key, "%s %u", name, i);
        (void)world_ask(host, key, 0, 1);
    }
}

static void show_told(const char *when)
{
    unsigned early = world_count_left(BOB, "key", 10, 159), all = world_count_left(BOB, "key", 100, 159);
    tell("%s: %" PRIu64 " untold, bob knows %u of the first ten, %u of all", when, world_stats(ANN).open_keys,
         early, all);
}

static void paced(void)
{
    slow_world();
    world_until_published(ANN);
    spend_from(ANN, "key", 0, 18);
    world_run(150);
    show_told("fewer than the pace allows");
    world_run(1000);
    world_until_published(ANN);
    spend_from(ANN, "key", 20, 100);
    world_until_published(ANN);
    tell("of 80 more, %" PRIu64 " wait", world_stats(ANN).open_keys);
    world_until_published(ANN);
    tell("then %" PRIu64, world_stats(ANN).open_keys);
    world_until_published(ANN);
    tell("then %" PRIu64 ", the oldest for %" PRIu64 " ms", world_stats(ANN).open_keys,
         world_stats(ANN).open_oldest_ms / 50 * 50);
    world_run(1000);
    show_told("after a second");
    EXPECT("what is within the pace is told each interval; of more, the oldest first",
           "fewer than the pace allows: 0 untold, bob knows 10 of the first ten, 18 of all\n"
           "of 80 more, 60 wait\n"
           "then 50\n"
           "then 40, the oldest for 250 ms\n"
           "after a second: 0 untold, bob knows 10 of the first ten, 98 of all\n");
    world_close();
}

static void urgent(void)
{
    slow_world();
    world_until_published(ANN);
    spend_from(ANN, "key", 0, 60);
    world_until_published(ANN);
    tell("%" PRIu64 " wait", world_stats(ANN).open_keys);
    world_spend(ANN, "key 59", 40);
    world_push(ANN);
    world_run(15);
    world_show_one(BOB, "key 59");
    world_show_one(BOB, "key 58");
    tell("%" PRIu64 " wait", world_stats(ANN).open_keys);
    EXPECT("a key that uses up much of its allowance does not wait behind others",
           "40 wait\n"
           "ann: 40 of key 59? yes\n"
           "bob: key 59 119.0 - 0.0, may take 49, keeps 0\n"
           "bob: key 58 160.0 - 0.0, may take 75, keeps 0\n"
           "39 wait\n");
    world_close();
}

/* Bob settles by ann's acknowledgement only what he then knows ann's own spends of. */
static void answered(void)
{
    slow_world();
    world_until_published(ANN);
    spend_from(ANN, "key", 0, 60);
    world_until_published(ANN);
    tell("%" PRIu64 " wait", world_stats(ANN).open_keys);
    world_spend(BOB, "key 50", 3);
    world_until_published(BOB);
    world_run(25);
    world_show("key 50");
    world_show_one(BOB, "key 51");
    EXPECT("what a peer has spent from is told before that is acknowledged",
           "40 wait\n"
           "bob: 3 of key 50? yes\n"
           "ann: key 50 157.0 - 1.0, may take 72, keeps 1\n"
           "bob: key 50 156.0 - 0.0, may take 72, keeps 0\n"
           "bob: key 51 160.0 - 0.0, may take 75, keeps 0\n");
    world_close();
}

static void full(void)
{
    char key[32];
    unsigned given = 0;
    slow_world();
    world_until_published(ANN);
    for (unsigned i = 0; i < 600; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        given += world_ask(ANN, key, 0, 1).allowed;
    }
    world_spend(ANN, "alice", 1);
    tell("%u are given, %" PRIu64 " wait, ann %s", given, world_stats(ANN).open_keys,
         node_wants_step(world.host[ANN].node) ? "wants to speak" : "waits");
    world_run(1);
    world_push(ANN);
    tell("%" PRIu64 " wait", world_stats(ANN).open_keys);
    world_spend(ANN, "alice", 1);
    world_run(4300);
    tell("after four seconds, %" PRIu64 " wait", world_stats(ANN).open_keys);
    EXPECT("where the last places are taken, more is told; nothing waits for long",
           "ann: 1 of alice? no, overload\n"
           "512 are given, 512 wait, ann wants to speak\n"
           "480 wait\n"
           "ann: 1 of alice? yes\n"
           "after four seconds, 0 wait\n");
    world_close();
}

/* What is untold is found in the ring, or, where steps are so small that this takes too long, in the table. */
static void asked_for(uint64_t tell_pace, uint32_t step_keys)
{
    slow_world_of(tell_pace, step_keys);
    world_until_published(ANN);
    spend_from(ANN, "key", 0, 90);
    world_until_published(ANN);
    world_crash(BOB);
    world_start(BOB);
    for (unsigned i = 0; i < 400 && world_stats(BOB).snapshots_taken == 0; i++)
        world_run(1);
    world_run(10);
    tell("bob has asked for all that ann has; %" PRIu64 " are untold", world_stats(ANN).open_keys);
    show_told("bob came back");
    EXPECT("who gives a part of the table tells of its keys first",
           "bob crashes\n"
           "bob: ann (region ann's) is heard for the first time\n"
           "bob: ann is active\n"
           "ann: bob (region bob's) has started anew\n"
           "bob: took a snapshot from ann\n"
           "bob: bob is active: its state comes from a peer\n"
           "ann: bob is active\n"
           "bob has asked for all that ann has; 0 are untold\n"
           "bob came back: 0 untold, bob knows 10 of the first ten, 90 of all\n");
    world_close();
}

static void leaves(void)
{
    slow_world();
    world_until_published(ANN);
    spend_from(ANN, "key", 0, 90);
    world_stop(ANN);
    world_run(200);
    tell("bob knows %u", world_count_left(BOB, "key", 100, 159));
    EXPECT("who leaves tells all", "ann is asked to leave\n"
                                   "bob: ann has left\n"
                                   "ann is gone\n"
                                   "bob knows 90\n");
    world_close();
}

int main(void)
{
    paced();
    urgent();
    answered();
    full();
    asked_for(100, 0);
    asked_for(10, 5);
    leaves();
    return tap_done();
}
