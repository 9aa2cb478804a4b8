#include "cluster/spend/record.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "limit/kind.h"
#include "tests/lib/refunds_world.h"

/*
 * Bob lies: he tells spends and returns that no client of his asked for. Ann and cat are honest. Of every algorithm:
 * 160 tokens, no overshoot, nothing comes back by itself while a test lasts. Whatever bob gives back, ann and cat
 * together admit no more than the limit and what bob has spent before.
 */

enum { CAPACITY = 160, ALGORITHMS = 5, LIES = 12 };

static const struct algorithm algorithms[ALGORITHMS] = {
    {"a bucket", {.kind = LIMIT_BUCKET, .capacity = CAPACITY, .rate = 1, .period_ns = 3600000 * MS}, false},
    {"a fixed window", {.kind = LIMIT_CELL, .capacity = CAPACITY}, false},
    {"a sliding window", {.kind = LIMIT_CELL, .capacity = CAPACITY}, true},
    {"a quota", {.kind = LIMIT_CELL, .capacity = CAPACITY, .flags = LIMIT_PERSISTENT}, false},
    {"a sliding log", {.kind = LIMIT_LOG, .capacity = CAPACITY, .period_ns = 3600000 * MS}, false},
};

/* Of a bucket a part of a token refills, or is missing, meanwhile. */
static bool has_left(unsigned i, int64_t tokens)
{
    return refunds_left(i) == tokens || (algorithm->terms.kind == LIMIT_BUCKET && refunds_left(i) == tokens - 1);
}

static uint64_t unspent(unsigned i)
{
    return world_stats(i).unspent_returns;
}

/* Bob's next batch tells so much, of which nothing has happened. */
static void bob_tells(uint64_t tokens, uint64_t returned)
{
    struct node *node = world.host[BOB].node;
    struct charge charge = refunds_charge(BOB, 0);
    struct entry *entry =
        table_obtain_nobodys(node->table, charge.id, charge.limit, charge.expires_ns, node->now_ns);
    const bool lists = kind_lists(algorithm->terms.kind);
    note_open(own_thread(node), world.now_ns);
    if (tokens > 0)
        record_to_tell(node, entry, tokens, false);
    if (returned > 0) {
        note_returned_since(own_thread(node), world.now_ns);
        record_return(node, entry, returned, 0, lists ? world.now_ns + 60000 * MS : UINT64_MAX);
    }
    world_push(BOB);
    world_run(300);
}

static uint64_t take_what_there_is(unsigned i)
{
    uint64_t taken = 0;
    while (refunds_take(i, 1))
        taken++;
    world_run(300);
    return taken;
}

static void begin_with(unsigned count)
{
    world_of(count);
}

static void begin(void)
{
    begin_with(3);
}

static void of_nothing(void)
{
    begin();
    uint64_t taken = 0;
    for (unsigned round = 0; round < LIES; round++) {
        taken += take_what_there_is(ANN) + take_what_there_is(CAT);
        bob_tells(0, 100);
    }
    OK(taken <= CAPACITY && taken > CAPACITY / 2,
       "%s: bob gives back 100 again and again, and ann and cat admit %" PRIu64, algorithm->name, taken);
    OK(unspent(ANN) == 100 * LIES && unspent(CAT) == 100 * LIES, "both count what nobody has spent");
    world_close();
}

static void of_what_was_given_back(void)
{
    begin();
    OK(refunds_take(BOB, 30), "%s: bob takes 30", algorithm->name);
    world_run(300);
    OK(has_left(ANN, 130) && has_left(CAT, 130), "all know");
    OK_U64(refunds_give(BOB, 30), 30, "and gives them back");
    world_run(300);
    OK(has_left(ANN, 160) && has_left(CAT, 160) && unspent(ANN) == 0, "which counts: %d are left",
       (int)refunds_left(ANN));
    const uint64_t taken = take_what_there_is(ANN);
    bob_tells(0, 30);
    OK(has_left(CAT, 160 - (int64_t)taken) && unspent(CAT) == 30, "a second time it does not");
    world_close();
}

/* One batch has both. */
static void of_the_same_batch(void)
{
    begin();
    (void)take_what_there_is(ANN);
    const int64_t before = refunds_left(CAT);
    bob_tells(20, 20);
    OK(has_left(CAT, before), "%s: what a batch spends it may give back", algorithm->name);
    OK_U64(unspent(CAT), 0, "and all of that is known");
    bob_tells(0, 20);
    OK(has_left(CAT, before), "and then no more");
    OK_U64(unspent(CAT), 20, "of that");
    bob_tells(20, 50);
    OK(has_left(CAT, before), "nor beyond it");
    OK_U64(unspent(CAT), 50, "in one batch");
    world_close();
}

/* Debt stops at -E, so of most of these spends no key was lowered. */
static void of_what_lowered_nothing(void)
{
    begin();
    uint64_t taken = 0;
    for (unsigned round = 0; round < LIES; round++) {
        bob_tells(1000, 0);
        bob_tells(0, 1000);
        taken += take_what_there_is(ANN) + take_what_there_is(CAT);
    }
    OK(taken <= CAPACITY, "%s: bob tells of 1000 and gives them back, again and again: %" PRIu64 " are admitted",
       algorithm->name, taken);
    world_close();
}

