/*
 * What must hold in every run.
 *
 *   overshoot    the high truth of a key never falls below -E. Nothing is added to E for lost messages, cuts
 *                or pauses. What a crash may cost is given back to the truth at the crash: the node's
 *                unsettled spends, which somebody may never hear of, and what its own share of the refill has
 *                paid off of them since its last acknowledged batch. A node that goes on alone without a
 *                snapshot has forgotten what others spent: then the truth starts full again.
 *                A node that is not even waited for: see unawaited.c.
 *   reach        the same for what all nodes would admit if everyone asked now: a law that would break with
 *                the next burst is broken.
 *   shares       the sum of all shares is at most the whole, whatever the views.
 *   limits       logs, tables, messages and steps stay within their options.
 *   agreement    when all faults are over and load pauses: nothing unsettled, logs empty, everyone active;
 *                no view above the high truth (a spend was forgotten), none below the low one by more than
 *                what its lateness explains (a spend that nobody made).
 *   utilisation  under steady load at least 90% of the rate is admitted again.
 */
#include "tests/sim/sim.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum {
    MEASURED_KEYS_MAX = 2,
    SMALL_LOG_KEYS = 256,
    STEP_SLICES_MAX = 4,
    SNAPSHOT_PARTS_AT_ONCE = 6,
    WAITS_INTERVALS_MAX = 10
};

void sim_fail(struct sim *sim, const char *format, ...)
{
    if (sim->failure[0] != '\0')
        return;
    int used = snprintf(sim->failure, sizeof sim->failure, "at %.6f s, ", (double)sim->now_ns / 1e9);
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(sim->failure + used, sizeof sim->failure - (size_t)used, format, arguments);
    va_end(arguments);
    story_tell(sim, "LAW BROKEN", "%s", sim->failure);
}

static const struct limit *limit_of(const struct sim *sim, unsigned key)
{
    return &sim->plan.limits.limit[sim->plan.key[key].limit];
}

static double tokens(const struct limit *limit, int64_t units)
{
    return (double)units / (double)limit->units_per_token;
}

static int64_t settle_time_ns(const struct sim *sim)
{
    return (int64_t)(sim->plan.interval_ns + 4 * sim->plan.latency_max_ns);
}

void laws_begin(struct sim *sim)
{
    unsigned count = 0;
    for (unsigned k = 0; k < sim->plan.keys && sim->plan.table_keys > SIM_KEYS_MAX; k++) {
        const struct limit *limit = limit_of(sim, k);
        double refill_ns = (double)limit->capacity * (double)limit->period_ns / (double)limit->rate;
        sim->measured[k] = count < MEASURED_KEYS_MAX && sim->arrivals == NULL &&
                           limit->capacity >= 40 * sim->plan.nodes && refill_ns > 8 * (double)settle_time_ns(sim) &&
                           refill_ns < 60 * (double)sim->plan.interval_ns;
        count += sim->measured[k];
    }
}

void truth_now(struct sim *sim, unsigned key)
{
    truth_refill(&sim->truth[key], limit_of(sim, key), clock_read(&sim->fast, sim->now_ns),
                 clock_read(&sim->slow, sim->now_ns));
}

bool laws_are_off(const struct sim *sim)
{
    return sim->quiet_laws || sim->plan.corrupt > 0;
}

void laws_after_admit(struct sim *sim, unsigned i, unsigned key)
{
    const struct limit *limit = limit_of(sim, key);
    if (laws_are_off(sim))
        return;
    if (sim->truth[key].high < -limit->overshoot_units - truth_rounding_units(limit))
        sim_fail(sim,
                 "overshoot: %s admitted key %u to %.3f tokens below zero, declared %" PRIu64 " (C %" PRIu64 ")",
                 sim->node[i].name, key, -tokens(limit, sim->truth[key].high), limit->overshoot, limit->capacity);
}

