#include "cluster/state/node_state.h"
#include "tests/lib/tier_charge.h"

/*
 * Cat is out of reach, and ann does not charge what she hears of a key of which she lacks tokens. Her clients have the
 * smaller tier of a rule, and bob's the wider one: what she charges at last may owe what the wider tier allows.
 */

enum { FREE, PRO, TIERS };

static const struct limit_terms tiers[TIERS] =
    {{.kind = LIMIT_BUCKET, .capacity = 16, .rate = 1, .period_ns = 3600000 * MS},
     {.kind = LIMIT_BUCKET, .capacity = 160, .rate = 3, .period_ns = 3600000 * MS}};

static struct charge charge_of(unsigned i, unsigned tier)
{
    return tier_charge(i, "alice", tiers, TIERS, tier, 1);
}

static unsigned drain(unsigned i, unsigned tier)
{
    unsigned taken = 0;
    const struct charge charge = charge_of(i, tier);
    while (node_ask(world.host[i].node, &charge, true, world.now_ns).allowed)
        taken++;
    world_run(500);
    return taken;
}

/* The tokens of which the node knows, whatever tier it has the key under. */
static int64_t used_at(unsigned i)
{
    const struct node *node = world.host[i].node;
    const struct entry *entry = table_find(node->table, charge_of(i, PRO).id);
    const struct limit *limit = &node->limits.limit[entry->limit];
    return (limit->capacity_units - entry->bucket.settled + entry->bucket.unsettled) / limit->units_per_token;
}

int main(void)
{
    world_of(3);
    world_links(CAT, LINK_CUT);
    world_run(2000);
    for (unsigned i = ANN; i <= CAT; i++)
        (void)charge_of(i, FREE);
    const unsigned of_ann = drain(ANN, FREE), of_bob = drain(BOB, PRO);
    OK(of_ann > 0 && of_bob > 20, "ann's clients take %u of 16 tokens, and bob's %u of 160", of_ann, of_bob);
    OK_U64(world_stats(ANN).uncharged_keys, 1, "ann lacks tokens, and does not charge what bob's have taken");
    const int64_t taken = of_ann + of_bob;
    world_links(CAT, LINK_FINE);
    world_run(3000);
    OK_U64(world_stats(ANN).uncharged_keys, 0, "when cat is heard again she does");
    for (unsigned i = ANN; i <= CAT; i++)
        OK(used_at(i) >= taken - 1 && used_at(i) <= taken, "and %s knows of %" PRId64 ", less what has refilled",
           host_names[i], used_at(i));
    world_close();
    return tap_done();
}
