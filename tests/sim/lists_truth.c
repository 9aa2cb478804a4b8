/*
 * The truth where limits of configs change. It is that of the widest limit: as large as the largest list that was in
 * force anywhere, with the highest rate of all.
 *
 * A view under a smaller list ends at that list's overshoot. What is used beyond that is lacking there: when the key
 * gets another limit at that node, or others take its view, it is forgotten, and the truth is given it back
 * (docs/accounting.md, "Whose config counts"). Views are charged with vouchers when they are granted, so tokens in
 * vouchers are used here, as they are not in the truth.
 */
#include "tests/sim/key_limit.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <assert.h>

/* The truth of each key under the limit `to`, of which as much is used as before. */
static void move_truth(struct sim *sim, unsigned name, const struct limit *to)
{
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        struct truth *truth = &sim->truth[k];
        const struct limit *from = sim_limit(sim, k);
        if (sim->plan.key[k].limit != name)
            continue;
        truth_now(sim, k);
        for (unsigned i = 0; i < sim->plan.nodes; i++)
            sim->lists.lacks[i][k] = units_under(sim->lists.lacks[i][k], from, to);
        truth->high = to->capacity_units - units_under(from->capacity_units - truth->high, from, to);
        truth->low = to->capacity_units - units_under(from->capacity_units - truth->low, from, to);
        truth->doubtful = units_under(truth->doubtful, from, to);
        truth->leapt = units_under(truth->leapt, from, to);
        truth->high_tick = clock_read(&sim->fast, sim->now_ns) / to->tick_ns;
        truth->low_tick = clock_read(&sim->slow, sim->now_ns) / to->tick_ns;
    }
    sim->lists.widest[name] = *to;
}

static const struct limit_terms *terms_in(const struct sim *sim, unsigned list, unsigned name)
{
    const struct named_limits *named = &sim->plan.lists.list[list].named;
    const int at = named_limit_find(named, bytes_of(sim->plan.limits.named.limit[name].name));
    assert(at >= 0);
    return &named->limit[at].terms;
}

static uint64_t highest_rate(const struct sim *sim, unsigned name)
{
    uint64_t rate = 0;
    for (unsigned l = 0; l < sim->plan.lists.count; l++)
        rate = terms_in(sim, l, name)->rate > rate ? terms_in(sim, l, name)->rate : rate;
    return rate;
}

void lists_truth_widens(struct sim *sim, unsigned list)
{
    const bool is_first = sim->lists.in_force == 0;
    if ((sim->lists.in_force >> list & 1) != 0)
        return;
    sim->lists.in_force |= 1u << list;
    for (unsigned name = 0; name < sim->plan.limits.count; name++) {
        const struct limit_terms *more = terms_in(sim, list, name);
        struct limit_terms terms = *more;
        const struct limit *now = &sim->lists.widest[name];
        const uint64_t all = more->capacity + more->overshoot;
        terms.rate = highest_rate(sim, name);
        if (!is_first) {
            const uint64_t before = now->capacity + now->overshoot;
            terms.capacity = more->capacity > now->capacity ? more->capacity : now->capacity;
            terms.overshoot = (all > before ? all : before) - terms.capacity;
        }
        const struct limit limit = limit_made(&terms);
        if (is_first)
            sim->lists.widest[name] = limit;
        else
            move_truth(sim, name, &limit);
    }
}

void lists_init(struct sim *sim)
{
    if (sim->plan.lists.enabled)
        lists_truth_widens(sim, 0);
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static int64_t most_of(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The limit under which the node has the key; NULL: it has nothing of it. */
static const struct limit *limit_held(const struct sim *sim, unsigned i, unsigned key)
{
    const struct node *node = sim->node[i].node;
    const int index = key_limit(node, sim->plan.key[key].id);
    return index >= 0 ? node_limit(node, (uint16_t)index) : NULL;
}

/* A key of which a node has nothing begins, as of then, under the limit that some spender has of it. */
static uint64_t smallest_anywhere(const struct sim *sim, unsigned key)
{
    uint64_t all = UINT64_MAX;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        const struct limit_terms *terms = terms_in(sim, sim->lists.node[i].force, sim->plan.key[key].limit);
        if (world_is_up(sim, i) && terms->capacity + terms->overshoot < all)
            all = terms->capacity + terms->overshoot;
    }
    return all;
}

/* What views are charged with, of the key's widest limit. */
static int64_t used_units(struct sim *sim, unsigned key)
{
    return sim_limit(sim, key)->capacity_units - sim->truth[key].high + rights_out_units(sim, key);
}

/*
 * A view under a limit ends at the overshoot of that, whatever is used: what goes beyond is lacking, until refill has
 * paid all off.
 */
void lists_truth_spent(struct sim *sim, unsigned key)
{
    const struct limit *limit = sim_limit(sim, key);
    truth_now(sim, key);
    const int64_t used = used_units(sim, key);
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        int64_t *lacks = &sim->lists.lacks[i][key];
        if (!world_is_up(sim, i))
            continue;
        const struct limit *held = limit_held(sim, i, key);
        const uint64_t most = held != NULL ? held->capacity + held->overshoot : smallest_anywhere(sim, key);
        *lacks = most_of(least(*lacks, used), used - (int64_t)most * limit->units_per_token);
    }
}

