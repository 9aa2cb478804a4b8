/*
 * A voucher of one tier of a rule, where clients of other regions ask under a faster tier: it decays as that one
 * refills, or what refills there would be out beside the voucher. Three even regions, 40 ms apart.
 */
#include "tests/lib/rights_world.h"
#include "tests/lib/tier_charge.h"

enum { FREE, PRO, TIERS };
enum { ASKED = 45, WIDEST = 90 };

static const struct limit_terms tiers[TIERS] =
    {{.kind = LIMIT_BUCKET, .capacity = 60, .rate = 60, .period_ns = UINT64_C(3600) * 1000 * MS},
     {.kind = LIMIT_BUCKET, .capacity = WIDEST, .rate = WIDEST, .period_ns = 3000 * MS}};

static void begin(void)
{
    rights_world_init(3);
    rights_world_start();
    for (unsigned i = 0; i < 3; i++)
        for (unsigned tier = 0; tier < TIERS; tier++)
            (void)tier_charge(i, "key", tiers, TIERS, tier, 0);
}

static bool take_at_once(unsigned host, unsigned tier, uint64_t cost)
{
    const struct charge charge = tier_charge(host, "key", tiers, TIERS, tier, cost);
    const bool given = node_ask(world.host[host].node, &charge, true, world.now_ns).allowed;
    world_push(host);
    return given;
}

static uint64_t voucher_of(unsigned host)
{
    return rights_explain(host, "key", &tiers[FREE]).voucher_tokens;
}

/* Bob asks under the slow tier for more than his share of it, and has a voucher. */
static void bob_asks(void)
{
    begin();
    OK(!take_at_once(BOB, FREE, ASKED), "more than a share of the slow tier is not there at once");
    world_run(TURN_MS);
}

static void used_soon(void)
{
    bob_asks();
    OK(voucher_of(BOB) > 10, "others grant it: %" PRIu64, voucher_of(BOB));
    OK(take_at_once(BOB, FREE, 35), "and much of it is there a round trip later");
    world_close();
}

static void used_late(void)
{
    bob_asks();
    const uint64_t before = voucher_of(BOB);
    (void)take_at_once(ANN, PRO,
                       1); /* others have the key under the fast tier then, whether that is admitted or not */
    (void)take_at_once(CAT, PRO, 1);
    world_run(1100);
    OK(before > 30 && voucher_of(BOB) < before - 30,
       "what that one has refilled in a second is not in the voucher any more: %" PRIu64 " of %" PRIu64,
       voucher_of(BOB), before);
    world_close();
}

int main(void)
{
    used_soon();
    used_late();
    return tap_done();
}