/* What all would admit of one key if everyone asked at this moment. */
static void check_reach(struct sim *sim, unsigned key)
{
    const struct plan_key *plan_key = &sim->plan.key[key];
    const struct limit *limit = limit_of(sim, key);
    int64_t reach = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (!world_is_up(sim, i) || sim->node[i].unawaited)
            continue;
        struct verdict verdict =
            node_peek(sim->node[i].node, plan_key->id, plan_key->limit, 1, world_local_ns(sim, i));
        if (verdict.remaining_tokens > limit->capacity)
            sim_fail(sim, "reach: %s says that %" PRIu64 " tokens are left of %" PRIu64, sim->node[i].name,
                     verdict.remaining_tokens, limit->capacity);
        else if (verdict.allowed || verdict.reason == VERDICT_ALLOWED)
            reach += (int64_t)verdict.remaining_tokens * limit->units_per_token;
    }
    truth_now(sim, key);
    int64_t below = sim->truth[key].high - reach;
    if (below < -limit->overshoot_units - truth_rounding_units(limit))
        sim_fail(
            sim,
            "reach: together the nodes would admit %.0f of key %u now, to %.3f tokens below zero, declared %" PRIu64
            " (C %" PRIu64 ")",
            tokens(limit, reach), key, -tokens(limit, below), limit->overshoot, limit->capacity);
}

/* A node that leaves admits nothing any more: others may use its share from then on. */
static uint64_t sum_of_shares(const struct sim *sim)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        struct node_status status;
        if (sim->node[i].life != LIFE_UP)
            continue;
        node_status(sim->node[i].node, &status);
        sum += status.share;
    }
    return sum;
}

static void check_shares(struct sim *sim)
{
    uint64_t sum = sum_of_shares(sim);
    if (sum > SHARE_ONE)
        sim_fail(sim, "shares: they add up to %.6f", (double)sum / (double)SHARE_ONE);
}

/*
 * A table was too small; or logs are, so that all is merged and forgotten early, and whoever cannot tell any more what
 * he has of it charges it once more.
 */
static bool may_be_too_low(const struct sim *sim)
{
    return sim->evicted || sim->plan.log_keys_max < SMALL_LOG_KEYS;
}

static void note_evictions(struct sim *sim, unsigned i)
{
    struct table_stats table;
    node_table_stats(sim->node[i].node, &table);
    sim->evicted |= table.evicted_harmful_keys > 0;
}

static void check_limits(struct sim *sim, unsigned i)
{
    struct node_stats stats;
    struct table_stats table;
    const struct sim_node *n = &sim->node[i];
    node_stats(n->node, &stats);
    node_table_stats(n->node, &table);
    /* What was spent before it was full is told all the same. */
    uint64_t slices = (uint64_t)STEP_SLICES_MAX * sim->plan.step_keys + sim->plan.keys; /* all keys may be urgent */
    if (sim->plan.step_keys > 0 && stats.step_keys_max > slices)
        sim_fail(sim, "steps: one of %s worked on %" PRIu64 " keys, at most %" PRIu64 " are expected", n->name,
                 stats.step_keys_max, slices);
    /* What comes of one who is gone is kept as well, and takes steps to be merged. */
    if (stats.log_keys > sim->plan.log_keys_max + 2 * sim->plan.keys)
        sim_fail(sim, "log: %s keeps %" PRIu64 " spends, the limit is %" PRIu64, n->name, stats.log_keys,
                 sim->plan.log_keys_max);
    if (stats.messages_invalid > 0 && sim->phase == PHASE_SAFETY && !laws_are_off(sim))
        sim_fail(sim, "messages: %s calls a true message nonsense", n->name);
    note_evictions(sim, i);
    if (world_is_acknowledged(sim, i))
        sim->node[i].acked_ns = clock_read(&sim->fast, sim->now_ns);
    if (table.used_keys > table.capacity_keys)
        sim_fail(sim, "table: %s uses %" PRIu64 " of %" PRIu64 " keys", n->name, table.used_keys,
                 table.capacity_keys);
}

void laws_knowledge_lost(struct sim *sim)
{
    sim->knowledge_lost = true;
    ask_knowledge_lost(sim);
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        truth_now(sim, k);
        truth_refund(&sim->truth[k], limit_of(sim, k), limit_of(sim, k)->capacity_units - sim->truth[k].high);
    }
}

/* A node that begins to admit without having asked anyone what was spent. */
static void watch_joining(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    struct node_status status;
    struct node_stats stats;
    if (!n->was_joining)
        return;
    node_status(n->node, &status);
    if (status.state != PEER_ACTIVE)
        return;
    n->was_joining = false;
    node_stats(n->node, &stats);
    story_tell(sim, n->name, "is active, share %.4f%s", (double)status.share / (double)SHARE_ONE,
               stats.snapshots_taken > 0 ? "" : ", without a snapshot");
    if (n->cold || stats.snapshots_taken > 0)
        return;
    sim->alone = true;
    laws_knowledge_lost(sim);
    unawaited_begin(sim, i);
}

