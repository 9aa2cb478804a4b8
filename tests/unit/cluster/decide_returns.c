/* Tokens that are given back, where they were spent and where the return is heard: of buckets, windows and logs. */
#include "tests/lib/cluster_harness.h"
#include "tests/lib/key_shown.h"

/* Shares are 1/2 (ann) and 1/2 (bob); a sixteenth of each is held back of a full bucket; links take 10 ms. */

static const struct limit_terms slow = {.capacity = 160, .rate = 1, .period_ns = 3600000 * MS};
static const struct limit_terms cell = {.kind = LIMIT_CELL, .capacity = 160};
static const struct limit_terms leases = {.kind = LIMIT_LOG, .capacity = 160, .period_ns = 60000 * MS};

static bool ask(unsigned i, const struct charge *charges, size_t count)
{
    struct verdict verdicts[CHARGES_MAX];
    return node_check(world.host[i].node, charges, count, true, world.now_ns, verdicts);
}

static void returns(const struct limit_terms *terms, const char *name)
{
    world_of(2);
    struct charge charge = charge_at(ANN, "alice", terms, 40);
    OK(ask(ANN, &charge, 1), "%s: ann takes 40", name);
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 10, world.now_ns), 10, "and gives 10 back at once");
    tell("before anybody hears of it:");
    key_show("alice", terms);
    world_run(500);
    tell("everybody knows:");
    key_show("alice", terms);
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 20, world.now_ns), 20, "20 more, of what is settled");
    key_show("alice", terms);
    world_run(500);
    tell("everybody knows:");
    key_show("alice", terms);
    OK_U64(node_return(world.host[BOB].node, &charge, 1, 5, world.now_ns), 0, "bob cannot give back what ann took");
    world_run(500);
    key_show("alice", terms);
    uint64_t given = node_return(world.host[ANN].node, &charge, 1, 40, world.now_ns);
    OK(given == 10 || given == 9, "no more than is taken: 10, or less by what was refilled");
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 40, world.now_ns), 0, "and only once");
    EXPECT("what was returned is told", "before anybody hears of it:\n"
                                        "ann: alice has 130, 30 not known everywhere\n"
                                        "bob: alice has 160, 0 not known everywhere\n"
                                        "everybody knows:\n"
                                        "ann: alice has 130, 0 not known everywhere\n"
                                        "bob: alice has 130, 0 not known everywhere\n"
                                        "ann: alice has 150, 0 not known everywhere\n"
                                        "bob: alice has 130, 0 not known everywhere\n"
                                        "everybody knows:\n"
                                        "ann: alice has 150, 0 not known everywhere\n"
                                        "bob: alice has 150, 0 not known everywhere\n"
                                        "ann: alice has 150, 0 not known everywhere\n"
                                        "bob: alice has 150, 0 not known everywhere\n");
    world_close();
}

static void a_return_on_its_way(void)
{
    world_of(2);
    struct charge charge = charge_at(ANN, "alice", &cell, 40);
    OK(ask(ANN, &charge, 1), "ann takes 40 of a window");
    world_until_published(ANN);
    (void)node_return(world.host[ANN].node, &charge, 1, 40, world.now_ns);
    tell("the spend is told, the return is not:");
    key_show("alice", &cell);
    world_run(15);
    key_show("alice", &cell);
    OK(ask(ANN, &charge, 1), "it is hers to spend again");
    world_run(500);
    tell("everybody knows:");
    key_show("alice", &cell);
    EXPECT("a return that pays off what somebody has not heard of is settled with its own batch",
           "the spend is told, the return is not:\n"
           "ann: alice has 160, 0 not known everywhere\n"
           "bob: alice has 160, 0 not known everywhere\n"
           "ann: alice has 160, 0 not known everywhere\n"
           "bob: alice has 120, 0 not known everywhere\n"
           "everybody knows:\n"
           "ann: alice has 120, 0 not known everywhere\n"
           "bob: alice has 120, 0 not known everywhere\n");
    world_close();
}

/* A return that lay about until the spend that it took off has ended must not take off another. */
static void a_return_that_comes_late(void)
{
    const struct limit_terms calls = {.kind = LIMIT_LOG, .capacity = 160, .period_ns = 2000 * MS};
    world_of(2);
    struct charge charge = charge_at(ANN, "alice", &calls, 10);
    OK(ask(ANN, &charge, 1), "ann takes 10, which count for 2 s");
    world_run(500);
    charge.cost = 7;
    OK(ask(ANN, &charge, 1), "and 7 half a second later");
    world_run(100);
    OK(key_left(BOB, "alice", &calls) == 143, "bob knows");
    world_link(ANN, BOB, LINK_HELD);
    charge.cost = 10;
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 10, world.now_ns), 10, "10 are given back");
    world_run(1500);
    world_release(ANN, BOB, false);
    world_run(20);
    OK(key_left(ANN, "alice", &calls) == 153 && key_left(BOB, "alice", &calls) == 153,
       "bob hears of it when the first 10 have ended by themselves, and keeps the 7");
    world_close();
}

static void resets(void)
{
    world_of(2);
    struct charge charge = charge_at(BOB, "alice", &slow, 40);
    (void)ask(BOB, &charge, 1);
    world_run(500);
    charge.limit = charge_at(ANN, "alice", &slow, 0).limit;
    OK_U64(node_reset_key(world.host[ANN].node, &charge, 1, world.now_ns), 0,
           "a reset where nothing was spent gives nothing back");
    world_run(500);
    OK(key_left(ANN, "alice", &slow) < 125 && key_left(BOB, "alice", &slow) < 125, "and changes nothing");
    charge.limit = charge_at(BOB, "alice", &slow, 0).limit;
    OK_U64(node_reset_key(world.host[BOB].node, &charge, 1, world.now_ns), 1, "where it was, all of one key");
    OK_U64(node_reset_key(world.host[BOB].node, &charge, 1, world.now_ns), 0,
           "a key that is full is not one of them");
    world_run(500);
    OK(key_left(ANN, "alice", &slow) >= 159 && key_left(BOB, "alice", &slow) >= 159, "everywhere");
    world_close();
}

int main(void)
{
    returns(&slow, "a bucket");
    returns(&cell, "a window");
    returns(&leases, "a log");
    a_return_on_its_way();
    a_return_that_comes_late();
    resets();
    return tap_done();
}
