#include "cluster/log/origins.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "tests/lib/cluster_impostor.h"

#include <string.h>

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
    tell("bob applied %" PRIu64 " tokens in %" PRIu64 " batches", world_stats(BOB).applied_tokens,
         world_stats(BOB).batches_applied);
    EXPECT("a log at its limit is merged, and who was away gets few batches for many",
           "ann: bob is silent: its share stays reserved\n"
           "bob: ann is silent: its share stays reserved\n"
           "ann has spent 20 of alice and 20 of others, two at a time:\n"
           "ann keeps 1 batches, 3 keys; merged so far: some; dropped: 0\n"
           "bob: ann is heard again\n"
           "ann: bob is heard again\n"
           "ann: alice 140.0 - 0.0, may take 62, keeps 0\n"
           "bob: alice 140.0 - 0.0, may take 62, keeps 0\n"
           "ann keeps 0 batches, 0 keys; merged so far: some; dropped: 0\n"
           "bob applied 40 tokens in 1 batches\n");
    world_close();
}

static void compacted_while_heard(void)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.log_keys_max = 8;
    world_start_all();
    world_run(1000);
    skip_text();
    world_link(BOB, ANN, LINK_CUT);
    for (int i = 0; i < 40; i++) {
        (void)world_ask(ANN, "alice", 0, 1);
        (void)world_ask(ANN, i % 2 ? "even" : "odd", 0, 1);
        world_run(100);
    }
    show_log(ANN);
    world_show("alice");
    world_link(BOB, ANN, LINK_FINE);
    world_run(1000);
    world_show("alice");
    EXPECT("who hears but is not heard charges nothing twice when what it has is merged",
           "ann: bob is silent: its share stays reserved\n"
           "ann keeps 3 batches, 7 keys; merged so far: some; dropped: 0\n"
           "ann: alice 160.0 - 40.0, may take 35, keeps 3\n"
           "bob: alice 120.0 - 0.0, may take 50, keeps 0\n"
           "ann: bob is heard again\n"
           "ann: alice 120.0 - 0.0, may take 50, keeps 0\n"
           "bob: alice 120.0 - 0.0, may take 50, keeps 0\n");
    world_close();
}

/* Tokens of a key of limit 2 that the host takes to be left, rounded down. */
static int64_t left_of(unsigned host, const char *key)
{
    struct bucket bucket = node_bucket(world.host[host].node, key_of(key, 2), 2, world.now_ns);
    return (bucket.settled - bucket.unsettled) / world.limits.limit[2].units_per_token;
}

/*
 * Bob hears ann, who does not hear him, and keeps what she told for cat, who is away. Then he does not hear the last of
 * it. She merges all: of that, he charges what he has not heard, however much it is together.
 */
static void compacted_beyond_capacity(uint64_t bursts, uint64_t log_keys_max)
{
    world_init(3);
    bool valid = limits_add(&world.limits, "steady", 160, 2, 1000 * MS, 0);
    assert(valid);
    world_name_all();
    world.host[ANN].options.log_keys_max = 8;
    world.host[BOB].options.log_keys_max = log_keys_max;
    world_start_all();
    world_run(1000);
    world_links(CAT, LINK_CUT);
    world_link(BOB, ANN, LINK_CUT);
    uint64_t given = 0;
    for (uint64_t i = 0; i < bursts; i++) {
        given += world_ask(ANN, "alice", 2, 30).allowed ? 30 : 0;
        world_run(40000);
    }
    world_link(ANN, BOB, LINK_CUT);
    given += world_ask(ANN, "alice", 2, 50).allowed ? 50 : 0;
    given += world_spend_many(ANN, "other", 12);
    OK_U64(given, bursts * 30 + 50 + 12, "ann gets all that she asks for");
    world_run(500);
    OK(world_stats(ANN).log_batches == 1 && left_of(BOB, "alice") == 160,
       "bob has not heard of 50, she merges all");
    world_link_both(ANN, BOB, LINK_FINE);
    world_run(1000);
    int64_t difference = left_of(BOB, "alice") - left_of(ANN, "alice");
    OK(difference >= -1 && difference <= 1, "he charges these 50: he has %d left, she %d",
       (int)left_of(BOB, "alice"), (int)left_of(ANN, "alice"));
    OK_U64(world_stats(BOB).snapshots_taken, 0, "without a snapshot");
    world_close();
}

