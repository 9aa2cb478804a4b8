/*
 * A floor for each region: one that asks for little is not starved by one that takes all it can, wherever that one
 * comes first; who is alone gets all; and the words of a peer count for a while only.
 */
#include "tests/lib/rights_world.h"

#include "cluster/codec/message.h"
#include "cluster/spend/contest.h"
#include "cluster/spend/contest_words.h"

#include <inttypes.h>

enum { STEP_MS = 20, STEPS_A_SECOND = 1000 / STEP_MS };

static const struct limit_terms terms = {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 10, .period_ns = 1000 * MS};

/* So many tokens are asked for in each step, at each host in its turn; what each got. */
static void contend(const char *key, unsigned seconds, const unsigned *asks, unsigned *got)
{
    for (unsigned i = 0; i < world.count; i++)
        got[i] = 0;
    for (unsigned step = 0; step < seconds * STEPS_A_SECOND; step++) {
        for (unsigned i = 0; i < world.count; i++)
            got[i] += asks[i] > 0 ? rights_take(i, key, &terms, asks[i]) : 0;
        world_run(STEP_MS);
    }
}

/* Ann has seven tenths, bob two, cyd one. */
static void each_gets_its_part(void)
{
    unsigned got[3];
    contend("all", 20, (const unsigned[]){40, 2, 1}, got);
    contend("all", 40, (const unsigned[]){40, 2, 1}, got);
    const unsigned all = got[0] + got[1] + got[2];
    OK(all >= 380 && all <= 410, "%u of 400 are admitted", all);
    OK(got[0] >= 252, "ann gets %u of her 280", got[0]);
    OK(got[1] >= 72, "bob gets %u of his 80", got[1]);
    OK(got[2] >= 36, "cyd gets %u of his 40", got[2]);
}

static void what_is_left_is_shared(void)
{
    unsigned got[3];
    contend("left", 20, (const unsigned[]){0, 2, 1}, got);
    contend("left", 40, (const unsigned[]){0, 2, 1}, got);
    OK(got[1] + got[2] >= 380, "what ann leaves others get: %u and %u of 400", got[1], got[2]);
    OK(got[1] >= 72 && got[2] >= 36, "and each at least its part");
    contend("left", 40, (const unsigned[]){0, 0, 1}, got);
    OK(got[2] >= 380, "who is alone gets all: %u of 400", got[2]);
}

/* What peers keep for cyd is there as long as she asks for it, though six tokens of her part refill in between. */
static void who_asks_seldom_is_remembered(void)
{
    unsigned got[3], taken = 0;
    contend("seldom", 40, (const unsigned[]){40, 0, 1}, got);
    for (unsigned i = 0; i < 8; i++) {
        contend("seldom", 6, (const unsigned[]){40, 0, 0}, got);
        taken += rights_take(2, "seldom", &terms, 1);
    }
    OK(taken >= 7, "cyd asks for a token every 6 seconds, and gets %u of 8", taken);
}

/* A word of a peer that is gone again holds nobody back for long. */
static void words_end(void)
{
    struct node *node = world.host[0].node;
    struct charge charge = charge_at(0, "word", &terms, 1);
    const struct ask_record word = {.id = charge.id, .terms = terms, .tokens = 60, .among = SHARE_ONE / 10 * 9};
    OK(!contest_concerns(node, charge.id), "nobody contends for a key");
    OK_U64(rights_take(0, "word", &terms, 60), 60, "ann takes 60 of 100 at once");
    world_run(1000);
    contest_hear(node, &word, charge.limit);
    OK(contest_concerns(node, charge.id), "a peer is short of its part");
    const struct verdict verdict = rights_take_at_once(0, "word", &terms, 40);
    OK(!verdict.allowed && verdict.reason == VERDICT_SHARE, "so ann may not take more than her part");
    OK(verdict.retry_after_ns > MS && verdict.retry_after_ns < 600000 * MS, "for a while");
    world_run(30000);
    OK(!contest_concerns(node, charge.id), "the word has ended");
    OK(rights_take(0, "word", &terms, 60) == 60, "and she takes 60");
}

static const struct limit_terms calls = {.kind = LIMIT_LOG, .capacity = 100, .period_ns = 600000 * MS};

/* Ann asks for 2 of the key, and for calls of two other keys. */
static bool ask_for_three(unsigned number, size_t first, size_t count)
{
    char name[2][16];
    struct verdict verdicts[3];
    (void)snprintf(name[0], sizeof name[0], "a%u", number);
    (void)snprintf(name[1], sizeof name[1], "b%u", number);
    const struct charge charges[] = {charge_at(0, "again", &terms, 2), charge_at(0, name[0], &calls, 1),
                                     charge_at(0, name[1], &calls, 1)};
    return node_check(world.host[0].node, charges + first, count, true, world.now_ns, verdicts);
}

static uint64_t waits_for_ns(struct charge charge)
{
    const struct bucket bucket = node_bucket(world.host[0].node, charge.id, charge.limit, world.now_ns);
    return contest_holds_ns(world.host[0].node, &charge, &bucket, world.now_ns);
}

/* The lists of ann's calls have one place. A request that needs two is charged to the key before that is found out. */
static void what_is_taken_back_costs_nothing(void)
{
    const struct charge much = charge_at(0, "again", &terms, 40);
    const struct ask_record ask = {.id = much.id, .terms = terms, .tokens = 50, .among = SHARE_ONE / 10 * 9};
    unsigned number = 0;
    OK_U64(rights_take(0, "again", &terms, 60), 60, "ann takes 60 of 100");
    contest_hear(world.host[0].node, &ask, much.limit);
    world_run(1000);
    while (ask_for_three(number, 1, 2))
        number++;
    const uint64_t waits_ns = waits_for_ns(much);
    OK(number > 0 && waits_ns > 100 * MS, "she has no credit for 40 more: it takes %" PRIu64 " ms", waits_ns / MS);
    OK(!ask_for_three(number, 0, 3), "a request is refused for another key");
    OK_U64(waits_for_ns(much), waits_ns, "and she has as much credit as before");
    OK(ask_for_three(number, 1, 1), "one call has a place");
}

/* A peer was short, and half of the key is kept for it: of the rest ann takes all, wherever her peers are. */
static void what_is_beyond_goes_to_anybody(void)
{
    struct node *node = world.host[0].node;
    struct charge charge = charge_at(0, "kept", &terms, 1);
    const struct ask_record word = {.id = charge.id,
                                    .terms = terms,
                                    .tokens = 50,
                                    .parts = 1,
                                    .among = SHARE_ONE / 10 * 9};
    unsigned taken = 0;
    contest_hear(node, &word, charge.limit);
    while (rights_take_at_once(0, "kept", &terms, 1).allowed)
        taken++;
    OK(taken >= 36 && taken <= 50, "of a full key of which 50 are kept ann takes %u at once", taken);
}

int main(void)
{
    static const uint64_t weight[] = {SHARE_ONE / 10 * 7, SHARE_ONE / 10 * 2, SHARE_ONE / 10};
    rights_world_init(3);
    world.host[0].options.events_max = 9;
    for (unsigned i = 0; i < 3; i++) {
        world.host[i].options.grants_eager = false;
        for (unsigned j = 0; j < 3; j++)
            world.host[i].options.regions[j].weight = weight[j];
    }
    rights_world_start();
    each_gets_its_part();
    what_is_left_is_shared();
    who_asks_seldom_is_remembered();
    words_end();
    what_is_taken_back_costs_nothing();
    what_is_beyond_goes_to_anybody();
    world_close();
    return tap_done();
}
