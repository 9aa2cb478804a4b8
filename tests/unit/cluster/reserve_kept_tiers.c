#include "cluster/state/node_state.h"
#include "tests/lib/cluster_stores.h"
#include "tests/lib/commit_tokens.h"
#include "tests/lib/kept_world.h"
#include "tests/lib/tier_charge.h"

/*
 * A reservation goes on over a restart, and its key is there under another tier of its rule: what it does not use
 * comes back all the same, once.
 */

enum { FREE, PRO, TIERS };
enum { HELD = 40, USED = 5 };

#define HOUR_NS (UINT64_C(3600) * 1000 * MS)

static const struct limit_terms buckets[TIERS] =
    {{.kind = LIMIT_BUCKET, .flags = LIMIT_PERSISTENT, .capacity = 10, .rate = 1, .period_ns = HOUR_NS},
     {.kind = LIMIT_BUCKET, .flags = LIMIT_PERSISTENT, .capacity = 100, .rate = 3, .period_ns = HOUR_NS}};
static const struct limit_terms windows[TIERS] = {{.kind = LIMIT_CELL, .flags = LIMIT_PERSISTENT, .capacity = 10},
                                                  {.kind = LIMIT_CELL, .flags = LIMIT_PERSISTENT, .capacity = 100}};
static const struct limit_terms logs[TIERS] =
    {{.kind = LIMIT_LOG, .flags = LIMIT_PERSISTENT, .capacity = 10, .period_ns = HOUR_NS},
     {.kind = LIMIT_LOG, .flags = LIMIT_PERSISTENT, .capacity = 100, .period_ns = HOUR_NS}};

static const char *const kinds[LIMIT_KINDS] = {"a bucket", "a window", "a log"};

static const struct limit_terms *tiers;

static struct charge charge_of(unsigned i, unsigned tier, uint64_t cost)
{
    return tier_charge(i, "alice", tiers, TIERS, tier, cost);
}

/* As a node with the rule knows them. */
static void note_tiers(unsigned i)
{
    for (unsigned tier = 0; tier < TIERS; tier++)
        (void)charge_of(i, tier, 0);
}

static bool take(unsigned i, unsigned tier, uint64_t cost)
{
    const struct charge charge = charge_of(i, tier, cost);
    return node_ask(world.host[i].node, &charge, true, world.now_ns).allowed;
}

static bool reserve(uint64_t cost, struct reservation_id *id)
{
    const struct charge charge = charge_of(ANN, PRO, cost);
    struct verdict verdict;
    return node_reserve(world.host[ANN].node, &charge, 1, HOUR_NS / 2, world.now_ns, &verdict, id);
}

/* Whole tokens, under whatever tier the key has there. */
static uint64_t used(unsigned i)
{
    const struct charge charge = charge_of(i, PRO, 0);
    struct node *node = world.host[i].node;
    const struct entry *entry = table_find(node->table, charge.id);
    if (!entry)
        return 0;
    const struct bucket bucket = node_bucket(node, charge.id, entry->limit, world.now_ns);
    const struct limit *limit = node_limit(node, entry->limit);
    return (uint64_t)((limit->capacity_units - bucket.settled + bucket.unsettled + limit->units_per_token - 1) /
                      limit->units_per_token);
}

