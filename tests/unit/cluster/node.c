#include "tests/lib/cluster_harness.h"

/* Shares are 1/2 (ann), 1/4 (bob) and 1/4 (cat); of a full bucket 1/16 of each is held back; links take 10 ms. */

static void new_nodes(void)
{
    world_init(3);
    world_name_all();
    world_start_all();
    tell("at once:");
    world_show_peers();
    world_spend(ANN, "alice", 1);
    world_run(1000);
    tell("a second later:");
    world_show_peers();
    world_spend(ANN, "alice", 1);
    EXPECT("three new nodes become active", "at once:\n"
                                            "ann sees itself joining 0.0%, bob joining 25.0%, cat joining 25.0%\n"
                                            "bob sees itself joining 0.0%, ann joining 50.0%, cat joining 25.0%\n"
                                            "cat sees itself joining 0.0%, ann joining 50.0%, bob joining 25.0%\n"
                                            "ann: 1 of alice? no, joining\n"
                                            "bob: ann (region ann's) is heard for the first time\n"
                                            "cat: ann (region ann's) is heard for the first time\n"
                                            "ann: bob (region bob's) is heard for the first time\n"
                                            "cat: bob (region bob's) is heard for the first time\n"
                                            "ann: cat (region cat's) is heard for the first time\n"
                                            "bob: cat (region cat's) is heard for the first time\n"
                                            "ann: ann is active: all peers are new\n"
                                            "bob: bob is active: all peers are new\n"
                                            "cat: cat is active: all peers are new\n"
                                            "bob: ann is active\n"
                                            "cat: ann is active\n"
                                            "ann: bob is active\n"
                                            "cat: bob is active\n"
                                            "ann: cat is active\n"
                                            "bob: cat is active\n"
                                            "a second later:\n"
                                            "ann sees itself active 50.0%, bob active 25.0%, cat active 25.0%\n"
                                            "bob sees itself active 25.0%, ann active 50.0%, cat active 25.0%\n"
                                            "cat sees itself active 25.0%, ann active 50.0%, bob active 25.0%\n"
                                            "ann: 1 of alice? yes\n");
    world_close();
}

static void a_spend(void)
{
    world_of(3);
    world_spend(ANN, "alice", 3);
    world_show("alice");
    world_until_published(ANN);
    tell("said:");
    world_show("alice");
    world_run(10);
    tell("heard:");
    world_show("alice");
    world_run(100);
    tell("acknowledged:");
    world_show("alice");
    EXPECT("a spend travels, is acknowledged, settles and is forgotten from all logs",
           "ann: 3 of alice? yes\n"
           "ann: alice 160.0 - 3.0, may take 72, keeps 0\n"
           "bob: alice 160.0 - 0.0, may take 37, keeps 0\n"
           "cat: alice 160.0 - 0.0, may take 37, keeps 0\n"
           "said:\n"
           "ann: alice 160.0 - 3.0, may take 72, keeps 1\n"
           "bob: alice 160.0 - 0.0, may take 37, keeps 0\n"
           "cat: alice 160.0 - 0.0, may take 37, keeps 0\n"
           "heard:\n"
           "ann: alice 160.0 - 3.0, may take 72, keeps 1\n"
           "bob: alice 157.0 - 0.0, may take 36, keeps 1\n"
           "cat: alice 157.0 - 0.0, may take 36, keeps 1\n"
           "acknowledged:\n"
           "ann: alice 157.0 - 0.0, may take 73, keeps 0\n"
           "bob: alice 157.0 - 0.0, may take 36, keeps 0\n"
           "cat: alice 157.0 - 0.0, may take 36, keeps 0\n");
    world_close();
}

static void shares(void)
{
    world_of(3);
    for (int round = 0; round < 2; round++) {
        world_drain(ANN, "alice");
        world_drain(BOB, "alice");
        world_drain(CAT, "alice");
        world_show("alice");
        world_run(250);
        tell("settled:");
        world_show("alice");
    }
    EXPECT("nobody takes more than its share of what is left", "ann: takes 75 of alice, all it may\n"
                                                               "bob: takes 37 of alice, all it may\n"
                                                               "cat: takes 37 of alice, all it may\n"
                                                               "ann: alice 160.0 - 75.0, may take 0, keeps 0\n"
                                                               "bob: alice 160.0 - 37.0, may take 0, keeps 0\n"
                                                               "cat: alice 160.0 - 37.0, may take 0, keeps 0\n"
                                                               "settled:\n"
                                                               "ann: alice 11.0 - 0.0, may take 2, keeps 0\n"
                                                               "bob: alice 11.0 - 0.0, may take 1, keeps 0\n"
                                                               "cat: alice 11.0 - 0.0, may take 1, keeps 0\n"
                                                               "ann: takes 2 of alice, all it may\n"
                                                               "bob: takes 1 of alice, all it may\n"
                                                               "cat: takes 1 of alice, all it may\n"
                                                               "ann: alice 11.0 - 2.0, may take 0, keeps 0\n"
                                                               "bob: alice 11.0 - 1.0, may take 0, keeps 0\n"
                                                               "cat: alice 11.0 - 1.0, may take 0, keeps 0\n"
                                                               "settled:\n"
                                                               "ann: alice 7.0 - 0.0, may take 1, keeps 0\n"
                                                               "bob: alice 7.0 - 0.0, may take 0, keeps 0\n"
                                                               "cat: alice 7.0 - 0.0, may take 0, keeps 0\n");
    world_close();
}

