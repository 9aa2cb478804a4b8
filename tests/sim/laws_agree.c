/*
 * What must hold again when all faults are over, and how long that may take.
 *
 *   agreement    when all faults are over and load pauses: nothing unsettled, logs empty, everyone active;
 *                no view above the high truth (a spend was forgotten), none below the low one by more than
 *                what its lateness explains (a spend that nobody made).
 *   utilisation  under steady load at least 90% of the rate is admitted again, once an overshoot is repaid.
 *
 * What holds at every moment is in laws.c.
 */
#include "tests/sim/sim.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MEASURED_KEYS_MAX = 2,
    SMALL_LOG_KEYS = 256,
    SNAPSHOT_PARTS_AT_ONCE = 6,
    WAITS_INTERVALS_MAX = 20,
    REFUSED_INTERVALS_MAX = 64, /* parts of snapshots that lack what was dropped here are not taken for so long */
    STEP_PARTS = 16, /* of a step's keys may be told in it, or applied, or settled: no smaller part of them */
    STEP_TURNS = 4,  /* each key is told, applied, tallied and settled */
};

/* ---- how long it may take ---- */

/* How long it may take until so many keys are told that are not urgent. */
static uint64_t telling_ns(const struct sim *sim, uint64_t keys)
{
    uint64_t ns = sim->plan.tell_pace == 0 ? 0 : keys * UINT64_C(1000000000) / sim->plan.tell_pace;
    return ns < UINT64_C(4000000000) ? ns : UINT64_C(4000000000);
}

uint64_t laws_untold_ns(const struct sim *sim)
{
    return telling_ns(sim, sim->plan.untold_max);
}

static uint64_t round_trip_ns(const struct sim *sim)
{
    return 2 * (sim->plan.latency_max_ns + sim->plan.latency_max_ns / 65536 * sim->plan.jitter);
}

/* Own spends of the node's that somebody may not know. */
static uint64_t own_keys(const struct sim *sim, unsigned i)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    struct node_stats stats;
    node_stats(sim->node[i].node, &stats);
    (void)node_peers(sim->node[i].node, world_local_ns(sim, i), reports, NODE_PEERS_MAX);
    uint64_t told = reports[0].log_batches * sim->plan.step_keys; /* of itself; no batch has more than that */
    return stats.open_keys + (told < stats.log_keys ? told : stats.log_keys);
}

/*
 * Where steps are apart, load may come faster than it can be worked on: what is under way when it ends is untold, or in
 * the log of who spent it, and each node works on all of that, a part in each step. What is left calls for the next.
 */
static uint64_t steps_ns(const struct sim *sim)
{
    uint64_t keys = 0, part = sim->plan.step_keys / STEP_PARTS + 1;
    for (unsigned i = 0; i < sim->plan.nodes && sim->plan.apart_ns > 0; i++)
        keys += world_is_up(sim, i) ? own_keys(sim, i) : 0;
    return (keys + part - 1) / part * STEP_TURNS * sim->plan.apart_ns;
}

