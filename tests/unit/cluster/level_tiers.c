/*
 * Windows of a rule with tiers: what was spent in the window before under another tier counts as it did there, and a
 * window ends when it would have, whichever clock a request under another tier comes by.
 */
#include "cluster/state/node_state.h"
#include "tests/lib/refunds_world.h"
#include "tests/lib/tier_charge.h"

enum { SMALL, WIDE, TIERS };

#define HOUR_NS (3600000 * MS)

static const struct limit_terms tiers[TIERS] = {{.kind = LIMIT_CELL, .capacity = 80},
                                                {.kind = LIMIT_CELL, .capacity = 100}};

static struct charge charge_of(const char *name, unsigned tier, uint64_t cost, uint64_t end_ns)
{
    struct charge charge = tier_charge(ANN, name, tiers, TIERS, tier, cost);
    charge.sliding = true;
    charge.previous = key_of("the window before", 0);
    charge.window_ns = HOUR_NS;
    charge.window_end_ns = end_ns;
    charge.expires_ns = end_ns + HOUR_NS;
    return charge;
}

static struct verdict ask(const struct charge *charge, bool take)
{
    return node_ask(world.host[ANN].node, charge, take, world.now_ns);
}

/* Ann has half of a limit, and bob does not know yet what she spent. */
static void counts_own_spends_before(unsigned tier, const char *what)
{
    struct charge before = charge_of("the window before", WIDE, 40, world.now_ns + MS);
    before.previous = key_of("long ago", 0);
    const struct charge next = charge_of(what, tier, 1, world.now_ns + HOUR_NS);
    const bool taken = ask(&before, true).allowed;
    const uint64_t available = ask(&next, false).available_tokens;
    OK(taken && available <= 6, "%s: %" PRIu64 " are left to ann of her half, who took 40 before", what, available);
}

static void keeps_its_end(void)
{
    const struct charge wide = charge_of("ahead", WIDE, 5, world.now_ns + HOUR_NS),
                        small = charge_of("ahead", SMALL, 1, world.now_ns + HOUR_NS / 2);
    const bool taken = ask(&wide, true).allowed;
    (void)ask(&small, false);
    const struct entry *entry = table_find(world.host[ANN].node->table, wide.id);
    OK(taken && entry->limit == small.limit, "the key goes over to the smaller tier");
    OK(entry->bucket.expires_ns >= wide.expires_ns, "... and ends no sooner, as a clock that is ahead has it");
}

int main(void)
{
    for (unsigned tier = 0; tier < TIERS; tier++) {
        world_of(2);
        counts_own_spends_before(tier, tier == WIDE ? "under one tier" : "under a smaller one");
        keeps_its_end();
        world_close();
    }
    return tap_done();
}
