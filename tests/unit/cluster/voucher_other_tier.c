/*
 * Requests of one key under several tiers of its rule, away from its home: what was granted under one tier is used
 * under another one, or given back, and never lost. Ann's region is the home; bob asks. Nodes are 40 ms apart.
 */
#include "cluster/spend/voucher.h"
#include "cluster/state/node_state.h"
#include "tests/lib/rights_world.h"
#include "tests/lib/tier_charge.h"

enum { SMALL, LARGE, TIERS };

#define HOUR_NS (UINT64_C(3600000) * MS)

static const struct limit_terms kinds[] = {
    {.kind = LIMIT_BUCKET, .rate = 1, .period_ns = HOUR_NS},
    {.kind = LIMIT_CELL},
    {.kind = LIMIT_LOG, .period_ns = HOUR_NS},
};
static const char *const kind_names[] = {"a bucket", "a window", "a log"};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct limit_terms tiers[TIERS];

static struct charge charge_of(unsigned host, const char *key, size_t tier, uint64_t cost)
{
    return tier_charge(host, key, tiers, TIERS, tier, cost);
}

static void begin(unsigned kind, const char *key)
{
    for (unsigned tier = 0; tier < TIERS; tier++) {
        tiers[tier] = kinds[kind];
        tiers[tier].capacity = tier == SMALL ? 50 : 100;
        tiers[tier].home = limit_home_of(bytes_of("ann's"));
    }
    for (unsigned host = ANN; host <= CAT; host++)
        for (unsigned tier = 0; tier < TIERS; tier++)
            (void)charge_of(host, key, tier, 0);
}

static bool takes(unsigned host, const char *key, size_t tier, uint64_t cost)
{
    const struct charge charge = charge_of(host, key, tier, cost);
    const bool taken = node_ask(world.host[host].node, &charge, true, world.now_ns).allowed;
    world_push(host);
    return taken;
}

/* Clients of both tiers come in turns, each before the other one's tokens are here. */
static void in_turns(unsigned kind)
{
    unsigned taken = 0;
    begin(kind, "turns");
    for (unsigned turn = 0; turn < 400; turn++) {
        taken += takes(BOB, "turns", turn % TIERS, 1);
        world_run(30);
    }
    world_run(3000);
    OK(taken > 95, "%s: in turns the tiers have %u of 100", kind_names[kind], taken);
    const int64_t used = tier_used(ANN, charge_of(ANN, "turns", LARGE, 1).id); /* a part of a token has refilled */
    OK(used + 1 >= taken && used <= taken, "... and nothing else is used: %" PRIi64, used);
}

/* What others have used under the large tier is not there under the small one, whatever was granted. */
static void under_the_smaller_one(unsigned kind)
{
    begin(kind, "smaller");
    OK(takes(ANN, "smaller", LARGE, 40), "40 are used at home");
    world_run(500);
    OK(!takes(BOB, "smaller", LARGE, 50), "bob asks for 50 more under the large tier");
    world_run(TURN_MS);
    OK(!takes(BOB, "smaller", SMALL, 11), "a client of the small one has no 11 of them");
    if (kinds[kind].kind != LIMIT_BUCKET)
        OK(takes(BOB, "smaller", SMALL, 10), "... but 10");
    OK(takes(BOB, "smaller", LARGE, kinds[kind].kind == LIMIT_BUCKET ? 50 : 40), "one of the large one the rest");
}

/* The key has the one tier at bob's, and his voucher another one. */
static void nobody_comes_back(unsigned kind)
{
    begin(kind, "gone");
    OK(!takes(BOB, "gone", LARGE, 60), "bob asks for 60");
    world_run(TURN_MS);
    const struct charge looked = charge_of(BOB, "gone", SMALL, 1);
    (void)node_ask(world.host[BOB].node, &looked, false, world.now_ns);
    world_run(4000);
    OK_I64(tier_used(ANN, charge_of(ANN, "gone", LARGE, 1).id), 0, "what nobody uses is given back");
    OK(takes(ANN, "gone", LARGE, 99), "... and is there at home");
}

/* More than the small tier has is granted for the large one, and a client of the small one comes before it is here. */
static void more_than_the_smaller_one_has(unsigned kind)
{
    begin(kind, "more");
    OK(!takes(BOB, "more", LARGE, 80), "bob asks for 80");
    world_run(WAY_MS);
    OK(takes(BOB, "more", SMALL, 0), "a client of the small tier asks how much is left");
    world_run(TURN_MS);
    OK(takes(BOB, "more", LARGE, 80), "%s: the 80 are used", kind_names[kind]);
}

/* Clients of both tiers come in turns, so that the voucher goes to and fro. */
static void to_and_fro(unsigned kind)
{
    begin(kind, "fro");
    OK(!takes(BOB, "fro", LARGE, 60), "bob asks for 60");
    world_run(TURN_MS);
    for (unsigned turn = 0; turn < 2000; turn++) {
        const struct charge looked = charge_of(BOB, "fro", turn % TIERS, 60);
        (void)node_ask(world.host[BOB].node, &looked, false, world.now_ns);
    }
    OK(takes(BOB, "fro", LARGE, 60), "%s: the 60 are used after many looks", kind_names[kind]);
}

int main(void)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        rights_world_init(3);
        rights_world_start();
        in_turns(kind);
        under_the_smaller_one(kind);
        nobody_comes_back(kind);
        more_than_the_smaller_one_has(kind);
        to_and_fro(kind);
        world_close();
    }
    return tap_done();
}