/* Three intervals and the way there and back at its slowest. */
uint64_t laws_settle_ns(const struct sim *sim)
{
    return 3 * sim->plan.interval_ns + laws_untold_ns(sim) + round_trip_ns(sim) + steps_ns(sim);
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
    return snapshots * (rounds + parts / SNAPSHOT_PARTS_AT_ONCE) * round_trip_ns(sim);
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
 * crash while others take their tables.
 */
static uint64_t refused_ns(const struct sim *sim)
{
    bool may_be = sim->plan.log_keys_max < SMALL_LOG_KEYS || (sim->plan.faults & 1u << FAULT_CRASH) != 0;
    return may_be ? REFUSED_INTERVALS_MAX * sim->plan.interval_ns : 0;
}

/* What was spent while news was late may wait for as long before it is told. */
uint64_t laws_agree_ns(const struct sim *sim)
{
    return laws_settle_ns(sim) + WAITS_INTERVALS_MAX * sim->plan.interval_ns + sim->plan.join_timeout_ns +
           2 * sim->plan.silent_after_ns + faults_longest_way_ns(sim) + snapshots_ns(sim) + refused_ns(sim) +
           retelling_ns(sim) + edit_agree_ns(sim) + takeover_agree_ns(sim) + weights_agree_ns(sim);
}

/* ---- agreement ---- */

static bool node_is_settled(struct sim *sim, unsigned i, char *text, size_t room)
{
    const struct sim_node *n = &sim->node[i];
    struct node_status status;
    struct node_stats stats;
    node_status(n->node, &status);
    node_stats(n->node, &stats);
    if (status.state != PEER_ACTIVE) {
        (void)snprintf(text, room, "%s is %s", n->name, peer_state_name(status.state));
        return false;
    }
    if (stats.log_batches != 0 || stats.log_keys != 0 || stats.batches_waiting != 0 || stats.open_keys != 0) {
        (void)snprintf(text, room,
                       "%s keeps %" PRIu64 " batches with %" PRIu64 " spends in its log, %" PRIu64 " wait, %" PRIu64
                       " spends are not told",
                       n->name, stats.log_batches, stats.log_keys, stats.batches_waiting, stats.open_keys);
        return false;
    }
    /* Of what one who is gone told a peer, nobody may have batches: it comes with a snapshot, some intervals later. */
    if (stats.batches_missing != 0) {
        (void)snprintf(text, room, "%s lacks %" PRIu64 " batches that others have", n->name, stats.batches_missing);
        return false;
    }
    /* What an evicted key had unsettled is remembered for its group of keys, and only refill pays it off. */
    for (unsigned k = 0; k < sim->plan.keys && !sim->evicted; k++) {
        struct bucket bucket =
            node_bucket(n->node, sim->plan.key[k].id, sim->plan.key[k].limit, world_local_ns(sim, i));
        if (bucket.unsettled != 0) {
            (void)snprintf(text, room, "%s has %.3f tokens of key %u unsettled", n->name,
                           truth_tokens(sim_limit(sim, k), bucket.unsettled), k);
            return false;
        }
    }
    return ask_is_settled(sim, i, text, room);
}

static bool peers_are_active(struct sim *sim, unsigned i, char *text, size_t room)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    size_t count = node_peers(sim->node[i].node, world_local_ns(sim, i), reports, NODE_PEERS_MAX);
    for (unsigned j = 0; j < sim->plan.nodes; j++) {
        enum peer_state state = PEER_LEFT;
        for (size_t r = 0; r < count; r++)
            if (strcmp(reports[r].name, sim->node[j].name) == 0)
                state = reports[r].state;
        enum peer_state expected = sim->node[j].life == LIFE_FORGOTTEN ? PEER_LEFT : PEER_ACTIVE;
        if (state != expected) {
            (void)snprintf(text, room, "%s sees %s as %s, not %s", sim->node[i].name, sim->node[j].name,
                           peer_state_name(state), peer_state_name(expected));
            return false;
        }
    }
    return true;
}

bool laws_are_settled(struct sim *sim, char *text, size_t room)
{
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (sim->node[i].life == LIFE_FORGOTTEN)
            continue;
        if (!world_is_up(sim, i)) {
            (void)snprintf(text, room, "%s is not up", sim->node[i].name);
            return false;
        }
        if (!node_is_settled(sim, i, text, room) || !peers_are_active(sim, i, text, room) ||
            !takeover_is_over(sim, i, text, room) || !weights_are_over(sim, i, text, room))
            return false;
    }
    return edit_is_settled(sim, text, room);
}

/*
 * A table was too small; or a log was, so that batches were merged, and whoever cannot tell any more what he has of one
 * charges it once more.
 */
static bool may_be_too_low(const struct sim *sim)
{
    return sim->evicted || sim->merged;
}

/*
 * A spend that refill may pay off within an interval waits for that, until it is told after all
 * (cluster/log/deferred_round.c).
 */
static uint64_t waits_ns(const struct sim *sim, const struct limit *limit)
{
    bool may_wait = limit_refill_ns(limit, limit->units_per_token) <= sim->plan.interval_ns;
    return may_wait ? WAITS_INTERVALS_MAX * sim->plan.interval_ns : 0;
}

/*
 * A bucket that was full when it heard of a spend lost the refill of the time between. Who took a part of a snapshot
 * that may contain more than its donor had told charges that once more when it comes as batches, and counts it. Whoever
 * takes a snapshot of him is too low by as much, and by what he counts himself: by no more than what all have counted.
 * Of what peers spent on behalf of others, some may never have been used.
 */