/* The same of "alice" under limit 0, rounded to the nearest. */
static uint64_t slow_left_of(unsigned host)
{
    struct bucket bucket = node_bucket(world.host[host].node, key_of("alice", 0), 0, world.now_ns);
    int64_t token = world.limits.limit[0].units_per_token;
    return (uint64_t)((bucket.settled - bucket.unsettled + token / 2) / token);
}

static void bob_tells(uint64_t number, uint64_t tokens)
{
    impostor_begin(MESSAGE_GOSSIP, number, 0);
    impostor_say(impostor_batch(number, number, key_of("alice", 0), 0, tokens));
}

/*
 * Ann keeps for cat, who is away, what bob has told, but for two batches that she knows by a snapshot. None that she
 * merges may stand for those as well: cat would take them for told.
 */
static void compacted_around_a_snapshot(void)
{
    const struct spend used = {.id = key_of("alice", 0), .tokens = 30 * 3600 * 1000 * MS};
    world_init(3);
    world_name_all();
    world.host[ANN].options.log_keys_max = 2;
    world_start(ANN);
    world_start(CAT);
    world_run(2500);
    world_links(CAT, LINK_CUT);
    world_run(1000);
    bob_tells(1, 10);
    impostor_begin(MESSAGE_GOSSIP, 3, 0);
    impostor.floor = 4; /* two and three are not kept any more */
    impostor_say(NULL);
    world_run(100);
    impostor_begin(MESSAGE_REPLY, 3, 0);
    impostor_reply(0, 0, false, &used, 1);
    OK_U64(world_stats(ANN).snapshots_taken, 1, "bob spends 10, and then 20 that ann knows by a snapshot");
    bob_tells(4, 2);
    bob_tells(5, 3);
    world_run(300);
    OK_U64(slow_left_of(ANN), 125, "then she hears of 2 and 3 more");
    OK(world_stats(ANN).batches_compacted > 0, "and merges what she keeps of that");
    world_links(CAT, LINK_FINE);
    world_run(5000);
    OK_U64(slow_left_of(CAT), 125, "cat comes to know of all, be it by a snapshot");
    skip_text();
    world_close();
}

/* Ann keeps for cat what bob told, and knows seven more batches of his by a snapshot. Then her log has no room. */
static void dropped_before_a_snapshot(void)
{
    world_of(3);
    world_links(CAT, LINK_CUT);
    world_spend(BOB, "alice", 1);
    world_run(300);
    skip_text();
    struct node *node = world.host[ANN].node;
    struct origin *origin = node->origin;
    while (strcmp(node->member[origin->member].name, "bob") != 0 || list_empty(&origin->log))
        origin++;
    origin->applied += 7;
    origin->dropped = origin->applied;
    origin_log_drop(node, origin, LIST_OWNER(origin->log.next, struct batch, link));
    OK_U64(origin->dropped, origin->applied,
           "a log that drops old batches still lacks the newer ones of a snapshot");
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
    tell("of 300 keys, %u get a token", world_spend_many(ANN, "key", 300));
    world_run(150);
    show_log(ANN);
    world_spend(ANN, "alice", 1);
    world_links(BOB, LINK_FINE);
    world_run(1000);
    show_log(ANN);
    world_spend(ANN, "alice", 1);
    tell("bob knows of %u", world_count_left(BOB, "key", 300, 159));
    EXPECT("a log that cannot shrink refuses new spends until somebody hears them",
           "of 300 keys, 300 get a token\n"
           "ann keeps 1 batches, 300 keys; merged so far: none; dropped: 0\n"
           "ann: 1 of alice? no, overload\n"
           "ann keeps 0 batches, 0 keys; merged so far: none; dropped: 0\n"
           "ann: 1 of alice? yes\n"
           "bob knows of 300\n");
    world_close();
}

int main(void)
{
    compacted();
    compacted_while_heard();
    for (uint64_t log_keys_max = 8; log_keys_max <= 800; log_keys_max *= 100) {
        compacted_beyond_capacity(5, log_keys_max);
        compacted_beyond_capacity(12, log_keys_max);
    }
    compacted_around_a_snapshot();
    dropped_before_a_snapshot();
    log_full();
    return tap_done();
}