void laws_after_step(struct sim *sim, unsigned i)
{
    watch_joining(sim, i);
    unawaited_after_step(sim);
    if (sim->steps % 4 == 0)
        check_shares(sim);
    if (sim->steps % 16 == 0)
        check_limits(sim, i);
    if (!laws_are_off(sim))
        check_reach(sim, (unsigned)(sim->steps % sim->plan.keys));
    ask_laws_after_step(sim, i);
}

/* Commutative, associative, idempotent, and never more than either side may spend. */
static void check_merge(struct sim *sim, unsigned key)
{
    const struct limit *limit = limit_of(sim, key);
    struct budget budget;
    struct bucket seen[3];
    unsigned count = 0;
    budget_init(&budget, limit, SHARE_ONE / 3, false);
    for (unsigned i = 0; i < sim->plan.nodes && count < 3; i++) {
        if (!world_is_up(sim, i))
            continue;
        uint64_t now_ns = world_local_ns(sim, i);
        seen[count] = node_bucket(sim->node[i].node, sim->plan.key[key].id, sim->plan.key[key].limit, now_ns);
        seen[count].last_refill_ns = 1000000 * limit->tick_ns - i * 1000 * limit->tick_ns; /* as if on one clock */
        count++;
    }
    if (count < 3)
        return;
    struct bucket ab = seen[0], ba = seen[1], bc = seen[1], twice;
    bucket_merge(&ab, &seen[1], limit, &budget);
    bucket_merge(&ba, &seen[0], limit, &budget);
    bucket_merge(&bc, &seen[2], limit, &budget);
    twice = ab;
    bucket_merge(&twice, &seen[1], limit, &budget);
    struct bucket left = ab, right = seen[0];
    bucket_merge(&left, &seen[2], limit, &budget);
    bucket_merge(&right, &bc, limit, &budget);
    if (ab.settled != ba.settled || ab.unsettled != ba.unsettled || ab.last_refill_ns != ba.last_refill_ns)
        sim_fail(sim, "merge: is not commutative for key %u", key);
    if (twice.settled != ab.settled || twice.unsettled != ab.unsettled)
        sim_fail(sim, "merge: is not idempotent for key %u", key);
    if (left.settled != right.settled || left.last_refill_ns != right.last_refill_ns)
        sim_fail(sim, "merge: is not associative for key %u", key);
}

void laws_sample(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (!world_is_up(sim, i))
            continue;
        node_validate(sim->node[i].node);
        check_limits(sim, i);
    }
    if (laws_are_off(sim))
        return;
    for (unsigned k = 0; k < sim->plan.keys; k++)
        check_reach(sim, k);
    check_merge(sim, (unsigned)random_below(&sim->load_random, sim->plan.keys));
}

uint64_t laws_untold_ns(const struct sim *sim)
{
    const struct plan *plan = &sim->plan;
    uint64_t ns = plan->tell_pace == 0 ? 0 : plan->untold_max * UINT64_C(1000000000) / plan->tell_pace;
    return ns < UINT64_C(4000000000) ? ns : UINT64_C(4000000000);
}

static uint64_t round_trip_ns(const struct sim *sim)
{
    return 2 * (sim->plan.latency_max_ns + sim->plan.latency_max_ns / 65536 * sim->plan.jitter);
}

/* Three intervals and the way there and back at its slowest. */
uint64_t laws_settle_ns(const struct sim *sim)
{
    return 3 * sim->plan.interval_ns + laws_untold_ns(sim) + round_trip_ns(sim);
}

/*
 * A table comes in parts of no more than step_keys, half full at least on the average, SNAPSHOT_PARTS_AT_ONCE in a
 * round trip; before that the first of them is found by halving.
 */
static uint64_t snapshot_ns(const struct sim *sim)
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
    return (rounds + parts / SNAPSHOT_PARTS_AT_ONCE) * round_trip_ns(sim);
}