static void answers(void)
{
    world_of(3);
    world_spend(ANN, "alice", 0);
    world_spend(ANN, "alice", 161);
    world_spend(ANN, "alice", 61);
    world_spend(ANN, "alice", 60);
    world_spend(ANN, "alice", 1);
    world_spend(BOB, "alice", 30);
    world_spend(CAT, "alice", 30);
    world_run(250);
    tell("settled:");
    world_spend(ANN, "alice", 50);
    world_spend(ANN, "alice", 16);
    world_spend(ANN, "alice", 15);
    EXPECT("a refusal has a reason", "ann: 0 of alice? yes\n"
                                     "ann: 161 of alice? never\n"
                                     "ann: 61 of alice? yes\n"
                                     "ann: 60 of alice? no, not our share\n"
                                     "ann: 1 of alice? yes\n"
                                     "bob: 30 of alice? yes\n"
                                     "cat: 30 of alice? yes\n"
                                     "settled:\n"
                                     "ann: 50 of alice? no, nothing is left\n"
                                     "ann: 16 of alice? no, not our share\n"
                                     "ann: 15 of alice? no, not our share\n");
    world_close();
}

static void answers_while_silent(void)
{
    world_of(3);
    world_spend(ANN, "alice", 61);
    world_crash(BOB);
    world_run(2000);
    skip_text();
    world_spend(ANN, "alice", 60);
    world_spend(ANN, "alice", 161);
    EXPECT("while a peer is silent as well", "ann: 60 of alice? no, somebody is silent\n"
                                             "ann: 161 of alice? never\n");
    world_close();
}

/* Nobody else spends: what retry_after promised must come true. Returns how many ms earlier it did. */
static uint64_t ask_when_told(const char *what)
{
    struct verdict verdict = world_ask(ANN, "alice", 1, 20);
    uint64_t promised_ms = (verdict.retry_after_ns + MS - 1) / MS, waited_ms = 0;
    assert(!verdict.allowed && verdict.retry_after_ns != UINT64_MAX);
    world_push(ANN);
    for (; !world_ask(ANN, "alice", 1, 20).allowed && waited_ms <= promised_ms; waited_ms++)
        world_run(1);
    OK(waited_ms <= promised_ms, "%s: told to wait %" PRIu64 " ms, waits %" PRIu64, what, promised_ms, waited_ms);
    return promised_ms - waited_ms;
}

static void retry_after(void)
{
    world_of(3);
    (void)world_ask(BOB, "alice", 1, 30);
    (void)world_ask(CAT, "alice", 1, 30);
    world_run(150);
    (void)world_ask(ANN, "alice", 1, 40);
    (void)ask_when_told("what was spent will settle");
    world_close();

    world_of(3);
    world_links(CAT, LINK_CUT);
    world_run(2000);
    (void)world_ask(BOB, "alice", 1, 30);
    world_run(150);
    while (world_ask(ANN, "alice", 1, 1).allowed)
        continue;
    uint64_t early_ms = ask_when_told("a peer is silent, so only the refill helps");
    OK(early_ms <= 1, "and not a moment before");
    world_close();
}

static void alone(void)
{
    world_init(2);
    world_name_peer(BOB, ANN);
    world_start(ANN);
    world_run(10);
    world_show_peers();
    world_drain(ANN, "alice");
    world_show("alice");
    world_spend(ANN, "carol", 100);
    tell("bob comes:");
    world_start(BOB);
    world_run(500);
    world_show_peers();
    world_show("alice");
    world_show("carol");
    world_spend(ANN, "carol", 10);
    world_spend(BOB, "carol", 10);
    world_run(250);
    world_show("carol");
    EXPECT("who is alone has the whole limit and settles at once, until somebody comes",
           "ann: ann is active: there is no other peer\n"
           "ann sees itself active 100.0%\n"
           "ann: takes 160 of alice, all it may\n"
           "ann: alice 0.0 - 0.0, may take 0, keeps 0\n"
           "ann: 100 of carol? yes\n"
           "bob comes:\n"
           "ann: bob (region bob's) is heard for the first time\n"
           "bob: ann (region ann's) is heard for the first time\n"
           "bob: ann is active\n"
           "bob: took a snapshot from ann\n"
           "bob: bob is active: its state comes from a peer\n"
           "ann: bob is active\n"
           "ann sees itself active 50.0%, bob active 50.0%\n"
           "bob sees itself active 50.0%, ann active 50.0%\n"
           "ann: alice 0.0 - 0.0, may take 0, keeps 0\n"
           "bob: alice 0.0 - 0.0, may take 0, keeps 0\n"
           "ann: carol 60.0 - 0.0, may take 15, keeps 0\n"
           "bob: carol 60.0 - 0.0, may take 15, keeps 0\n"
           "ann: 10 of carol? yes\n"
           "bob: 10 of carol? yes\n"
           "ann: carol 40.0 - 0.0, may take 10, keeps 0\n"
           "bob: carol 40.0 - 0.0, may take 10, keeps 0\n");
    world_close();
}

