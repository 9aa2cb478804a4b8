#include "tests/lib/cluster_impostor.h"

/* Spends count for two seconds and end by themselves. Links take 10 ms. */

static const struct limit_terms calls = {.kind = LIMIT_LOG, .capacity = 160, .period_ns = 2000 * MS};

static bool take(unsigned i, const char *key, uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = charge_at(i, key, &calls, cost);
    return node_check(world.host[i].node, &charge, 1, true, world.now_ns, &verdict);
}

static uint64_t give_back(unsigned i, const char *key, uint64_t tokens)
{
    struct charge charge = charge_at(i, key, &calls, tokens);
    return node_return(world.host[i].node, &charge, 1, tokens, world.now_ns);
}

static int64_t left(unsigned i, const char *key)
{
    struct charge charge = charge_at(i, key, &calls, 0);
    struct bucket bucket = node_bucket(world.host[i].node, charge.id, charge.limit, world.now_ns);
    return bucket.settled - bucket.unsettled;
}

static void in_time(void)
{
    world_of(2);
    OK(take(ANN, "alice", 10) && take(ANN, "alice", 7), "ann takes 17");
    world_run(500);
    OK_U64(give_back(ANN, "alice", 10), 10, "10 are given back");
    world_run(100);
    OK(left(ANN, "alice") == 153 && left(BOB, "alice") == 153, "and bob knows");
    OK_U64(give_back(ANN, "alice", 10), 7, "giving them back again takes what else there is, and no more");
    OK_U64(give_back(ANN, "alice", 10), 0, "then there is nothing");
    world_run(100);
    OK(left(ANN, "alice") == 160 && left(BOB, "alice") == 160, "for bob either");
    world_close();
}

static void ended(void)
{
    world_of(2);
    OK(take(ANN, "alice", 10), "ann takes 10");
    world_run(1500);
    OK(take(BOB, "alice", 7), "bob takes 7, one and a half seconds later");
    world_run(510);
    struct charge charge = charge_at(ANN, "alice", &calls, 10);
    charge.expires_ns = world.now_ns - 10 * MS;
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 10, world.now_ns), 0,
           "what was held of the 10 has ended: nothing is given back for it");
    world_run(100);
    OK(left(ANN, "alice") == 153 && left(BOB, "alice") == 153, "and both keep the 7");
    world_close();
}

static void shortly_before_the_end(void)
{
    world_of(2);
    OK(take(ANN, "alice", 10), "ann takes 10");
    world_run(1600);
    OK_U64(give_back(ANN, "alice", 10), 10, "10 are given back shortly before they end");
    world_run(100);
    OK(left(ANN, "alice") == 160 && left(BOB, "alice") == 150, "bob is not told: a message might come too late");
    world_run(400);
    OK(left(BOB, "alice") == 160, "since they end by themselves there as well");
    world_close();
}

/* What is told together ends with what ends first of it: or spends that were made since would go in its place. */
static void told_together(void)
{
    world_of(2);
    OK(take(ANN, "alice", 10), "ann takes 10");
    world_run(1000);
    OK(take(ANN, "alice", 7), "and 7 a second later");
    world_run(100);
    OK(left(BOB, "alice") == 143, "bob knows");
    world_link(ANN, BOB, LINK_HELD);
    OK(give_back(ANN, "alice", 10) == 10 && give_back(ANN, "alice", 3) == 3, "10 and 3 are given back");
    world_run(1000);
    world_release(ANN, BOB, false);
    world_run(20);
    OK(left(ANN, "alice") == 156, "for ann 4 are left of the 7");
    OK(left(BOB, "alice") == 153, "bob hears of it when the 10 have ended by themselves, and keeps the 7");
    world_run(1000);
    OK(left(ANN, "alice") == 160 && left(BOB, "alice") == 160, "until they end");
    world_close();
}

/* Bob and cat spend of more keys than they may keep for ann, who does not hear them: she needs a snapshot. */
static void away_for_a_snapshot(void)
{
    char key[32];
    unsigned refused = 0;
    world_links(ANN, LINK_CUT);
    for (unsigned i = 0; i < 8; i++) {
        (void)snprintf(key, sizeof key, "key %u", i);
        refused += !world_ask(i % 2 == 0 ? BOB : CAT, key, 0, 10).allowed;
        world_run(60);
    }
    OK_U64(refused, 0, "bob and cat spend of many keys while ann is away");
    world_links(ANN, LINK_FINE);
    for (unsigned ms = 0; world_stats(ANN).snapshots_taken == 0 && ms < 500; ms++)
        world_run(1);
    OK_U64(world_stats(ANN).snapshots_taken, 1, "and she takes a snapshot");
}

