#include "cluster/state/node_state.h"
#include "tests/lib/refunds_world.h"
#include "tests/lib/tier_charge.h"

/*
 * Ann's clients spend and give back under the tiers of one rule, and bob has the key under now the one, now the other.
 * What ann gives back, bob credits, under whatever tier he has the key. Nothing comes back by itself meanwhile.
 */

enum { FREE, PRO, TIERS };

static const struct limit_terms buckets[TIERS] =
    {{.kind = LIMIT_BUCKET, .capacity = 10, .rate = 1, .period_ns = 3600000 * MS},
     {.kind = LIMIT_BUCKET, .capacity = 100, .rate = 3, .period_ns = 3600000 * MS}};
static const struct limit_terms windows[TIERS] = {{.kind = LIMIT_CELL, .capacity = 10},
                                                  {.kind = LIMIT_CELL, .capacity = 100}};

static struct charge charge_of(unsigned i, const struct limit_terms *tiers, unsigned tier, uint64_t cost)
{
    return tier_charge(i, "alice", tiers, TIERS, tier, cost);
}

static bool take(unsigned i, const struct limit_terms *tiers, unsigned tier, uint64_t cost)
{
    const struct charge charge = charge_of(i, tiers, tier, cost);
    return node_ask(world.host[i].node, &charge, true, world.now_ns).allowed;
}

static int64_t used(unsigned i, const struct limit_terms *tiers)
{
    const struct charge charge = charge_of(i, tiers, PRO, 0);
    const struct entry *entry = table_find(world.host[i].node->table, charge.id);
    const struct limit *limit = &world.host[i].node->limits.limit[entry->limit];
    const struct bucket bucket = node_bucket(world.host[i].node, charge.id, entry->limit, world.now_ns);
    return (limit->capacity_units - bucket.settled + bucket.unsettled) / limit->units_per_token;
}

/* Bob's clients ask under `before` when ann has spent nothing yet, and under `after` when she has. */
static void gives_back(const struct limit_terms *tiers, unsigned before, unsigned after, const char *what)
{
    world_of(2);
    for (unsigned t = 0; t < TIERS; t++)
        (void)charge_of(ANN, tiers, t, 0);
    const bool begun = take(BOB, tiers, before, 1);
    world_run(300);
    const bool spent = take(ANN, tiers, PRO, 40);
    world_run(300);
    (void)take(BOB, tiers, after, 1);
    world_run(300);
    const int64_t at_most = used(BOB, tiers);
    const struct charge charge = charge_of(ANN, tiers, PRO, 40);
    const uint64_t given = node_return(world.host[ANN].node, &charge, 1, 35, world.now_ns);
    world_run(300);
    const int64_t left = at_most - used(BOB, tiers);
    OK(begun && spent && at_most >= 40 && given == 35 && left >= 34 && left <= 35,
       "%s: 35 of 40 come back, bob has %lld", what, (long long)left);
    OK(world.host[BOB].node->stats.unspent_returns == 0, "... and none of them was not ann's to give");
    world_close();
}

int main(void)
{
    gives_back(buckets, PRO, PRO, "under one tier");
    gives_back(buckets, FREE, FREE, "under the smaller one");
    gives_back(buckets, FREE, PRO, "from the smaller to the wider one");
    gives_back(windows, FREE, FREE, "of a window under the smaller one");
    gives_back(windows, FREE, PRO, "of a window from the smaller to the wider one");
    return tap_done();
}
