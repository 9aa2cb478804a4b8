/*
 * Asks under another limit than the key has where it is granted: another tier of its rule, or what the rule says by
 * now. Ann's region is the home; bob asks. Nodes are 40 ms apart.
 */
#include "cluster/spend/limits.h"
#include "cluster/state/node_state.h"
#include "tests/lib/rights_world.h"
#include "tests/lib/tier_charge.h"

static const struct limit_terms kinds[] = {
    {.kind = LIMIT_BUCKET, .rate = 1, .period_ns = UINT64_C(3600000) * MS},
    {.kind = LIMIT_CELL},
    {.kind = LIMIT_LOG, .period_ns = UINT64_C(3600000) * MS},
};
static const char *const kind_names[] = {"a bucket", "a window", "a log"};

enum { KINDS = sizeof kinds / sizeof kinds[0] };

static struct limit_terms terms_of(unsigned kind, uint64_t capacity)
{
    struct limit_terms terms = kinds[kind];
    terms.capacity = capacity;
    terms.home = limit_home_of(bytes_of("ann's"));
    return terms;
}

static bool takes(unsigned host, struct charge charge)
{
    struct verdict verdict;
    (void)node_check_each(world.host[host].node, &charge, 1, &charge.id, 1, world.now_ns, &verdict);
    world_push(host);
    return verdict.allowed;
}

static bool takes_soon(unsigned host, struct charge charge)
{
    for (unsigned trips = 0; trips < 5; trips++) {
        if (takes(host, charge))
            return true;
        world_run(TURN_MS);
    }
    return false;
}

static uint16_t limit_at(unsigned host, struct key_id id)
{
    const struct entry *entry = table_find(world.host[host].node->table, id);
    return entry ? entry->limit : UINT16_MAX;
}

static void another_tier(unsigned kind)
{
    const struct limit_terms tiers[] = {terms_of(kind, 50), terms_of(kind, 100)};
    const char *const name = kind_names[kind];
    OK(takes(ANN, tier_charge(ANN, "tier", tiers, 2, 1, 20)), "%s: ann's client of the large tier takes 20 of 100",
       name);
    world_run(500);
    (void)tier_charge(ANN, "tier", tiers, 2, 0, 1); /* the rule is known there */
    OK(takes_soon(BOB, tier_charge(BOB, "tier", tiers, 2, 0, 10)), "... bob's of the small one has 10 of 50");
    OK(takes_soon(BOB, tier_charge(BOB, "tier", tiers, 2, 1, 60)), "... and one of the large tier 60 more");
    OK(!takes_soon(BOB, tier_charge(BOB, "tier", tiers, 2, 0, 1)), "... then the small tier has none");
    OK(!takes_soon(BOB, tier_charge(BOB, "tier", tiers, 2, 1, 11)), "... nor has the large one 11");
}

/* Ann tells under the large tier what she spent under it, and the grant with it. */
static void told_under_the_other_tier(void)
{
    const struct limit_terms tiers[] = {terms_of(1, 50), terms_of(1, 100)};
    for (unsigned tier = 0; tier < 2; tier++)
        (void)tier_charge(ANN, "told", tiers, 2, tier, 1);
    OK(!takes(BOB, tier_charge(BOB, "told", tiers, 2, 0, 10)), "bob asks");
    world_run(WAY_MS - 1);
    OK(takes(ANN, tier_charge(ANN, "told", tiers, 2, 1, 5)), "ann's client takes five just before that is heard");
    OK(takes_soon(BOB, tier_charge(BOB, "told", tiers, 2, 0, 10)), "bob's client has what was granted");
    world_run(3000);
    OK_I64(tier_used(ANN, tier_charge(ANN, "told", tiers, 2, 0, 1).id), 15, "... and nothing else is used");
}

/* All hear of it in one step. */
static void now_in_force(const char *key, const struct limit_terms *terms, enum bucket_inherit how)
{
    for (unsigned host = ANN; host <= CAT; host++)
        limits_note_named(world.host[host].node, charge_at(host, key, terms, 1).limit, how);
    world_run(200);
}

static void a_changed_rule(unsigned kind)
{
    const struct limit_terms before = terms_of(kind, 100), after = terms_of(kind, 90);
    const char *const name_of = kind_names[kind];
    now_in_force("changed", &before, INHERIT_KEEP);
    OK(takes(ANN, charge_at(ANN, "changed", &before, 20)), "%s: ann's client takes 20 of 100", name_of);
    OK(takes(ANN, charge_at(ANN, "owes", &before, 95)), "... another one 95");
    world_run(500);
    now_in_force("changed", &after, INHERIT_KEEP);
    const struct charge asked = charge_at(BOB, "changed", &after, 10);
    OK(takes_soon(BOB, asked), "... of 90, which the rule says now, bob's has 10");
    OK(limit_at(ANN, asked.id) == charge_at(ANN, "changed", &after, 1).limit, "... as ann's would");
    OK(!takes_soon(BOB, charge_at(BOB, "owes", &after, 1)), "... of what is used up he has none");
    OK(limit_at(ANN, charge_at(ANN, "owes", &after, 1).id) == charge_at(ANN, "owes", &before, 1).limit,
       "... nor is it forgotten there");
    OK(!takes_soon(CAT, charge_at(CAT, "changed", &before, 5)), "who goes by the former rule is granted nothing");
    OK(limit_at(ANN, asked.id) == charge_at(ANN, "changed", &after, 1).limit, "... and the key has the new limit");
}

static void in_proportion(void)
{
    const struct limit_terms before = terms_of(1, 100), after = terms_of(1, 200);
    now_in_force("part", &before, INHERIT_KEEP);
    OK(takes(ANN, charge_at(ANN, "part", &before, 80)), "80 of 100 are used");
    world_run(500);
    now_in_force("part", &after, INHERIT_PROPORTIONAL);
    struct charge charge = charge_at(BOB, "part", &after, 41);
    charge.inherit = INHERIT_PROPORTIONAL;
    OK(!takes_soon(BOB, charge), "in proportion that is 160 of 200: bob has no 41");
    charge.cost = 40;
    OK(takes_soon(BOB, charge), "... but 40");
}

int main(void)
{
    for (unsigned kind = 0; kind < KINDS; kind++) {
        rights_world_init(3);
        rights_world_start();
        another_tier(kind);
        a_changed_rule(kind);
        world_close();
    }
    rights_world_init(3);
    rights_world_start();
    told_under_the_other_tier();
    in_proportion();
    world_close();
    return tap_done();
}