/*
 * A snapshot does not say when the spends of others end, so they count as new ones. Ann's own spend ends at its time,
 * and ann tells that time when she gives it back: else cat would take off bob's newer spend, and ann's would end there.
 */
static void after_a_snapshot(void)
{
    world_init(3);
    world_name_all();
    for (unsigned i = ANN; i <= CAT; i++)
        world.host[i].options.log_keys_max = 4;
    world_start_all();
    world_run(1000);
    OK(take(ANN, "alice", 10), "ann takes 10");
    world_run(100);
    away_for_a_snapshot();
    OK(take(BOB, "alice", 7), "bob takes 7");
    world_run(100);
    OK(left(ANN, "alice") == 143 && left(CAT, "alice") == 143, "the others know");
    OK_U64(give_back(ANN, "alice", 10), 10, "ann gives her 10 back");
    world_run(1400);
    OK(left(ANN, "alice") == 153 && left(CAT, "alice") == 153,
       "when they would have ended, bob's 7 count still: %d and %d", (int)left(ANN, "alice"),
       (int)left(CAT, "alice"));
    world_close();
}

/* ---- a bucket that is full when something is returned ---- */

static double fast_tokens(int64_t units)
{
    return (double)units / (double)world.limits.limit[1].units_per_token;
}

static double fast_left(unsigned i)
{
    struct bucket bucket = node_bucket(world.host[i].node, key_of("alice", 1), 1, world.now_ns);
    return fast_tokens(bucket.settled - bucket.unsettled);
}

/*
 * Ann takes 60 of 160, with 160 a second. Bob hears of it, and she does not hear that he does. So a quarter of a second
 * later her part of the refill has paid off 20; there are 140 in all. She gives 40 back, of which a full bucket loses
 * 20, and takes 40 anew: 120 are left. Who hears of both together must not hold one against the other.
 */
static void full_in_between(void)
{
    world_of(2);
    world_link(BOB, ANN, LINK_CUT);
    OK(world_ask(ANN, "alice", 1, 60).allowed, "ann takes 60 of a full bucket");
    world_run(250);
    OK(fast_left(BOB) > 136 && fast_left(BOB) <= 140, "bob knows, and some has refilled: %.1f", fast_left(BOB));
    struct charge charge = {.id = key_of("alice", 1), .cost = 60, .limit = 1};
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 40, world.now_ns), 40, "ann gives 40 back");
    OK(world_ask(ANN, "alice", 1, 40).allowed, "and takes 40 anew");
    const uint64_t then_ns = world.now_ns;
    world_push(ANN);
    world_run(50);
    double left = 120 + 160 * (double)(world.now_ns - then_ns) / 1e9;
    OK(fast_left(BOB) <= left, "bob sees no more than there is: %.1f of %.1f", fast_left(BOB), left);
    world_link(BOB, ANN, LINK_FINE);
    world_run(100);
    left = 120 + 160 * (double)(world.now_ns - then_ns) / 1e9;
    OK(fast_left(ANN) <= left, "nor does ann when all is settled: %.1f of %.1f", fast_left(ANN), left);
    world_close();
}

/* Whatever a full bucket may have lost of what is given back: nothing else is taken off. */
static void nearly_full(void)
{
    world_of(2);
    world_link(BOB, ANN, LINK_CUT);
    OK(world_ask(ANN, "alice", 1, 60).allowed, "ann takes 60 of a full bucket");
    world_run(250);
    struct charge charge = {.id = key_of("alice", 1), .cost = 60, .limit = 1};
    OK_U64(node_return(world.host[ANN].node, &charge, 1, 40, world.now_ns), 40, "ann gives 40 back");
    double left = fast_left(BOB);
    uint64_t applied = world_stats(BOB).batches_applied;
    world_run(100);
    OK_U64(world_stats(BOB).batches_applied - applied, 1, "bob is told");
    OK(fast_left(BOB) >= left, "bob has what he had before he knew: %.1f of %.1f", fast_left(BOB), left);
    world_close();
}

/* ---- old tokens and new ones ---- */

static const struct limit_terms mild = {.capacity = 160, .rate = 1, .period_ns = 1000 * MS};

static bool mild_take(unsigned i, uint64_t cost)
{
    struct verdict verdict;
    struct charge charge = charge_at(i, "alice", &mild, cost);
    return node_check(world.host[i].node, &charge, 1, true, world.now_ns, &verdict);
}

