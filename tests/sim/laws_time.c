/*
 * How long nodes may take: until a spend is told, until it has settled everywhere, and until all agree once faults are
 * over. Each term stands for one reason to wait, so a law that waits too short or too long has one place to look at.
 */
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

enum {
    SMALL_LOG_KEYS = 256,
    SNAPSHOT_PARTS_AT_ONCE = 6,
    VAIN_INTERVALS_MAX = 240,   /* a donor that lies is asked for so long, before another one is */
    REFUSED_INTERVALS_MAX = 64, /* parts of snapshots that lack what was dropped here are not taken for so long */
    STEP_PARTS = 16, /* of a step's keys may be told in it, or applied, or settled: no smaller part of them */
    STEP_TURNS = 4,  /* each key is told, applied, tallied and settled */
};

uint64_t laws_telling_ns(const struct sim *sim, uint64_t keys)
{
    uint64_t ns = sim->plan.tell_pace == 0 ? 0 : keys * UINT64_C(1000000000) / sim->plan.tell_pace;
    return ns < UINT64_C(4000000000) ? ns : UINT64_C(4000000000);
}

uint64_t laws_untold_ns(const struct sim *sim)
{
    return laws_telling_ns(sim, sim->plan.untold_max);
}

uint64_t laws_round_trip_ns(const struct sim *sim)
{
    return 2 * (sim->plan.latency_max_ns + sim->plan.latency_max_ns / 65536 * sim->plan.jitter);
}

uint64_t laws_step_part(const struct sim *sim)
{
    return sim->plan.step_keys / STEP_PARTS + 1;
}

/* Own spends of the node's that somebody may not know. */
static uint64_t own_keys(const struct sim *sim, unsigned i)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    struct node_stats stats;
    node_stats(sim->node[i].node, &stats);
    (void)node_peers(sim->node[i].node, world_local_ns(sim, i), reports);
    uint64_t told = reports[0].log_batches * sim->plan.step_keys; /* of itself; no batch has more than that */
    return stats.open_keys + (told < stats.log_keys ? told : stats.log_keys);
}

/*
 * Where steps are apart, load may come faster than it can be worked on: what is under way when it ends is untold, or in
 * the log of who spent it, and each node works on all of that, a part in each step. What is left calls for the next.
 */
static uint64_t steps_ns(const struct sim *sim)
{
    uint64_t keys = 0, part = laws_step_part(sim);
    for (unsigned i = 0; i < sim->plan.nodes && sim->plan.apart_ns > 0; i++)
        keys += world_is_up(sim, i) ? own_keys(sim, i) : 0;
    return (keys + part - 1) / part * STEP_TURNS * sim->plan.apart_ns;
}

/* Three intervals and the way there and back at its slowest. */
uint64_t laws_settle_ns(const struct sim *sim)
{
    return 3 * sim->plan.interval_ns + laws_untold_ns(sim) + laws_round_trip_ns(sim) + steps_ns(sim);
}

/*
 * A table comes in parts of no more than step_keys, half full at least on the average, SNAPSHOT_PARTS_AT_ONCE in a
 * round trip; before that the first of them is found by halving. Where logs are so small that peers lack more of each
 * other than is kept, what one's donor lacks itself comes with another snapshot, at worst from one more node each time.
 * What the stores of others had comes before, one after the other.
 */
static uint64_t snapshots_ns(const struct sim *sim)
{
    uint64_t keys = 0, rounds = 0;
    for (unsigned i = 0; i < sim->plan.nodes && sim->plan.step_keys > 0; i++) {
        struct table_stats table = {0};
        if (world_is_up(sim, i))
            node_table_stats(sim->node[i].node, &table);
        keys = table.used_keys > keys ? table.used_keys : keys;
    }
    uint64_t parts = sim->plan.step_keys > 0 ? 2 * keys / sim->plan.step_keys : 0;
    for (uint64_t halves = parts; halves > 0; halves /= 2)
        rounds++;
    uint64_t snapshots = sim->plan.log_keys_max < SMALL_LOG_KEYS ? sim->plan.nodes - 1 : 1;
    snapshots += sim->plan.disks ? sim->plan.nodes - 1 : 0;
    return snapshots * (rounds + parts / SNAPSHOT_PARTS_AT_ONCE) * laws_round_trip_ns(sim);
}

/*
 * What was kept for peers that were out of reach may not be due to be said again for long, but rides along with every
 * interval's message: as much of it as one step of theirs works on.
 */
static uint64_t retelling_ns(const struct sim *sim)
{
    uint64_t keys = 0;
    for (unsigned i = 0; i < sim->plan.nodes && sim->plan.step_keys > 0; i++) {
        struct node_stats stats = {0};
        if (world_is_up(sim, i))
            node_stats(sim->node[i].node, &stats);
        keys = stats.log_keys > keys ? stats.log_keys : keys;
    }
    return sim->plan.step_keys > 0 ? keys / sim->plan.step_keys * sim->plan.interval_ns : 0;
}

/*
 * Each of two may have by snapshots what the other lacks of somebody who is gone: where logs are small, or where nodes
 * crash, or leave unheard, while others take their tables. Where nodes sign, a start takes two tables, one after the
 * other.
 */
static uint64_t refused_ns(const struct sim *sim)
{
    const bool may_be = sim->plan.log_keys_max < SMALL_LOG_KEYS || sim->plan.restarts ||
                        (sim->plan.faults & 1u << FAULT_CRASH) != 0;
    const uint64_t tables = sim->plan.lies ? 2 : 1;
    return may_be ? tables * REFUSED_INTERVALS_MAX * sim->plan.interval_ns : 0;
}

/* What was spent while news was late may wait for as long before it is told. */
uint64_t laws_agree_ns(const struct sim *sim)
{
    return laws_settle_ns(sim) + LAWS_WAITS_INTERVALS_MAX * sim->plan.interval_ns + sim->plan.join_timeout_ns +
           2 * sim->plan.silent_after_ns + faults_longest_way_ns(sim) + snapshots_ns(sim) + refused_ns(sim) +
           retelling_ns(sim) + edit_agree_ns(sim) + takeover_agree_ns(sim) + weights_agree_ns(sim) +
           lists_agree_ns(sim) + (liars_lie_in_snapshots(sim) ? VAIN_INTERVALS_MAX * sim->plan.interval_ns : 0);
}