/* What bob spent long ago refill has paid off: of that he gives back a full key at most. */
static void of_long_ago(void)
{
    static const struct algorithm quick =
        {"quick", {.kind = LIMIT_BUCKET, .capacity = CAPACITY, .rate = 4, .period_ns = 1000 * MS}, false};
    algorithm = &quick;
    begin();
    for (unsigned round = 0; round < LIES; round++) {
        bob_tells(100, 0);
        world_run(30000);
    }
    const uint64_t since_ns = world.now_ns;
    uint64_t taken = 0;
    for (unsigned round = 0; round < LIES; round++) {
        taken += take_what_there_is(ANN) + take_what_there_is(CAT);
        bob_tells(0, 100);
        world_run(2000);
    }
    const uint64_t refilled = (world.now_ns - since_ns) / (250 * MS);
    OK(taken <= 2 * CAPACITY + refilled,
       "bob told of 1200 in minutes: ann and cat admit %" PRIu64 " later, while %" PRIu64 " refill", taken,
       refilled);
    world_close();
}

/* Ann and cat grant bob what he asks for; he uses none of it. */
static void of_grants(void)
{
    begin();
    for (unsigned i = 0; i < 3; i++)
        world_crash(i);
    for (unsigned i = 0; i < 3; i++) {
        world.host[i].options.grants = true;
        world_start(i);
    }
    world_run(3000);
    OK(!refunds_take(BOB, 100), "%s: bob asks for 100", algorithm->name);
    world_run(400);
    OK(refunds_left(ANN) < 160 - 30 && refunds_left(CAT) < 160 - 30, "ann and cat grant some: %d are left",
       (int)refunds_left(ANN));
    world_run(8000);
    OK(has_left(ANN, 160) && has_left(CAT, 160), "he gives back what nobody wants: %d and %d are left",
       (int)refunds_left(ANN), (int)refunds_left(CAT));
    OK(unspent(ANN) + unspent(CAT) == 0, "and all of it was known to be his");
    world_close();
}

/* What a snapshot has, it has of somebody. */
static void after_a_snapshot(void)
{
    begin();
    OK(refunds_take(BOB, 30) && refunds_take(ANN, 10), "%s: bob takes 30, and ann 10", algorithm->name);
    world_run(500);
    world_crash(CAT);
    world_run(500);
    world_start(CAT);
    world_run(3000);
    OK(has_left(CAT, 120), "cat starts anew, and takes a snapshot");
    OK_U64(refunds_give(BOB, 30), 30, "bob gives his 30 back");
    world_run(500);
    OK(has_left(CAT, 150) && unspent(CAT) == 0, "which counts at cat's: %d are left", (int)refunds_left(CAT));
    bob_tells(0, 100);
    OK(has_left(ANN, 150) && unspent(ANN) == 100, "more does not count at ann's");
    OK(refunds_left(CAT) <= 160 && unspent(CAT) >= 90, "and at cat's no more than somebody has spent: %d are left",
       (int)refunds_left(CAT));
    world_close();
}

/*
 * Dan is out of reach. Ann lacks tokens, so what bob and cat tell her waits; it is charged before anything of it is
 * given back.
 */
static void of_what_waited(void)
{
    algorithm = &algorithms[0];
    begin_with(4);
    world_links(DAN, LINK_CUT);
    world_run(2000);
    OK(refunds_take(CAT, 12) && refunds_take(ANN, 60), "cat takes 12, and ann 60");
    world_run(300);
    bob_tells(5, 0);
    OK_U64(world_stats(ANN).uncharged_keys, 1, "ann does not charge what cat and bob tell");
    const int64_t before = refunds_left(ANN);
    bob_tells(0, 17);
    const uint64_t not_his = unspent(ANN); /* refill has paid off a part of a token, which may be of one of his */
    OK((not_his == 12 || not_his == 13) && world_stats(ANN).uncharged_keys == 0,
       "of 17 bob may give back his own 5, and %" PRIu64 " are not his", not_his);
    OK(refunds_left(ANN) >= before - 14 && refunds_left(ANN) <= before - 12, "cat's 12 are spent: %d are left",
       (int)refunds_left(ANN));
    OK_U64(refunds_give(CAT, 12), 12, "cat gives them back");
    world_run(300);
    OK(unspent(ANN) == not_his && refunds_left(ANN) >= before - 2, "which counts: %d are left",
       (int)refunds_left(ANN));
    world_close();
}

int main(void)
{
    for (unsigned i = 0; i < ALGORITHMS; i++) {
        algorithm = &algorithms[i];
        of_nothing();
        of_what_was_given_back();
        of_the_same_batch();
        of_what_lowered_nothing();
        if (!kind_lists(algorithm->terms.kind)) /* nobody is granted any of a log without a home */
            of_grants();
        after_a_snapshot();
    }
    of_long_ago();
    of_what_waited();
    return tap_done();
}