/* What the node's view lacks is forgotten, as its next limit may be larger, or another node has it from there. */
static void forgive(struct sim *sim, unsigned i, unsigned key)
{
    lists_truth_spent(sim, key);
    const int64_t units = sim->lists.lacks[i][key];
    if (units == 0)
        return;
    story_tell(sim, "truth", "%.2f tokens of key %u are forgotten at %s, which were beyond a smaller limit",
               truth_tokens(sim_limit(sim, key), units), key, sim->node[i].name);
    sim->lists.forgiven++;
    rights_forgotten(sim, key, units);
    for (unsigned j = 0; j < sim->plan.nodes; j++)
        sim->lists.lacks[j][key] -= least(units, sim->lists.lacks[j][key]);
}

uint16_t sim_index(struct sim *sim, unsigned i, unsigned key)
{
    const uint16_t name = sim->plan.key[key].limit;
    if (!sim->plan.lists.enabled)
        return name;
    const int index = node_find_limit(sim->node[i].node, terms_in(sim, sim->lists.node[i].force, name));
    assert(index >= 0);
    const struct limit *from = limit_held(sim, i, key), *to = node_limit(sim->node[i].node, (uint16_t)index),
                       *widest = sim_limit(sim, key);
    if (from != NULL && from != to) {
        sim->lists.conversions++;
        forgive(sim, i, key);
        sim->lists.lacks[i][key] =
            most_of(0, used_units(sim, key) - (int64_t)(to->capacity + to->overshoot) * widest->units_per_token);
    }
    return (uint16_t)index;
}

struct charge sim_charge(const struct sim *sim, unsigned key, uint16_t limit, uint64_t cost)
{
    return (struct charge){.id = sim->plan.key[key].id,
                           .limit = limit,
                           .cost = cost,
                           .inherit = sim->plan.tiers ? INHERIT_TIERS : INHERIT_KEEP};
}

struct charge sim_request(struct sim *sim, unsigned i, unsigned key, uint64_t cost)
{
    return sim_charge(sim, key, sim->plan.tiers ? tiers_asked(sim, i) : sim_index(sim, i, key), cost);
}

struct bucket sim_bucket(struct sim *sim, unsigned i, unsigned key)
{
    const struct plan_key *of = &sim->plan.key[key];
    struct node *node = sim->node[i].node;
    const bool many = sim->plan.lists.enabled || sim->plan.tiers;
    const int held = many ? key_limit(node, of->id) : -1;
    const uint16_t index = held >= 0 ? (uint16_t)held : sim_index(sim, i, key);
    struct bucket bucket = node_bucket(node, of->id, index, world_local_ns(sim, i));
    if (!many)
        return bucket;
    return bucket_under(&bucket, node_limit(node, index), sim_limit(sim, key));
}

/* No view is better than that of its donor, which may be any. */
static void note_snapshot(struct sim *sim, unsigned i)
{
    struct node_stats stats;
    node_stats(sim->node[i].node, &stats);
    if (stats.snapshots_taken != sim->lists.node[i].snapshots)
        for (unsigned k = 0; k < sim->plan.keys; k++)
            for (unsigned j = 0; j < sim->plan.nodes; j++)
                forgive(sim, j, k);
    sim->lists.node[i].snapshots = stats.snapshots_taken;
}

void lists_truth_after_step(struct sim *sim, unsigned i)
{
    note_snapshot(sim, i);
    for (unsigned k = 0; k < sim->plan.keys; k++)
        lists_truth_spent(sim, k);
}

/* All keys go over to it now, so that what they forget is known. */
void lists_end(struct sim *sim)
{
    if (!sim->plan.lists.enabled)
        return;
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        for (unsigned k = 0; k < sim->plan.keys && world_is_up(sim, i); k++)
            forgive(sim, i, k);
    for (unsigned name = 0; name < sim->plan.limits.count; name++) {
        const struct limit limit = limit_made(terms_in(sim, sim->lists.last, name));
        move_truth(sim, name, &limit);
    }
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const struct limit *limit = sim_limit(sim, k);
        const int64_t least = rights_out_units(sim, k) - limit->overshoot_units;
        if (sim->truth[k].high < least)
            sim->truth[k].high = least;
    }
    laws_begin(sim);
}