uint64_t laws_agree_ns(const struct sim *sim)
{
    return laws_settle_ns(sim) + sim->plan.join_timeout_ns + 2 * sim->plan.silent_after_ns + snapshot_ns(sim) +
           edit_agree_ns(sim);
}

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
    /* What an evicted key had unsettled is remembered for its group of keys, and only refill pays it off. */
    for (unsigned k = 0; k < sim->plan.keys && !sim->evicted; k++) {
        struct bucket bucket =
            node_bucket(n->node, sim->plan.key[k].id, sim->plan.key[k].limit, world_local_ns(sim, i));
        if (bucket.unsettled != 0) {
            (void)snprintf(text, room, "%s has %.3f tokens of key %u unsettled", n->name,
                           tokens(limit_of(sim, k), bucket.unsettled), k);
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
        if (!node_is_settled(sim, i, text, room) || !peers_are_active(sim, i, text, room))
            return false;
    }
    return edit_is_settled(sim, text, room);
}

/* A spend that refill may pay off within an interval waits for that, until it is told after all (cluster/pay.c). */
static uint64_t waits_ns(const struct sim *sim, const struct limit *limit)
{
    bool may_wait = limit_refill_ns(limit, limit->units_per_token) <= sim->plan.interval_ns;
    return may_wait ? WAITS_INTERVALS_MAX * sim->plan.interval_ns : 0;
}

/* A bucket that was full when it heard of a spend lost the refill of the time between. */
static double late_units(const struct sim *sim, const struct limit *limit, uint64_t lateness_ns)
{
    return (double)(lateness_ns + waits_ns(sim, limit)) / (double)limit->tick_ns * (double)limit->units_per_tick *
               1.001 +
           (double)truth_rounding_units(limit);
}

/* Whatever was lost: in the end all have heard of the same spends, unless somebody went on alone and knew none. */
static void check_agreement(struct sim *sim, unsigned key, uint64_t lateness_ns)
{
    const struct limit *limit = limit_of(sim, key);
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
        (double)(most - least) > late_units(sim, limit, lateness_ns))
        sim_fail(sim, "agreement: of key %u %s sees %.3f tokens and %s %.3f; lateness explains %.3f", key,
                 sim->node[highest].name, tokens(limit, most), sim->node[lowest].name, tokens(limit, least),
                 late_units(sim, limit, lateness_ns) / (double)limit->units_per_token);
}

static void check_view(struct sim *sim, unsigned i, unsigned key, uint64_t lateness_ns)
{
    const struct limit *limit = limit_of(sim, key);
    const struct truth *truth = &sim->truth[key];
    struct bucket bucket =
        node_bucket(sim->node[i].node, sim->plan.key[key].id, sim->plan.key[key].limit, world_local_ns(sim, i));
    if (bucket.settled > truth->high + truth_rounding_units(limit))
        sim_fail(sim, "forgotten: %s sees %.3f tokens of key %u, the truth is %.3f", sim->node[i].name,
                 tokens(limit, bucket.settled), key, tokens(limit, truth->high));
    if (may_be_too_low(sim))
        return;
    if ((double)bucket.settled < (double)truth->low - late_units(sim, limit, lateness_ns))
        sim_fail(sim, "phantom: %s sees %.3f tokens of key %u, the truth is %.3f and lateness explains %.3f",
                 sim->node[i].name, tokens(limit, bucket.settled), key, tokens(limit, truth->low),
                 late_units(sim, limit, lateness_ns) / (double)limit->units_per_token);
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
            note_evictions(sim, i); /* also those since the limits were last checked */
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

/* The weights of deserted regions lie idle: then little can be expected. */
void laws_utilisation(struct sim *sim)
{
    if (sum_of_shares(sim) < SHARE_ONE / 10 * 6)
        return;
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const struct limit *limit = limit_of(sim, k);
        if (!sim->measured[k])
            continue;
        double ideal =
            (double)(sim->now_ns - sim->measured_from_ns) * (double)limit->rate / (double)limit->period_ns;
        double admitted = (double)(sim->truth[k].admitted_tokens - sim->measured_tokens[k]);
        story_tell(sim, "load", "key %u: %.0f tokens admitted of %.0f, %.3f", k, admitted, ideal, admitted / ideal);
        if (admitted < 0.9 * ideal)
            sim_fail(sim, "utilisation: %.0f of %.0f tokens of key %u admitted under steady load, %.3f", admitted,
                     ideal, k, admitted / ideal);
    }
}
