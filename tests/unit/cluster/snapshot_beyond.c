/*
 * Snapshots whose parts contain more than the donor's digest says: how far that may be is said and heard, and what is
 * returned up to there is not credited twice.
 */
#include "tests/lib/cluster_impostor.h"
#include "tests/lib/opened_message.h"

enum { WINDOW = 2 };

static const uint64_t window_live_ns = 3600 * 1000 * MS;

/* Ann has heard of bob, who has told 3 batches, and takes a snapshot from him. */
static struct spend world_of_a_window(void)
{
    const struct limit_terms window = {.kind = LIMIT_CELL, .capacity = 160};
    world_init(2);
    world_name_all();
    const bool added = limits_add_terms(&world.limits, "window", &window);
    assert(added && world.limits.count == WINDOW + 1);
    world_start(ANN);
    impostor_begin(MESSAGE_GOSSIP, 3, 0);
    impostor_say(NULL);
    world_run(100);
    impostor_rules(0);
    return (
        struct spend){.id = key_of("alice", WINDOW), .tokens = 5, .limit = WINDOW, .expires_ns = window_live_ns};
}

/* One part was given before bob gave back 5 of 10, the other after. Which of them has alice. */
static uint64_t two_parts(const struct spend *used)
{
    const uint64_t half = used->id.high >> 63;
    impostor_begin(MESSAGE_REPLY, 3, 0);
    impostor_reply(0, 0, true, NULL, 0);
    impostor_reply(1 - half, 1, false, NULL, 0);
    impostor_begin(MESSAGE_REPLY, 5, 0);
    impostor_reply(half, 1, false, used, 1);
    OK_U64(world_stats(ANN).snapshots_taken, 1, "a snapshot comes in two parts: of 10, 5 were given back");
    return half;
}

static void bob_returns(uint64_t first, uint64_t last, uint64_t tokens)
{
    struct batch *batch = impostor_batch(first, last, key_of("alice", WINDOW), WINDOW, 0);
    batch->spend[0].returned = tokens;
    batch->spend[0].expires_ns = window_live_ns;
    impostor_begin(MESSAGE_GOSSIP, last, 0);
    impostor_say(batch);
}

static int ann_sees(void)
{
    const struct bucket bucket = node_bucket(world.host[ANN].node, key_of("alice", WINDOW), WINDOW, world.now_ns);
    return (int)(bucket.settled / node_limit(world.host[ANN].node, WINDOW)->units_per_token);
}

/* It stands for what the second part contains, and for what it does not: how much is new, nobody can tell. */
static void merged_across_a_part(void)
{
    const struct spend used = world_of_a_window();
    (void)two_parts(&used);
    bob_returns(4, 6, 8);
    OK_U64(world_stats(ANN).batches_applied, 1, "then a batch that stands for more than the second contains, of 8");
    OK(ann_sees() <= 158, "the 5 do not come back twice: of 160, %d are left, really 158", ann_sees());
    world_close();
}

static uint64_t said_beyond;

static void note_beyond(unsigned host, const struct effects *effects)
{
    static struct message opened;
    for (size_t e = 0; e < effects->effect_count && host == ANN; e++) {
        struct bytes bytes = effect_bytes(effects, &effects->effect[e]);
        if (effects->effect[e].kind != EFFECT_REPLY || !message_unseal(&bytes, &world.host[ANN].options.hash_key) ||
            !message_open(&opened, bytes))
            continue;
        for (uint32_t o = 0; o < opened.origin_count; o++)
            if (bytes_equal(opened.members[opened.origins[o].member].name, bytes_of("bob")))
                said_beyond = opened.page_beyond[o];
        message_close(&opened);
    }
}

/* Whoever asks ann before she has heard of the rest is told how far a part may be beyond her digest, */
static void beyond_is_said(void)
{
    const struct spend used = world_of_a_window();
    uint64_t half = two_parts(&used);
    world.watch = note_beyond;
    impostor_begin(MESSAGE_REQUEST, 5, 0);
    impostor_request(half, 1);
    OK_U64(said_beyond, 5, "of a part that has more than ann's digest says, it is said how much at most");
    impostor_request(1 - half, 1);
    OK_U64(said_beyond, 0, "of others nothing");
    world_close();
}

/* and what is returned up to there may be in that part. */
static void beyond_is_heard(void)
{
    struct spend used = world_of_a_window();
    impostor_begin(MESSAGE_REPLY, 3, 0);
    impostor.page_beyond[0] = 5;
    impostor_reply(0, 0, false, &used, 1);
    OK_U64(world_stats(ANN).snapshots_taken, 1,
           "a snapshot says that it may contain two batches more than it tells");
    bob_returns(4, 4, 2);
    bob_returns(5, 5, 3);
    OK(ann_sees() == 155, "what these return is not credited: %d", ann_sees());
    OK_U64(world_stats(ANN).doubted_tokens, 5, "and counted");
    bob_returns(6, 6, 3);
    OK(ann_sees() == 158, "what comes then is: %d", ann_sees());
    OK_U64(world_stats(ANN).doubted_tokens, 5, "and not counted");
    world_close();
}

/* Of what ann has spent and got back, bob may have heard one and not the other: what is left is 134, or less. */
static void returned_beyond(void)
{
    impostor_world();
    struct charge charge = {.id = key_of("alice", 0), .cost = 10};
    struct spend used = {.id = charge.id, .tokens = 16 * 3600000 * MS};
    OK(world_ask(ANN, "alice", 0, 10).allowed, "ann has spent 10");
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 4, world.now_ns), 4, "and got 4 back");
    impostor_begin(MESSAGE_GOSSIP, 9, 0);
    impostor_say(impostor_batch(5, 9, key_of("bert", 0), 0, 1)); /* ann lacks what is before it */
    world_run(200);
    impostor_begin(MESSAGE_REPLY, 9, 0);
    impostor.page_beyond[0] = 9;
    impostor.page_beyond[1] = world_stats(ANN).batches_closed;
    impostor_reply(0, 0, false, &used, 1);
    OK_U64(world_stats(ANN).snapshots_taken, 1, "others have spent 20, and bob may have heard of the 4 already");
    struct bucket bucket = node_bucket(world.host[ANN].node, charge.id, 0, world.now_ns);
    int64_t left = (bucket.settled - bucket.unsettled) / world.limits.limit[0].units_per_token;
    OK(left <= 134, "which are not given back once more: of 160, %d are left", (int)left);
    OK_U64(world_stats(ANN).doubted_tokens, 14, "nor does he say whether he has heard of the 10");
    world_close();
}

int main(void)
{
    merged_across_a_part();
    beyond_is_said();
    beyond_is_heard();
    returned_beyond();
    return tap_done();
}
