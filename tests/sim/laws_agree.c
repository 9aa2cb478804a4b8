/*
 * What must hold again when all faults are over and load pauses, the law `agreement`: nothing unsettled, logs empty,
 * everyone active; no view above the high truth (a spend was forgotten), none below the low one by more than what its
 * lateness explains (a spend that nobody made).
 *
 * How long that may take is in laws_time.c, what steady load gets afterwards in laws_utilisation.c, and what holds at
 * every moment in laws.c.
 */
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

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
        struct bucket bucket = sim_bucket(sim, i, k);
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
    size_t count = node_peers(sim->node[i].node, world_local_ns(sim, i), reports);
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

static bool all_are_active(struct sim *sim)
{
    char text[256];
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        if (sim->node[i].life != LIFE_FORGOTTEN &&
            (!world_is_up(sim, i) || !peers_are_active(sim, i, text, sizeof text)))
            return false;
    return true;
}

/* Who waits for what the liar made up settles nothing: what it has spent itself is not in its settled figures. */
bool laws_may_compare(struct sim *sim, unsigned i)
{
    char text[256];
    return sim->node[i].life == LIFE_UP && (!sim->lied_ahead || node_is_settled(sim, i, text, sizeof text));
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
            !takeover_is_over(sim, i, text, room) || !weights_are_over(sim, i, text, room) ||
            !lists_are_over(sim, i, text, room))
            return false;
    }
    return edit_is_settled(sim, text, room);
}

/*
 * A table was too small; or a log was, so that batches were merged, and whoever cannot tell any more what he has of one
 * charges it once more. Where limits change, the truth is that of the widest one.
 */
static bool may_be_too_low(const struct sim *sim)
{
    return sim->evicted || sim->merged || sim->lied_low || sim->plan.lists.enabled || sim->plan.tiers;
}

/*
 * A spend that refill may pay off within an interval waits for that, until it is told after all
 * (cluster/log/deferred_round.c).
 */
static uint64_t waits_ns(const struct sim *sim, const struct limit *limit)
{
    bool may_wait = limit_refill_ns(limit, limit->units_per_token) <= sim->plan.interval_ns;
    return may_wait ? LAWS_WAITS_INTERVALS_MAX * sim->plan.interval_ns : 0;
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
        int64_t settled = sim_bucket(sim, i, key).settled;
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
    struct bucket bucket = sim_bucket(sim, i, key);
    const int64_t slack = truth_rounding_units(limit) + rights_view_slack_units(sim, i, truth, limit, limit->home);
    if (bucket.settled > truth->high + slack)
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
    if (!laws_are_settled(sim, text, sizeof text) && !(sim->lied_ahead && all_are_active(sim))) {
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
            if (laws_may_compare(sim, i))
                check_view(sim, i, k, late_ns);
        check_agreement(sim, k, late_ns);
    }
}
