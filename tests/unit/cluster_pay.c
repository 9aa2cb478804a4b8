/* What refill pays off soon is told to nobody; what it might not is. */
#include "tests/cluster_harness.h"

enum { FAST = 1 }; /* 160 tokens a second: 8 within an interval at half of it */

static void take(unsigned host, const char *key, uint64_t cost)
{
    struct verdict verdict = world_ask(host, key, FAST, cost);
    if (!verdict.allowed)
        tell("%s: %" PRIu64 " of %s? %s", host_names[host], cost, key, reason_text(&verdict));
}

static void show(const char *when)
{
    struct node_stats ann = world_stats(ANN);
    struct bucket bucket = node_bucket(world.host[ANN].node, key_of("alice", FAST), FAST, world.now_ns);
    tell("%s: ann left %" PRIu64 " to refill, tells of %" PRIu64
         " keys, %.0f tokens are unsettled; bob heard of %" PRIu64,
         when, ann.waiting_spends, ann.open_keys,
         (double)bucket.unsettled / (double)world.limits.limit[FAST].units_per_token,
         world_stats(BOB).applied_tokens);
}

static void waits(void)
{
    world_of(2);
    take(ANN, "alice", 5);
    show("of five");
    world_run(500);
    show("later");
    take(ANN, "alice", 9);
    show("of nine");
    world_run(200);
    show("later");
    EXPECT("what an interval pays off is not told, what takes longer is",
           "of five: ann left 1 to refill, tells of 0 keys, 5 tokens are unsettled; bob heard of 0\n"
           "later: ann left 1 to refill, tells of 0 keys, 0 tokens are unsettled; bob heard of 0\n"
           "of nine: ann left 1 to refill, tells of 1 keys, 9 tokens are unsettled; bob heard of 0\n"
           "later: ann left 1 to refill, tells of 0 keys, 0 tokens are unsettled; bob heard of 9\n");
    world_close();
}

static void grows(void)
{
    world_of(2);
    take(ANN, "alice", 6);
    world_run(25);
    take(ANN, "alice", 3);
    show("four of six are left, and three come");
    take(ANN, "alice", 4);
    show("four more");
    world_run(200);
    show("later");
    EXPECT(
        "of what becomes too much all is told that is not paid off",
        "four of six are left, and three come: ann left 2 to refill, tells of 0 keys, 7 tokens are unsettled; bob "
        "heard of 0\n"
        "four more: ann left 2 to refill, tells of 1 keys, 11 tokens are unsettled; bob heard of 0\n"
        "later: ann left 2 to refill, tells of 0 keys, 0 tokens are unsettled; bob heard of 11\n");
    world_close();
}

static void spent_elsewhere(void)
{
    world_of(2);
    world_until_published(BOB);
    take(BOB, "alice", 20);
    world_until_published(BOB);
    take(ANN, "alice", 5);
    show("bob's are on their way");
    world_run(30);
    show("they are here");
    world_run(100);
    show("ann has told hers");
    EXPECT("what a peer has spent from as well is told to him before he is answered",
           "bob's are on their way: ann left 1 to refill, tells of 0 keys, 5 tokens are unsettled; bob heard of 0\n"
           "they are here: ann left 1 to refill, tells of 0 keys, 0 tokens are unsettled; bob heard of 5\n"
           "ann has told hers: ann left 1 to refill, tells of 0 keys, 0 tokens are unsettled; bob heard of 5\n");
    world_close();
}

/* The first batch, when it settles, leaves less than refill would have needed. */
static void settles_meanwhile(void)
{
    world_of(2);
    world_link(ANN, BOB, LINK_HELD);
    take(ANN, "alice", 12);
    world_run(170);
    take(ANN, "alice", 4);
    show("the first is on its way");
    world_link(ANN, BOB, LINK_FINE);
    world_run(200);
    show("it has settled");
    EXPECT(
        "what waits while an earlier batch of its key settles is told as well",
        "the first is on its way: ann left 1 to refill, tells of 0 keys, 4 tokens are unsettled; bob heard of 0\n"
        "it has settled: ann left 1 to refill, tells of 0 keys, 0 tokens are unsettled; bob heard of 16\n");
    world_close();
}

static void returned(void)
{
    world_of(2);
    take(ANN, "alice", 5);
    const struct charge charge = {.id = key_of("alice", FAST), .limit = FAST, .cost = 5};
    uint64_t given = node_return(world.host[ANN].node, &charge, 1, 3, world.now_ns);
    tell("%" PRIu64 " given back", given);
    show("at once");
    world_run(300);
    show("later");
    EXPECT("what is returned of it is told together with it",
           "3 given back\n"
           "at once: ann left 1 to refill, tells of 1 keys, 2 tokens are unsettled; bob heard of 0\n"
           "later: ann left 1 to refill, tells of 0 keys, 0 tokens are unsettled; bob heard of 5\n");
    world_close();
}

static void hot(void)
{
    world_of(2);
    for (unsigned i = 0; i < 100; i++) {
        take(ANN, "alice", 1);
        world_run(20);
    }
    show("fifty a second of eighty");
    for (unsigned i = 0; i < 100; i++) {
        take(ANN, "alice", 1);
        world_run(10);
    }
    tell("of a hundred a second bob heard of %s", world_stats(BOB).applied_tokens > 10 ? "some" : "none");
    EXPECT("a region that stays within its share has nothing to tell, for however long",
           "fifty a second of eighty: ann left 100 to refill, tells of 0 keys, 0 tokens are unsettled; bob heard "
           "of 0\n"
           "of a hundred a second bob heard of some\n");
    world_close();
}

static void leaves(void)
{
    world_of(2);
    take(ANN, "alice", 4);
    world_stop(ANN);
    world_run(200);
    tell("bob heard of %" PRIu64 " tokens", world_stats(BOB).applied_tokens);
    EXPECT("who leaves tells all", "ann is asked to leave\n"
                                   "bob: ann has left\n"
                                   "ann is gone\n"
                                   "bob heard of 4 tokens\n");
    world_close();
}

/* A thousand keys wait, and a peer has spent from all of them: more than there is room for. */
static void crowded(void)
{
    char key[32];
    world_init(2);
    world_name_all();
    world.host[ANN].options.untold_max = 256;
    world_start_all();
    world_run(1000);
    skip_text();
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        take(BOB, key, 9);
    }
    world_until_published(BOB);
    for (unsigned i = 0; i < 1000; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        take(ANN, key, 2);
    }
    uint64_t waited = world_stats(ANN).waiting_spends;
    world_run(500);
    tell("%" PRIu64 " waited, bob heard of %" PRIu64 " tokens, %" PRIu64 " are untold", waited,
         world_stats(BOB).applied_tokens, world_stats(ANN).open_keys);
    EXPECT("what has to be told is told, room or not", "1000 waited, bob heard of 2000 tokens, 0 are untold\n");
    world_close();
}

int main(void)
{
    waits();
    grows();
    spent_elsewhere();
    settles_meanwhile();
    returned();
    hot();
    leaves();
    crowded();
    return tap_done();
}
