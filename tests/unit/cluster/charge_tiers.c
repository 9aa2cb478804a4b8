#include "cluster/spend/record.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "tests/lib/refunds_world.h"
#include "tests/lib/tier_charge.h"

/*
 * Bob tells ann of spends that no limit would have admitted, as if they were charged twice. A key that had one tier
 * alone owes no more than that tier's overshoot. A key that had several owes what the widest of them may use, also
 * where ann hears of only one: what bob's clients took before his key went over to a smaller tier is told under the
 * wider one.
 */

enum { FREE, PRO, TIERS };

static const struct limit_terms tiers[TIERS] =
    {{.kind = LIMIT_BUCKET, .capacity = 10, .rate = 1, .period_ns = 3600000 * MS},
     {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 3, .period_ns = 3600000 * MS}};

static struct charge charge_of(unsigned i, unsigned tier, uint64_t cost)
{
    return tier_charge(i, "alice", tiers, TIERS, tier, cost);
}

static void bob_tells(unsigned tier, uint64_t tokens)
{
    struct node *node = world.host[BOB].node;
    const struct charge charge = charge_of(BOB, tier, 0);
    struct entry *entry = table_obtain_nobodys(node->table, charge.id, charge.limit, 0, node->now_ns);
    note_open(own_thread(node), world.now_ns);
    record_to_tell(node, entry, tokens, false);
    world_push(BOB);
    world_run(300);
}

static int64_t ann_has_used(void)
{
    return tier_used(ANN, charge_of(ANN, FREE, 0).id);
}

static void begin(void)
{
    world_of(2);
    for (unsigned t = 0; t < TIERS; t++)
        (void)charge_of(ANN, t, 0);
}

/* What bob's clients took under the wider tier is told when his key has gone over to the smaller one. */
static void test_told_late(void)
{
    begin();
    const struct charge wide = charge_of(BOB, PRO, 8), small = charge_of(BOB, FREE, 1);
    const bool taken = node_ask(world.host[BOB].node, &wide, true, world.now_ns).allowed;
    (void)node_ask(world.host[BOB].node, &small, false, world.now_ns);
    const struct entry *entry = table_find(world.host[BOB].node->table, small.id);
    OK(taken && entry->limit == small.limit, "bob's key goes over to the smaller tier");
    world_push(BOB);
    world_run(300);
    OK_I64(ann_has_used(), 8, "... and ann hears what was taken before");
    bob_tells(FREE, 8);
    OK(ann_has_used() >= 15, "... of a key that may owe what the wider tier allows");
    world_close();
}

int main(void)
{
    test_told_late();

    begin();
    bob_tells(FREE, 30);
    OK_I64(ann_has_used(), 10, "of one tier no more is owed than that tier has");
    bob_tells(FREE, 30);
    OK_I64(ann_has_used(), 10, "... again and again");
    world_close();

    begin();
    const struct charge charge = charge_of(ANN, PRO, 1);
    (void)node_ask(world.host[ANN].node, &charge, true, world.now_ns);
    bob_tells(FREE, 30);
    OK(ann_has_used() >= 29, "spends of another tier than the key has are all charged");
    const struct charge peek = charge_of(ANN, FREE, 1);
    (void)node_ask(world.host[ANN].node, &peek, false, world.now_ns);
    bob_tells(FREE, 300);
    OK_I64(ann_has_used(), 100, "... as far as the widest tier goes");
    world_close();
    return tap_done();
}
