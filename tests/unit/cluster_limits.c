#include "tests/unit/cluster_harness.h"

/* One token of each key "<name> 0".."<name> count-1"; how many were given. */
static unsigned spend_many(unsigned host, const char *name, unsigned count)
{
    char key[32];
    unsigned given = 0;
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "%s %u", name, i);
        given += world_ask(host, key, 0, 1).allowed;
        if (i % 256 == 255)
            world_run(2);
        world_push(host);
    }
    return given;
}

/* Of how many of those keys that host takes `left` tokens to be left, a refill of less than one aside. */
static unsigned count_left(unsigned host, const char *name, unsigned count, int64_t left)
{
    char key[32];
    unsigned equal = 0;
    for (unsigned i = 0; i < count; i++) {
        (void)snprintf(key, sizeof key, "%s %u", name, i);
        struct bucket bucket = node_bucket(world.host[host].node, key_of(key, 0), 0, world.now_ns);
        equal += (bucket.settled - bucket.unsettled) / world.limits.limit[0].units_per_token == left;
    }
    return equal;
}

static void show_log(unsigned host)
{
    struct node_stats stats = world_stats(host);
    tell("%s keeps %" PRIu64 " batches, %" PRIu64 " keys; merged so far: %s; dropped: %" PRIu64, host_names[host],
         stats.log_batches, stats.log_keys, stats.batches_compacted > 0 ? "some" : "none", stats.limit_drops);
}

static void compacted(void)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.log_keys_max = 8;
    world.host[BOB].options.log_keys_max = 8;
    world_start_all();
    world_run(1000);
    skip_text();
    world_links(BOB, LINK_CUT);
    for (int i = 0; i < 20; i++) {
        (void)world_ask(ANN, "alice", 0, 1);
        (void)world_ask(ANN, i % 2 ? "even" : "odd", 0, 1);
        world_run(100);
    }
    tell("ann has spent 20 of alice and 20 of others, two at a time:");
    show_log(ANN);
    world_links(BOB, LINK_FINE);
    world_run(1000);
    world_show("alice");
    show_log(ANN);
    tell("bob applied %" PRIu64 " tokens in %" PRIu64 " batch", world_stats(BOB).applied_tokens,
         world_stats(BOB).batches_applied);
    EXPECT("a log at its limit is merged, and who was away gets one batch for many",
           "bob: ann is silent: its share stays reserved\n"
           "ann: bob is silent: its share stays reserved\n"
           "ann has spent 20 of alice and 20 of others, two at a time:\n"
           "ann keeps 1 batches, 3 keys; merged so far: some; dropped: 0\n"
           "bob: ann is heard again\n"
           "ann: bob is heard again\n"
           "ann: alice 140.0 - 0.0, may take 52, keeps 0\n"
           "bob: alice 140.0 - 0.0, may take 52, keeps 0\n"
           "ann keeps 0 batches, 0 keys; merged so far: some; dropped: 0\n"
           "bob applied 40 tokens in 1 batch\n");
    world_close();
}

static void log_full(void)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.log_keys_max = 100;
    world_start_all();
    world_run(1000);
    skip_text();
    world_links(BOB, LINK_CUT);
    tell("of 300 keys, %u get a token", spend_many(ANN, "key", 300));
    world_run(150);
    show_log(ANN);
    world_spend(ANN, "alice", 1);
    world_links(BOB, LINK_FINE);
    world_run(1000);
    show_log(ANN);
    world_spend(ANN, "alice", 1);
    tell("bob knows of %u", count_left(BOB, "key", 300, 159));
    EXPECT("a log that cannot shrink refuses new spends until somebody hears them",
           "of 300 keys, 300 get a token\n"
           "ann keeps 1 batches, 300 keys; merged so far: none; dropped: 0\n"
           "ann: 1 of alice? no, overload\n"
           "ann keeps 0 batches, 0 keys; merged so far: none; dropped: 0\n"
           "ann: 1 of alice? yes\n"
           "bob knows of 300\n");
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
    world_start_all();
    world_run(1000);
    skip_text();
    for (unsigned i = 0; i < 2000; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        given += world_ask(ANN, key, 0, 1).allowed;
    }
    tell("%u of 2000 keys fit the open batch", given);
    world_spend(ANN, "alice", 1);
    tell("retry after %" PRIu64 " ms", world_ask(ANN, "alice", 0, 1).retry_after_ns / MS);
    world_spend(ANN, "key 0", 1);
    tell("ann %s", node_wants_step(world.host[ANN].node) ? "wants to speak" : "waits for its next batch");
    world_push(ANN);
    world_spend(ANN, "alice", 1);
    world_run(500);
    tell("bob knows of %u", count_left(BOB, "key", 2000, 159) + count_left(BOB, "key", 2000, 158));
    OK(world.host[ANN].published_bytes_max <= 65536, "messages keep their limit: %" PRIu64 " bytes",
       world.host[ANN].published_bytes_max);
    EXPECT("an open batch at its limit takes no further keys until it is closed",
           "1024 of 2000 keys fit the open batch\n"
           "ann: 1 of alice? no, overload\n"
           "retry after 100 ms\n"
           "ann: 1 of key 0? yes\n"
           "ann wants to speak\n"
           "ann: 1 of alice? yes\n"
           "bob knows of 1024\n");
    world_close();
}

static void pages(void)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.message_max_bytes = 65536;
    world.host[BOB].options.message_max_bytes = 65536;
    world.host[ANN].options.table_keys = world.host[BOB].options.table_keys = 16384;
    world_start_all();
    world_run(1000);
    unsigned anns = spend_many(ANN, "key", 9000), bobs = spend_many(BOB, "other", 1000);
    world_run(1000);
    skip_text();
    tell("ann spent of %u keys, bob of %u", anns, bobs);
    world_crash(BOB);
    world_start(BOB);
    world_run(1000);
    tell("bob knows of %u and %u", count_left(BOB, "key", 9000, 159), count_left(BOB, "other", 1000, 159));
    tell("ann was asked for %s", world_stats(ANN).snapshots_served > 4 ? "several parts" : "all at once");
    EXPECT("a snapshot larger than a message comes in parts",
           "ann spent of 9000 keys, bob of 1000\n"
           "bob crashes\n"
           "ann: bob (region bob's) has started anew\n"
           "bob: ann (region ann's) is heard for the first time\n"
           "bob: ann is active\n"
           "bob: took a snapshot from ann\n"
           "bob: bob is active: its state comes from a peer\n"
           "ann: bob is active\n"
           "bob knows of 9000 and 1000\n"
           "ann was asked for several parts\n");
    world_close();
}

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
    OK_U64(count_left(BOB, "key", 700, 159), 700, "and all are known");
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

int main(void)
{
    compacted();
    log_full();
    overload();
    pages();
    inbox();
    nonsense();
    return tap_done();
}
