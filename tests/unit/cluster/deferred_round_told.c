/* What waits to be paid off, and has to be told after all: all of it, in time, and with its age. */
#include "cluster/codec/message.h"
#include "tests/lib/deferred_world.h"
#include "tests/lib/opened_message.h"

/* More than there are places for. */
static void leaves(void)
{
    world_of_few_places();
    take_many(ANN, 1);
    show("they wait");
    world_stop(ANN);
    world_run(200);
    tell("bob heard of %" PRIu64 " tokens", world_stats(BOB).applied_tokens);
    EXPECT("who leaves tells all", "ann: 1 each of 400\n"
                                   "they wait: ann has 400 untold and 0 paid off, bob heard of 0 tokens\n"
                                   "ann is asked to leave\n"
                                   "bob: ann has left\n"
                                   "ann is gone\n"
                                   "bob heard of 400 tokens\n");
    world_close();
}

/* In two pauses of ann's, each longer than a round: most have waited for too long at the same moment. */
static void was_stopped(void)
{
    world_of_few_places();
    take_many(ANN, 1);
    world_link(BOB, ANN, LINK_CUT);
    for (unsigned i = 0; i < 2; i++) {
        world.now_ns += 1300 * MS;
        step(ANN, (struct event){.kind = EVENT_WAKE}, ANN);
    }
    world_run(15);
    skip_text();
    show("then");
    EXPECT("who was stopped tells what has waited for long",
           "then: ann has 0 untold and 0 paid off, bob heard of 400 tokens\n");
    world_close();
}

/* There is no time to tell anything before that. */
static void leaves_at_once(void)
{
    world_init(2);
    world_name_all();
    world.host[ANN].options.leave_timeout_ns = 0;
    world_start_all();
    world_run(1000);
    world_until_published(ANN);
    skip_text();
    take(ANN, "alice", 4);
    world_stop(ANN);
    world_run(50);
    tell("bob heard of %" PRIu64 " tokens", world_stats(BOB).applied_tokens);
    EXPECT("whose time to leave is over tells all with the last message", "ann is asked to leave\n"
                                                                          "ann is gone\n"
                                                                          "bob: ann has left\n"
                                                                          "bob heard of 4 tokens\n");
    world_close();
}

/* As one who was declared gone: what was spent before was spent by who it was then. */
static void begins_anew(void)
{
    world_of(2);
    world_forget(BOB, ANN);
    take(ANN, "alice", 4);
    take(ANN, "bert", 9);
    for (uint64_t asked = world.host[ANN].requests; world.host[ANN].requests == asked;)
        world_run(1);
    show("ann was forgotten");
    EXPECT("whoever joins again tells all first",
           "bob: ann is forgotten, as the operator asked\n"
           "ann: ann was declared gone by its peers and joins again\n"
           "ann was forgotten: ann has 0 untold and 0 paid off, bob heard of 0 tokens\n");
    world_close();
}

/* The figures of a part of the table, and what its digest stands for, are of the same spends. */
static void asked_for(void)
{
    world_of_few_places();
    world_crash(BOB);
    skip_text();
    take_many(ANN, 1);
    world_start(BOB);
    while (world_stats(BOB).snapshots_taken == 0)
        world_run(1);
    skip_text();
    show("bob has a snapshot");
    EXPECT("who gives a part of the table tells what waits of its keys",
           "bob has a snapshot: ann has 0 untold and 0 paid off, bob heard of 0 tokens\n");
    world_close();
}

/* As it settles, more is allowed again. */
static void refused(void)
{
    world_of(2);
    take(ANN, "alice", 4);
    take(ANN, "alice", 75);
    world_push(ANN);
    world_run(15);
    show("ann asked for too much");
    EXPECT("what waits of a key that is refused is told at once",
           "ann: 75 of alice? no, not our share\n"
           "ann asked for too much: ann has 0 untold and 0 paid off, bob heard of 4 tokens\n");
    world_close();
}

/* The last of three keys finds no place: what was spent of the others is taken back. */
static void taken_back(void)
{
    char key[32];
    struct verdict verdicts[3];
    world_of_few_places();
    for (unsigned i = 1; i < FEW; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        take(ANN, key, 9);
    }
    const struct charge charges[3] = {{.id = key_of("alice", FAST), .limit = FAST, .cost = 4},
                                      {.id = key_of("bert", FAST), .limit = FAST, .cost = 9},
                                      {.id = key_of("carl", FAST), .limit = FAST, .cost = 9}};
    bool allowed = node_check(world.host[ANN].node, charges, 3, true, world.now_ns, verdicts);
    tell("three more? %s", allowed ? "yes" : reason_text(&verdicts[2]));
    take(BOB, "alice", 9);
    world_run(150);
    show("bob has spent of alice's");
    EXPECT("what waits and is taken back is not told",
           "three more? no, overload\n"
           "bob has spent of alice's: ann has 0 untold and 0 paid off, bob heard of 567 tokens\n");
    world_close();
}

/* By which limit refill pays it off is not the same everywhere then. */
static void converted(void)
{
    world_of(2);
    take(ANN, "alice", 4);
    (void)node_peek(world.host[ANN].node, key_of("alice", FAST), 0, 1, world.now_ns);
    world_run(150);
    show("alice has another limit");
    EXPECT("what waits under another limit than its key has by now is told",
           "alice has another limit: ann has 0 untold and 0 paid off, bob heard of 4 tokens\n");
    world_close();
}

/* ---- its age ---- */

static uint64_t open_ms; /* of ann's batches, for how long the oldest spends of any had been untold, as she says */

static void note_open_ms(unsigned host, const struct effects *effects)
{
    static struct message message;
    struct batch_record batch;
    for (size_t e = 0; e < effects->effect_count; e++) {
        struct bytes bytes = effect_bytes(effects, &effects->effect[e]);
        if (host != ANN || effects->effect[e].kind != EFFECT_PUBLISH ||
            !message_unseal(&bytes, &world.host[ANN].options.hash_key) || !message_open(&message, bytes))
            continue;
        for (uint32_t i = 0; i < message.batch_count && message_batch(&message, i, &batch); i++)
            open_ms = batch.open_ns / MS > open_ms ? batch.open_ns / MS : open_ms;
        message_close(&message);
    }
}

static void grows_old(bool with_another)
{
    world_of(2);
    world.watch = note_open_ms;
    world_link(BOB, ANN, LINK_HELD); /* so that nothing counts as paid off */
    take(ANN, "alice", 6);
    world_run(700);
    show("six wait");
    if (with_another)
        take(ANN, "bert", 9);
    open_ms = 0;
    take(ANN, "alice", 9);
    world_until_published(ANN);
    world_run(15);
    show("nine more");
    tell("the oldest are said to be %s", open_ms < 700 ? "younger" : open_ms < 1100 ? "as old as that" : "older");
    EXPECT(with_another ? "also along with younger ones" : "what waited is told with its age",
           with_another ? "six wait: ann has 1 untold and 0 paid off, bob heard of 0 tokens\n"
                          "nine more: ann has 0 untold and 0 paid off, bob heard of 24 tokens\n"
                          "the oldest are said to be as old as that\n"
                        : "six wait: ann has 1 untold and 0 paid off, bob heard of 0 tokens\n"
                          "nine more: ann has 0 untold and 0 paid off, bob heard of 15 tokens\n"
                          "the oldest are said to be as old as that\n");
    world_close();
}

int main(void)
{
    leaves();
    was_stopped();
    leaves_at_once();
    begins_anew();
    asked_for();
    refused();
    taken_back();
    converted();
    grows_old(false);
    grows_old(true);
    return tap_done();
}