static uint64_t mild_back(unsigned i)
{
    struct charge charge = charge_at(i, "alice", &mild, 40);
    return node_return(world.host[i].node, &charge, 1, 40, world.now_ns);
}

static double mild_left(unsigned i)
{
    struct charge charge = charge_at(i, "alice", &mild, 0);
    struct bucket bucket = node_bucket(world.host[i].node, charge.id, charge.limit, world.now_ns);
    return (double)(bucket.settled - bucket.unsettled) /
           (double)node_limit(world.host[i].node, charge.limit)->units_per_token;
}

/* Three peers share a bucket that gains one a second. Bob spent 36 that have refilled, and ann 36 a moment ago. */
static void world_of_old_and_new(void)
{
    world_of(3);
    OK(mild_take(BOB, 36), "bob takes 36");
    world_run(40000);
    OK(mild_left(ANN) == 160, "they refill");
    OK(mild_take(ANN, 36), "ann takes 36");
    world_run(300);
    OK(mild_left(BOB) >= 124 && mild_left(BOB) < 125, "which all know: %.1f are left", mild_left(BOB));
}

/*
 * Bob gives his 36 back, and the bucket is full. What ann gives back then is lost, and she takes 30. When bob and cat
 * hear of that, there seems to be room for it.
 */
static void old_before_new(void)
{
    world_of_old_and_new();
    OK(mild_back(BOB) >= 35 && mild_back(ANN) >= 35, "both give back what is taken");
    OK(mild_take(ANN, 30), "ann takes 30 anew: 130 are left");
    world_run(200);
    for (unsigned i = ANN; i <= CAT; i++)
        OK(mild_left(i) <= 130.3, "%s sees no more: %.1f", host_names[i], mild_left(i));
    world_close();
}

/* Cat hears of what bob gave back when ann has spent it: his tokens are old, though they came back just now. */
static void old_ones_late(void)
{
    world_of_old_and_new();
    world_link(BOB, CAT, LINK_CUT);
    world_link(BOB, ANN, LINK_CUT);
    OK(mild_back(ANN) >= 35, "ann gives back what is taken: all are left");
    OK(mild_back(BOB) >= 35, "what bob gives back is lost");
    OK(mild_take(ANN, 36), "ann takes 36 anew: 124 are left");
    world_run(150);
    world_link(BOB, CAT, LINK_FINE);
    world_link(BOB, ANN, LINK_FINE);
    world_run(250);
    for (unsigned i = ANN; i <= CAT; i++)
        OK(mild_left(i) <= 124.5, "%s sees no more: %.1f", host_names[i], mild_left(i));
    world_close();
}

/* ---- from whom one does not know when he said it ---- */

/* Bob's `number`th batch, of alice's: so much spent, so much given back. It may answer an early message of ann's. */
static void say(uint64_t number, uint64_t tokens, uint64_t returned, bool answers)
{
    struct batch *batch = batch_create(0, 1);
    assert(batch);
    batch->first = batch->last = number;
    batch->at_ns = world.now_ns;
    batch->spend[0] = (struct spend){.id = key_of("alice", 0),
                                     .tokens = tokens,
                                     .returned = returned,
                                     .expires_ns = world.now_ns + 1900 * MS,
                                     .limit = 2};
    impostor_begin(MESSAGE_GOSSIP, number, 0);
    impostor.rows[1] = (struct digest_row){.member = 1, .number = world_stats(ANN).messages_published};
    impostor.row_count = answers ? 2 : 1;
    impostor_say(batch);
}

static void of_unknown_age(void)
{
    world_init(2);
    world_name_all();
    world_start(ANN);
    world_run(2500);
    skip_text();
    world.limits.limit[world.limits.count++] = limit_made(&calls);
    say(1, 10, 0, false);
    OK(left(ANN, "alice") == 150, "bob has taken 10");
    say(2, 0, 4, false);
    OK(left(ANN, "alice") == 150, "4 are given back in a message that may be old: the 10 end by themselves");
    say(3, 0, 4, true);
    OK(left(ANN, "alice") == 154, "4 in one that was made since ann said something: they are");
    world_close();
}

int main(void)
{
    in_time();
    ended();
    shortly_before_the_end();
    told_together();
    after_a_snapshot();
    full_in_between();
    nearly_full();
    old_before_new();
    old_ones_late();
    of_unknown_age();
    return tap_done();
}
