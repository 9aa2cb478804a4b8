/* Whose config counts: of two, that of most members; only one at a time; and a rolling change goes through. */
#include "tests/lib/cluster_harness.h"

#define OLD UINT64_C(0xc0ffee)
#define NEW UINT64_C(0xbad)

/* Who decides, and how much of every limit each has. */
static void show_deciding(void)
{
    for (unsigned i = 0; i < world.count; i++) {
        struct node_status status;
        if (!world.host[i].node)
            continue;
        node_status(world.host[i].node, &status);
        tell("%s: config %s, %.0f%%", host_names[i], config_state_name(status.config_state),
             (double)status.share * 100 / (double)SHARE_ONE);
    }
}

/* Both configs are never used at once: at every step of anybody. */
static unsigned both_count;
static void watch(unsigned host, const struct effects *effects)
{
    bool used[2] = {false, false};
    (void)host;
    (void)effects;
    for (unsigned i = 0; i < world.count; i++)
        if (world.host[i].node)
            used[world.host[i].options.config_digest == NEW] |=
                node_peek(world.host[i].node, key_of("zoe", 0), 0, 1, world.now_ns).allowed;
    both_count += used[0] && used[1];
}

static void restart_with(unsigned i, uint64_t config)
{
    world.quiet = true;
    world_stop(i);
    world_run(500);
    world.host[i].options.config_digest = config;
    world_start(i);
    world_run(1000);
    world.quiet = false;
}

static void odd_one(void)
{
    world_init(3);
    world_name_all();
    world.host[CAT].options.config_digest = NEW;
    world.watch = watch;
    world_start_all();
    world_run(1000);
    world_spend(ANN, "alice", 1);
    world_spend(CAT, "alice", 1);
    show_deciding();
    struct node_status status;
    node_status(world.host[ANN].node, &status);
    tell("ann's status: config %s", status.config_differs ? "differs" : "is equal everywhere");
    EXPECT("who has another config than most decides nothing, and all say so once",
           "bob: ann (region ann's) is heard for the first time\n"
           "cat: ann (region ann's) is heard for the first time\n"
           "cat: config of ann differs in limits, weights or interval (its digest 0000000000c0ffee, "
           "ours 0000000000000bad): only peers of one config decide\n"
           "ann: bob (region bob's) is heard for the first time\n"
           "cat: bob (region bob's) is heard for the first time\n"
           "cat: config of bob differs in limits, weights or interval (its digest 0000000000c0ffee, "
           "ours 0000000000000bad): only peers of one config decide\n"
           "ann: cat (region cat's) is heard for the first time\n"
           "ann: config of cat differs in limits, weights or interval (its digest 0000000000000bad, "
           "ours 0000000000c0ffee): only peers of one config decide\n"
           "bob: cat (region cat's) is heard for the first time\n"
           "bob: config of cat differs in limits, weights or interval (its digest 0000000000000bad, "
           "ours 0000000000c0ffee): only peers of one config decide\n"
           "ann: ann is active: all peers are new\n"
           "bob: bob is active: all peers are new\n"
           "cat: cat decides nothing: its limits, weights or interval are not those in use (daemons "
           "with digest 0000000000c0ffee: 2; ours is 0000000000000bad)\n"
           "cat: cat is active: all peers are new\n"
           "bob: ann is active\n"
           "cat: ann is active\n"
           "ann: bob is active\n"
           "cat: bob is active\n"
           "ann: cat is active\n"
           "bob: cat is active\n"
           "ann: 1 of alice? yes\n"
           "cat: 1 of alice? no, another config\n"
           "ann: config differs, 50%\n"
           "bob: config differs, 25%\n"
           "cat: config out, 0%\n"
           "ann's status: config differs\n");
    world_run(5000);
    EXPECT("and no more than that", "");
    OK_U64(both_count, 0, "never were both in use");
    world_close();
}