static double late_units(const struct sim *sim, unsigned key, uint64_t lateness_ns)
{
    const struct limit *limit = sim_limit(sim, key);
    return (double)(lateness_ns + waits_ns(sim, limit)) / (double)limit->tick_ns * (double)limit->units_per_tick *
               1.001 +
           (double)truth_rounding_units(limit) +
           (double)(sim->doubted_tokens[key] + sim->rights.all.granted) * (double)limit->units_per_token;
}

/* Whatever was lost: in the end all have heard of the same spends, unless somebody went on alone and knew none. */
static void check_agreement(struct sim *sim, unsigned key, uint64_t lateness_ns)
{
    const struct limit *limit = sim_limit(sim, key);
    int64_t most = INT64_MIN, least = INT64_MAX;
    unsigned highest = 0, lowest = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (sim->node[i].life != LIFE_UP)
            continue;
        int64_t settled =
            node_bucket(sim->node[i].node, sim->plan.key[key].id, sim->plan.key[key].limit, world_local_ns(sim, i))
                .settled;
        if (settled > most)
            most = settled, highest = i;
        if (settled < least)
            least = settled, lowest = i;
    }
    if (!may_be_too_low(sim) && !sim->alone && most > least &&
        (double)(most - least) > late_units(sim, key, lateness_ns))
        sim_fail(sim, "agreement: of key %u %s sees %.3f tokens and %s %.3f; lateness explains %.3f", key,
                 sim->node[highest].name, truth_tokens(limit, most), sim->node[lowest].name,
                 truth_tokens(limit, least), late_units(sim, key, lateness_ns) / (double)limit->units_per_token);
}

static void check_view(struct sim *sim, unsigned i, unsigned key, uint64_t lateness_ns)
{
    const struct limit *limit = sim_limit(sim, key);
    struct truth *truth = &sim->truth[key];
    struct bucket bucket =
        node_bucket(sim->node[i].node, sim->plan.key[key].id, sim->plan.key[key].limit, world_local_ns(sim, i));
    if (bucket.settled > truth->high + truth_rounding_units(limit) + rights_slack_units(sim, truth, limit))
        sim_fail(sim, "forgotten: %s sees %.3f tokens of key %u, the truth is %.3f", sim->node[i].name,
                 truth_tokens(limit, bucket.settled), key, truth_tokens(limit, truth->high));
    if (may_be_too_low(sim))
        return;
    if ((double)bucket.settled < (double)truth->low - late_units(sim, key, lateness_ns))
        sim_fail(sim, "phantom: %s sees %.3f tokens of key %u, the truth is %.3f and lateness explains %.3f",
                 sim->node[i].name, truth_tokens(limit, bucket.settled), key, truth_tokens(limit, truth->low),
                 late_units(sim, key, lateness_ns) / (double)limit->units_per_token);
}

void laws_agree(struct sim *sim, uint64_t lateness_ns)
{
    char text[256];
    if (!laws_are_settled(sim, text, sizeof text)) {
        sim_fail(sim, "agreement: %.3f s after healing %s", (double)(sim->now_ns - sim->healed_ns) / 1e9, text);
        return;
    }
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        if (sim->node[i].life == LIFE_UP)
            laws_note_evictions(sim, i); /* also those since the limits were last checked */
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        truth_now(sim, k);
        /* A key that was not full since the faults has heard of them late, and of clocks that jumped. */
        bool rested = sim->phase != PHASE_AGREE && sim->rested[k];
        uint64_t late_ns = rested ? lateness_ns : clock_read(&sim->fast, sim->now_ns);
        for (unsigned i = 0; i < sim->plan.nodes; i++)
            if (sim->node[i].life == LIFE_UP)
                check_view(sim, i, k, late_ns);
        check_agreement(sim, k, late_ns);
    }
}

/* ---- utilisation ---- */

static int64_t settle_time_ns(const struct sim *sim)
{
    return (int64_t)(sim->plan.interval_ns + 4 * sim->plan.latency_max_ns);
}

void laws_begin(struct sim *sim)
{
    unsigned count = 0;
    bool measures = sim->plan.table_keys > SIM_KEYS_MAX;
    for (unsigned k = 0; k < sim->plan.keys && measures; k++) {
        const struct limit *limit = sim_limit(sim, k);
        double refill_ns = (double)limit->capacity * (double)limit->period_ns / (double)limit->rate;
        sim->measured[k] = count < MEASURED_KEYS_MAX && sim->arrivals == NULL &&
                           limit->capacity >= 40 * sim->plan.nodes && refill_ns > 8 * (double)settle_time_ns(sim) &&
                           refill_ns < 60 * (double)sim->plan.interval_ns;
        count += sim->measured[k];
    }
}