/* A peer has the key under the smaller tier, and gives it to the next start so. */
static void beside_peer(unsigned kind)
{
    struct reservation_id id = {{0}};
    uint64_t charged = 0;
    world_init(2);
    world_name_all();
    for (unsigned i = 0; i < 2; i++)
        world.host[i].options.reservations_max = KEPT_MAX;
    world_start_all();
    world_run(1000);
    skip_text();
    for (unsigned i = 0; i < 2; i++)
        note_tiers(i);
    OK(take(BOB, FREE, 1), "%s: bob's client takes one under the smaller tier,", kinds[kind]);
    world_run(300);
    OK(reserve(HELD, &id), "ann's reserves under the wider one,");
    world_run(300);
    OK(!take(BOB, FREE, 1), "and bob's is refused");
    world_run(300);
    kept_stop(ANN);
    world_start(ANN);
    note_tiers(ANN);
    OK_U64(kept_recall(ANN), 1, "ann's next start has the reservation");
    world_run(1000);
    OK(used(ANN) == HELD + 1 && used(BOB) == HELD + 1, "both count it: %" PRIu64 ", %" PRIu64, used(ANN),
       used(BOB));
    OK(commit_tokens(world.host[ANN].node, id, USED, world.now_ns, &charged) == RESERVE_DONE && charged == USED,
       "less was used of it");
    world_run(1000);
    /* of a bucket others credit a part of a token less */
    OK(used(ANN) == USED + 1 && used(BOB) >= USED + 1 && used(BOB) <= USED + 2,
       "the rest is there again: %" PRIu64 ", %" PRIu64 " are used", used(ANN), used(BOB));
    node_validate(world.host[ANN].node);
    world_close();
}

/*
 * The store was told of the key under the wider tier. A request under the smaller one was refused, and left it under
 * that. So `held` is so little that the smaller tier can owe it.
 */
static void alone(unsigned kind, uint64_t held)
{
    struct reservation_id id = {{0}};
    uint64_t charged = 0;
    memset(stores_count, 0, sizeof stores_count);
    world_init(1);
    world.host[ANN].options.reservations_max = KEPT_MAX;
    world_start_all();
    world_run(1000);
    skip_text();
    world.watch = keep_all;
    note_tiers(ANN);
    OK(reserve(held, &id), "%s: a node that is alone holds %" PRIu64 " under the wider tier", kinds[kind], held);
    world_run(300);
    OK_U64(stores_count[ANN], 1, "its store knows that");
    OK(!take(ANN, FREE, 8), "a request under the smaller tier is refused");
    world_run(300);
    kept_stop(ANN);
    OK(kept.count == 1 && kept.reservation[0].key[0].terms.capacity != stores[ANN][0].terms.capacity,
       "the reservation goes on, under the tier of that");
    restore(ANN);
    note_tiers(ANN);
    OK_U64(kept_recall(ANN), 1, "the next start has it");
    world_run(300);
    OK_U64(used(ANN), held, "and counts it");
    OK(commit_tokens(world.host[ANN].node, id, 1, world.now_ns, &charged) == RESERVE_DONE && charged == 1,
       "one was used of it");
    OK_U64(used(ANN), 1, "the rest is there again");
    node_validate(world.host[ANN].node);
    world_close();
}

/* The store has the key under a limit that is no tier of the rule. Its tokens are others: nothing comes back. */
static void other_limit(void)
{
    struct reservation_id id = {{0}};
    memset(stores_count, 0, sizeof stores_count);
    world_init(1);
    world.host[ANN].options.reservations_max = KEPT_MAX;
    world_start_all();
    world_run(1000);
    skip_text();
    world.watch = keep_all;
    note_tiers(ANN);
    OK(reserve(HELD, &id), "a node that is alone holds 40");
    world_run(300);
    kept_stop(ANN);
    stores[ANN][0].terms.capacity *= 2;
    restore(ANN);
    note_tiers(ANN);
    OK_U64(kept_recall(ANN), 1, "the next start has them, of a key that has another limit");
    world_run(300);
    OK(used(ANN) == HELD && node_cancel(world.host[ANN].node, id, world.now_ns) == RESERVE_DONE &&
           used(ANN) == HELD,
       "and nothing of them comes back");
    world_close();
}

int main(void)
{
    const struct limit_terms *const all[LIMIT_KINDS] = {buckets, windows, logs};
    for (unsigned kind = 0; kind < LIMIT_KINDS; kind++) {
        tiers = all[kind];
        beside_peer(kind);
        alone(kind, 7);
    }
    tiers = windows;
    alone(LIMIT_CELL, HELD);
    other_limit();
    tiers = logs;
    alone(LIMIT_LOG, HELD);
    return tap_done();
}