static void rolling(void)
{
    world_of(3);
    world.watch = watch;
    restart_with(ANN, NEW);
    tell("ann is new:");
    show_deciding();
    restart_with(BOB, NEW);
    tell("bob as well:");
    show_deciding();
    restart_with(CAT, NEW);
    tell("and cat:");
    show_deciding();
    EXPECT("a rolling change: the old one decides until most have the new one", "ann is new:\n"
                                                                                "ann: config out, 0%\n"
                                                                                "bob: config differs, 25%\n"
                                                                                "cat: config differs, 25%\n"
                                                                                "bob as well:\n"
                                                                                "ann: config differs, 50%\n"
                                                                                "bob: config differs, 25%\n"
                                                                                "cat: config out, 0%\n"
                                                                                "and cat:\n"
                                                                                "ann: config same, 50%\n"
                                                                                "bob: config same, 25%\n"
                                                                                "cat: config same, 25%\n");
    OK_U64(both_count, 0, "never were both in use");
    world_close();
}

static void two(void)
{
    world_of(2);
    world.watch = watch;
    restart_with(BOB, NEW);
    tell("of two, bob is new:");
    show_deciding();
    restart_with(ANN, NEW);
    tell("and ann:");
    show_deciding();
    EXPECT("of two, the one that was there first decides", "of two, bob is new:\n"
                                                           "ann: config differs, 50%\n"
                                                           "bob: config out, 0%\n"
                                                           "and ann:\n"
                                                           "ann: config same, 50%\n"
                                                           "bob: config same, 50%\n");
    OK_U64(both_count, 0, "never were both in use");
    world_close();
}

/* What was heard of those who are silent now still counts; whoever hears nobody from the start cannot know. */
static void cut_off(void)
{
    world_of(3);
    restart_with(CAT, NEW);
    world_links(CAT, LINK_CUT);
    world.quiet = true;
    world_run(3000);
    world.quiet = false;
    tell("cat was heard, and is cut off:");
    show_deciding();
    world.quiet = true;
    world_crash(CAT);
    world_start(CAT);
    world_run(3000);
    world.quiet = false;
    tell("cat starts where nobody hears it:");
    show_deciding();
    world_links(CAT, LINK_FINE);
    world.quiet = true;
    world_run(500);
    world.quiet = false;
    tell("and is heard:");
    show_deciding();
    EXPECT("who hears nobody decides by its own config, until it does", "cat was heard, and is cut off:\n"
                                                                        "ann: config differs, 50%\n"
                                                                        "bob: config differs, 25%\n"
                                                                        "cat: config out, 0%\n"
                                                                        "cat starts where nobody hears it:\n"
                                                                        "ann: config differs, 50%\n"
                                                                        "bob: config differs, 25%\n"
                                                                        "cat: config unheard, 25%\n"
                                                                        "and is heard:\n"
                                                                        "ann: config differs, 50%\n"
                                                                        "bob: config differs, 25%\n"
                                                                        "cat: config out, 0%\n");
    world_close();
}

/* One of two leaves who have the config in use: the third, which is the oldest of all, has another one. */
static void restarted(void)
{
    world_init(3);
    world_name_all();
    world.watch = watch;
    world.host[CAT].options.config_digest = OLD;
    world.host[ANN].options.config_digest = world.host[BOB].options.config_digest = NEW;
    world.host[ANN].incarnation = world.host[BOB].incarnation = 10;
    world.quiet = true;
    world_start(CAT);
    world_run(1000);
    world_start(ANN);
    world_start(BOB);
    world_run(1000);
    world.quiet = false;
    show_deciding();
    world.quiet = true;
    world_stop(BOB);
    world_run(1000);
    world.quiet = false;
    show_deciding();
    world.quiet = true;
    world_start(BOB);
    world_run(1000);
    world.quiet = false;
    show_deciding();
    EXPECT("the config that is in use stays so while one of its two daemons is away",
           "ann: config differs, 50%\n"
           "bob: config differs, 25%\n"
           "cat: config out, 0%\n"
           "ann: config differs, 50%\n"
           "cat: config out, 0%\n"
           "ann: config differs, 50%\n"
           "bob: config differs, 25%\n"
           "cat: config out, 0%\n");
    OK_U64(both_count, 0, "at most one config decides");
    world_close();
}

int main(void)
{
    odd_one();
    rolling();
    two();
    cut_off();
    restarted();
    return tap_done();
}