/*
 * At three times the rate, what is in a full bucket is spent in half the time of its refill. Views stay full until
 * they are told: they lose the refill of that time, are in debt by as much when they are, and for as long. Only
 * measured keys are spent from, and told.
 */
uint64_t laws_warm_up_ns(const struct sim *sim, uint64_t refill_ns)
{
    uint64_t keys = 0;
    for (unsigned k = 0; k < sim->plan.keys; k++)
        keys += sim->measured[k];
    return refill_ns + 2 * telling_ns(sim, keys);
}

static uint64_t snapshots_taken(const struct sim *sim)
{
    uint64_t taken = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        struct node_stats stats = {0};
        if (world_is_up(sim, i))
            node_stats(sim->node[i].node, &stats);
        taken += stats.snapshots_taken;
    }
    return taken;
}

void laws_measuring_begins(struct sim *sim)
{
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        truth_now(sim, k);
        const int64_t left = sim->truth[k].high;
        sim->measured_left[k] = left;
        sim->measured_debt[k] = left < 0 ? truth_tokens(sim_limit(sim, k), -left) : 0;
        sim->measured_tokens[k] = sim->truth[k].admitted_tokens;
    }
    sim->measured_from_ns = sim->now_ns;
    sim->measured_admissions = sim->admissions;
    sim->measured_snapshots = snapshots_taken(sim);
}

/*
 * More requests were admitted than steps that are apart are sure to apply. What waits to be applied grows, views lose
 * refill while they are full and old, and that lasts for longer than the warm-up. Own spends stay in the log for as
 * long: a small one is full then, and requests are refused.
 */
static bool steps_lag(const struct sim *sim)
{
    uint64_t admitted = sim->admissions - sim->measured_admissions, part = sim->plan.step_keys / STEP_PARTS + 1;
    return sim->plan.apart_ns > 0 && admitted * sim->plan.apart_ns > (sim->now_ns - sim->measured_from_ns) * part;
}

/*
 * A log may be so small that a message lost under steady load makes a peer need a snapshot. A snapshot does not say how
 * old it is: the view that takes it loses the refill of its way, and so do those that take that one's.
 */
static double lost_with_snapshots(const struct sim *sim, const struct limit *limit)
{
    double way_ns = (double)round_trip_ns(sim) / 2;
    double taken = (double)(snapshots_taken(sim) - sim->measured_snapshots);
    return taken * way_ns * (double)limit->rate / (double)limit->period_ns;
}

/*
 * Where peers grant each other rights, those who have had their parts leave tokens for one that is short of its part
 * (contest.h): half of the capacity at most. Until these are there, less is admitted.
 */
static double kept_for_others(struct sim *sim, unsigned k)
{
    const struct limit *limit = sim_limit(sim, k);
    truth_now(sim, k);
    const int64_t more = sim->truth[k].high - (sim->measured_left[k] > 0 ? sim->measured_left[k] : 0),
                  most = limit->capacity_units / 2;
    return sim->plan.grants && more > 0 ? (double)(more < most ? more : most) / (double)limit->units_per_token : 0;
}

/* The weights of deserted regions lie idle: then little can be expected. */
void laws_utilisation(struct sim *sim)
{
    if (laws_sum_of_shares(sim) < SHARE_ONE / 10 * 6 || steps_lag(sim))
        return;
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const struct limit *limit = sim_limit(sim, k);
        if (!sim->measured[k])
            continue;
        double ideal =
            (double)(sim->now_ns - sim->measured_from_ns) * (double)limit->rate / (double)limit->period_ns -
            sim->measured_debt[k];
        double admitted = (double)(sim->truth[k].admitted_tokens - sim->measured_tokens[k]);
        story_tell(sim, "load", "key %u: %.0f tokens admitted of %.0f, %.3f", k, admitted, ideal, admitted / ideal);
        if (admitted + kept_for_others(sim, k) < 0.9 * ideal - lost_with_snapshots(sim, limit))
            sim_fail(sim, "utilisation: %.0f of %.0f tokens of key %u admitted under steady load, %.3f", admitted,
                     ideal, k, admitted / ideal);
    }
}