static void overload(void)
{
    char key[32];
    unsigned given = 0;
    world_init(2);
    world_name_all();
    world.host[ANN].options.message_max_bytes = 65536;
    world.host[BOB].options.message_max_bytes = 65536;
    world.host[ANN].options.untold_max = 800;
    world_start_all();
    world_run(1000);
    skip_text();
    for (unsigned i = 0; i < 2000; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        given += world_ask(ANN, key, 0, 1).allowed;
    }
    tell("%u of 2000 keys may be untold", given);
    world_spend(ANN, "alice", 1);
    tell("retry after %" PRIu64 " ms", world_ask(ANN, "alice", 0, 1).retry_after_ns / MS);
    world_spend(ANN, "key 0", 1);
    world_show_wish(ANN);
    world_push(ANN);
    world_spend(ANN, "alice", 1);
    world_run(500);
    tell("bob knows of %u", world_count_left(BOB, "key", 2000, 159) + world_count_left(BOB, "key", 2000, 158));
    OK(world.host[ANN].published_bytes_max <= 65536, "messages keep their limit: %" PRIu64 " bytes",
       world.host[ANN].published_bytes_max);
    EXPECT("where as many keys are untold as may be, others are refused until they are told",
           "800 of 2000 keys may be untold\n"
           "ann: 1 of alice? no, overload\n"
           "retry after 100 ms\n"
           "ann: 1 of key 0? yes\n"
           "ann wants to speak\n"
           "ann: 1 of alice? yes\n"
           "bob knows of 800\n");
    world_close();
}

static void nonsense(void)
{
    static char huge[300000];
    world_of(2);
    step(ANN, (struct event){.kind = EVENT_MESSAGE, .bytes = bytes_of("nonsense")}, BOB);
    step(ANN, (struct event){.kind = EVENT_MESSAGE, .bytes = {huge, sizeof huge}}, BOB);
    step(ANN, (struct event){.kind = EVENT_RESPONSE, .bytes = bytes_of("nonsense")}, BOB);
    step(ANN, (struct event){.kind = EVENT_RESPONSE}, BOB);
    step(ANN, (struct event){.kind = EVENT_REQUEST, .bytes = bytes_of("nonsense")}, BOB);
    tell("ann answers a request with %zu bytes", world.effects.effect[0].size);
    tell("ann counts %" PRIu64 " too large, %" PRIu64 " without a seal", world_stats(ANN).messages_invalid,
         world_stats(ANN).messages_unsealed);
    EXPECT("nonsense is counted, answered with nothing, and told at most once a minute",
           "ann: a message without this cluster's seal was dropped: either it was damaged or its sender has "
           "another secret\n"
           "ann answers a request with 0 bytes\n"
           "ann counts 1 too large, 3 without a seal\n");
    world_close();
}

/* What bob said last comes to ann over a connection of `from`. */
static void comes_from(const char *from)
{
    const struct world_packet *packet = NULL;
    for (unsigned p = 0; p < world.packet_count; p++)
        if (world.packet[p].to == ANN)
            packet = &world.packet[p];
    assert(packet && packet->kind == EVENT_MESSAGE);
    step(ANN, (struct event){.kind = EVENT_MESSAGE, .bytes = {packet->data, packet->size}, .from = from}, BOB);
}

static uint64_t before_impostors;

static void tell_impostors(void)
{
    const struct node_stats stats = world_stats(ANN);
    tell("ann heard %" PRIu64 " of bob, of others %" PRIu64 ", and of a connection that had ended %" PRIu64,
         stats.messages_received - before_impostors, stats.messages_impostor, stats.messages_orphaned);
}

static void impostors(void)
{
    world_of(2);
    world_until_published(BOB);
    before_impostors = world_stats(ANN).messages_received;
    comes_from("cyd");
    comes_from("bo,bobby");
    comes_from("");
    tell_impostors();
    comes_from("cyd,bob");
    tell_impostors();
    comes_from(NULL);
    tell_impostors();
    EXPECT("only who is named by the certificate of a connection is heard over it",
           "ann: a message in the name of bob was dropped: the certificate of its connection is for cyd\n"
           "ann heard 0 of bob, of others 2, and of a connection that had ended 1\n"
           "ann heard 1 of bob, of others 2, and of a connection that had ended 1\n"
           "ann heard 2 of bob, of others 2, and of a connection that had ended 1\n");
    world_close();
}

int main(void)
{
    new_nodes();
    a_spend();
    shares();
    answers();
    answers_while_silent();
    retry_after();
    alone();
    overload();
    nonsense();
    impostors();
    return tap_done();
}
