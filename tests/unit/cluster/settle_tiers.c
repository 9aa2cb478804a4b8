#include "cluster/apply/settle_credit.h"
#include "cluster/codec/batch.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "tests/lib/tier_charge.h"

/*
 * Tokens are spent and given back under several tiers before the peer has acknowledged any of it. As they settle, the
 * returns pay off what was spent before them, whatever the tier: the view never forgets what others have spent. Else a
 * peer that starts anew would take it as its own.
 */

enum { SMALL, WIDE, TIERS, CAPACITY = 100, SPENT_BY_BOB = 20 };

static const struct limit_terms tiers[TIERS] = {{.kind = LIMIT_CELL, .capacity = 80},
                                                {.kind = LIMIT_CELL, .capacity = CAPACITY}};

static struct charge charge_of(unsigned i, unsigned tier, uint64_t cost)
{
    return tier_charge(i, "alice", tiers, TIERS, tier, cost);
}

static bool take(unsigned i, unsigned tier, uint64_t tokens)
{
    const struct charge charge = charge_of(i, tier, tokens);
    return node_ask(world.host[i].node, &charge, true, world.now_ns).allowed;
}

/* A client looks at the key under that tier, to which it goes over, and gives back. */
static void give_back(unsigned tier, uint64_t tokens)
{
    const struct charge charge = charge_of(ANN, tier, tokens);
    (void)node_ask(world.host[ANN].node, &charge, false, world.now_ns);
    OK_U64(node_return(world.host[ANN].node, &charge, 1, tokens, world.now_ns), tokens, "%u are given back",
           (unsigned)tokens);
    world_until_published(ANN);
}

static struct entry *entry_of(unsigned i)
{
    return table_find(world.host[i].node->table, charge_of(i, WIDE, 0).id);
}

static int64_t used(unsigned i)
{
    return tier_used(i, charge_of(i, WIDE, 0).id);
}

static void begin(void)
{
    world_of(2);
    for (unsigned t = 0; t < TIERS; t++)
        (void)charge_of(ANN, t, 0);
    OK(take(BOB, WIDE, SPENT_BY_BOB), "bob spends 20");
    world_run(500);
    OK_I64(used(ANN), SPENT_BY_BOB, "ann knows of them");
}

/* Bob acknowledges a spend and its return before he hears of another spend and its return. */
static void test_in_turn(void)
{
    begin();
    world_link(BOB, ANN, LINK_CUT);
    OK(take(ANN, SMALL, 10), "ann spends 10 under the smaller tier");
    world_until_published(ANN);
    give_back(WIDE, 10);
    world_run(50);
    world_link(ANN, BOB, LINK_CUT);
    OK(take(ANN, SMALL, 10), "... and 10 more");
    world_until_published(ANN);
    give_back(SMALL, 10);
    const uint64_t settled = world_stats(ANN).settled_tokens;
    world_link(BOB, ANN, LINK_FINE);
    for (unsigned ms = 0; ms < 100 && world_stats(ANN).settled_tokens == settled; ms++)
        world_run(1);
    world_run(5);
    OK_U64(world_stats(ANN).settled_tokens, settled + 10, "the first ones settle, and their return");
    OK_I64(used(ANN), SPENT_BY_BOB, "ann still counts all that bob has spent");
    world_link(ANN, BOB, LINK_FINE);
    world_run(2000);
    OK_I64(used(ANN), SPENT_BY_BOB, "... and in the end");
    OK_I64(used(BOB), SPENT_BY_BOB, "as bob does");
    world_close();
}

/* A merged batch has spends of the key under both tiers. What one of them is credited too much is the other's. */
static void test_in_one_batch(void)
{
    begin();
    struct node *ann = world.host[ANN].node;
    struct batch *batch = batch_create(0, 2);
    const uint16_t limits[] = {(uint16_t)charge_of(ANN, SMALL, 0).limit, (uint16_t)charge_of(ANN, WIDE, 0).limit};
    for (unsigned s = 0; s < 2; s++)
        batch->spend[s] = (struct spend){.id = charge_of(ANN, WIDE, 0).id, .limit = limits[s]};
    batch->spend[0].credit = 10;
    batch->spend[1].tokens = 8;
    batch->spend[1].credit = 1;
    batch_sort(batch);
    const unsigned paying = batch->spend[0].tokens == 0 ? 0 : 1;
    OK(paying == 0, "the spend with the credit is the first to settle");
    settle_credit_pass_on(ann, entry_of(ANN), batch, 0);
    OK(batch->spend[0].credit == 3 && batch->spend[1].credit == 8, "7 pay off what the other one spent: %u and %u",
       (unsigned)batch->spend[0].credit, (unsigned)batch->spend[1].credit);
    batch_destroy(&batch);
    world_close();
}

int main(void)
{
    test_in_turn();
    test_in_one_batch();
    return tap_done();
}
