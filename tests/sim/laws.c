/*
 * What must hold at every moment of every run. What holds again once all faults are over is in laws_agree.c.
 *
 *   overshoot    the high truth of a key never falls below -E. Nothing is added to E for lost messages, cuts
 *                or pauses. What a crash may cost is given back to the truth at the crash: the node's
 *                unsettled spends, which somebody may never hear of, and what its own share of the refill has
 *                paid off of them since its last acknowledged batch. A node that goes on alone without a
 *                snapshot has forgotten what others spent: then the truth starts full again.
 *                A node that is not even waited for: see unawaited.c.
 *   reach        the same for what all nodes would admit if everyone asked now: a law that would break with
 *                the next burst is broken.
 *   shares       the sum of all shares is at most the whole, whatever the views; of each limit: homes.c and
 *                rule_weights.c.
 *   limits       logs, tables, messages and steps stay within their options.
 *   digest       nobody has batches that nobody has made.
 *   merge        what two views of a key come to is the same in whatever order, and however often, they are merged.
 */
#include "tests/sim/laws.h"

#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

enum { STEP_SLICES_MAX = 4, UNEVEN_KEYS = 16 };

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

void truth_now(struct sim *sim, unsigned key)
{
    truth_refill(&sim->truth[key], sim_limit(sim, key), clock_read(&sim->fast, sim->now_ns),
                 clock_read(&sim->slow, sim->now_ns));
}

bool laws_are_off(const struct sim *sim)
{
    return sim->quiet_laws || sim->plan.corrupt > 0;
}

static int64_t lowest_units(struct sim *sim, unsigned key)
{
    const struct limit *limit = sim_limit(sim, key);
    return -limit->overshoot_units - truth_rounding_units(limit) - rights_slack_units(sim, &sim->truth[key], limit);
}

void laws_after_admit(struct sim *sim, unsigned i, unsigned key)
{
    const struct limit *limit = sim_limit(sim, key);
    if (laws_are_off(sim))
        return;
    if (sim->truth[key].high < lowest_units(sim, key))
        sim_fail(sim,
                 "overshoot: %s admitted key %u to %.3f tokens below zero, declared %" PRIu64 " (C %" PRIu64 ")",
                 sim->node[i].name, key, -truth_tokens(limit, sim->truth[key].high), limit->overshoot,
                 limit->capacity);
}

/* Whoever asks a node for a key has it convert what it has under another limit. */
static bool may_touch(const struct sim *sim)
{
    return (!sim->plan.lists.lazy && !sim->plan.tiers_lazy) || sim->phase > PHASE_AGREE;
}

/* Tokens that the node would admit of the key at once by itself, of whatever tier, beside those of a voucher. */
static uint64_t tokens_within_reach(struct sim *sim, unsigned i, unsigned key)
{
    const struct limit *limit = sim_limit(sim, key);
    const unsigned tiers = sim->plan.tiers ? sim->plan.limits.count : 1;
    uint64_t most = 0;
    for (unsigned t = 0; t < tiers; t++) {
        const struct charge charge =
            sim_charge(sim, key, sim->plan.tiers ? (uint16_t)t : sim_index(sim, i, key), 1);
        const struct verdict verdict = node_ask(sim->node[i].node, &charge, false, world_local_ns(sim, i));
        const uint64_t tokens = verdict.available_tokens;
        const int64_t granted = rights_units(sim, i, charge.id, charge.limit, limit) / limit->units_per_token;
        if (tokens > limit->capacity)
            sim_fail(sim, "reach: %s says that %" PRIu64 " tokens are left of %" PRIu64, sim->node[i].name, tokens,
                     limit->capacity);
        else if ((verdict.allowed || verdict.reason == VERDICT_ALLOWED) &&
                 number_minus(tokens, (uint64_t)granted) > most)
            most = number_minus(tokens, (uint64_t)granted);
    }
    return most;
}

/* What all would admit of one key if everyone asked at this moment. */
static void check_reach(struct sim *sim, unsigned key)
{
    const struct plan_key *plan_key = &sim->plan.key[key];
    const struct limit *limit = sim_limit(sim, key);
    int64_t reach = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (!world_is_up(sim, i) || sim->node[i].unawaited)
            continue;
        reach += (int64_t)tokens_within_reach(sim, i, key) * limit->units_per_token;
        reach += rights_units(sim, i, plan_key->id, sim_index(sim, i, key), limit);
    }
    truth_now(sim, key);
    int64_t below = sim->truth[key].high - reach;
    if (below < lowest_units(sim, key))
        sim_fail(
            sim,
            "reach: together the nodes would admit %.0f of key %u now, to %.3f tokens below zero, declared %" PRIu64
            " (C %" PRIu64 ")",
            truth_tokens(limit, reach), key, -truth_tokens(limit, below), limit->overshoot, limit->capacity);
}

/*
 * A node that leaves admits nothing any more: others may use its share from then on. One whose word nobody waits for
 * (unawaited.c) divides its region's weight among those whom it knows, which need not be those who joined meanwhile.
 */
uint64_t laws_sum_of_shares(const struct sim *sim)
{
    uint64_t sum = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        struct node_status status;
        if (sim->node[i].life != LIFE_UP || sim->node[i].unawaited)
            continue;
        node_status(sim->node[i].node, &status);
        sum += status.share;
    }
    return sum;
}

static void check_shares(struct sim *sim)
{
    uint64_t sum = laws_sum_of_shares(sim);
    if (sum > SHARE_ONE)
        sim_fail(sim, "shares: they add up to %.6f", (double)sum / (double)SHARE_ONE);
}

void laws_note_evictions(struct sim *sim, unsigned i)
{
    struct table_stats table;
    node_table_stats(sim->node[i].node, &table);
    sim->evicted |= table.evicted_harmful_keys > 0;
}

static struct step_figures figures(struct sim *sim, unsigned i)
{
    const struct step_figures of = step_figures_of(sim->node[i].node);
    sim->merged |= of.batches_compacted > 0;
    return of;
}

void laws_before_step(struct sim *sim, unsigned i, bool serves)
{
    sim->node[i].before = figures(sim, i);
    sim->node[i].before.serves = serves;
}

/*
 * Slices, and what a step does however much it is: it tells what is urgent, which was untold before, held by
 * reservations that end now or are taken over from a former life, granted to others in this step, or given back of
 * vouchers; and looks at a part of its table that is asked for, which holds as much as others on the average, since ids
 * are hashes.
 */
static void check_work(struct sim *sim, unsigned i, const struct step_figures *before,
                       const struct step_figures *now, uint64_t untold)
{
    uint64_t ended = before->reservations - now->reservations, slice = sim->plan.step_keys;
    uint64_t most =
        STEP_SLICES_MAX * slice + untold + ended * (1 + ASK_CHARGES_MAX) + (before->serves ? UNEVEN_KEYS : 0);
    most += (before->former - now->former) * (1 + ASK_CHARGES_MAX);
    most += sim->plan.takeover_after_ns > 0 ? before->log_keys : 0; /* who comes back settles its former spends */
    if (slice == 0)
        return;
    if (now->step_keys_max > before->step_keys_max && now->step_keys_max > most)
        sim_fail(sim, "steps: one of %s worked on %" PRIu64 " keys, at most %" PRIu64 " are expected",
                 sim->node[i].name, now->step_keys_max, most);
    if (ended > slice)
        sim_fail(sim, "steps: one of %s ended %" PRIu64 " reservations, at most %" PRIu64 " are expected",
                 sim->node[i].name, ended, slice);
}

/*
 * What was untold when a log came to its limit is told all the same. Nothing else makes it larger, but what comes of
 * one who is gone; and nothing more is spent.
 */
static void check_log(struct sim *sim, unsigned i, const struct step_figures *before,
                      const struct step_figures *now, uint64_t untold)
{
    const struct sim_node *n = &sim->node[i];
    uint64_t limit = sim->plan.log_keys_max, then = before->log_keys - before->ghost_keys;
    if (sim->plan.takeover_after_ns > 0) /* who comes back tells spends of its former start anew */
        then = before->log_keys;
    uint64_t keys = now->log_keys - now->ghost_keys;
    if (keys > (then > limit ? then : limit) + untold)
        sim_fail(sim,
                 "log: %s keeps %" PRIu64 " spends, which were %" PRIu64 ", and %" PRIu64
                 " untold ones; the limit is %" PRIu64,
                 n->name, keys, then, untold, limit);
    if (n->was.log_keys > limit && before->open_keys > n->was.open_keys)
        sim_fail(sim,
                 "log: %s has spent what it can tell nobody, of %" PRIu64 " keys; it keeps %" PRIu64
                 " spends, the limit is %" PRIu64,
                 n->name, before->open_keys - n->was.open_keys, n->was.log_keys, limit);
}

static void note_doubted(struct sim *sim, unsigned i, bool first)
{
    struct sim_node *n = &sim->node[i];
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        uint64_t tokens = node_doubted_tokens(n->node, sim->plan.key[k].limit);
        sim->doubted_tokens[k] += tokens - (first ? 0 : n->doubted_tokens[k]);
        n->doubted_tokens[k] = tokens;
    }
}

static void check_step(struct sim *sim, unsigned i)
{
    struct sim_node *n = &sim->node[i];
    const struct step_figures now = figures(sim, i);
    uint64_t ended = n->before.reservations - now.reservations;
    uint64_t untold = n->before.open_keys + ended * ASK_CHARGES_MAX + now.rights - n->before.rights;
    check_work(sim, i, &n->before, &now, untold);
    check_log(sim, i, &n->before, &now, untold);
    if (now.doubted_tokens > n->before.doubted_tokens && !sim->plan.lists.enabled && !sim->plan.tiers)
        note_doubted(sim, i, n->before.doubted_tokens == 0);
    n->was = now;
}

static void check_limits(struct sim *sim, unsigned i)
{
    struct node_stats stats;
    struct table_stats table;
    const struct sim_node *n = &sim->node[i];
    node_stats(n->node, &stats);
    node_table_stats(n->node, &table);
    if (stats.log_keys - stats.log_ghost_keys > sim->plan.log_keys_max + sim->plan.keys + ask_keys(sim))
        sim_fail(sim, "log: %s keeps %" PRIu64 " spends, the limit is %" PRIu64, n->name, stats.log_keys,
                 sim->plan.log_keys_max);
    if (stats.messages_invalid > 0 && sim->phase == PHASE_SAFETY && !laws_are_off(sim) &&
        !liars_lie_in_snapshots(sim))
        sim_fail(sim, "messages: %s calls a true message nonsense", n->name);
    if ((stats.messages_impostor > 0 || stats.messages_orphaned > 0) && !laws_are_off(sim))
        sim_fail(sim, "messages: %s hears one in the name of another than its sender", n->name);
    if (stats.batches_missing > UINT32_MAX && !laws_are_off(sim))
        sim_fail(sim, "digest: %s hears of batches that nobody has made", n->name);
    if (stats.messages_unreadable > 0 && !laws_are_off(sim))
        sim_fail(sim, "messages: %s cannot read a message of its own version", n->name);
    if (stats.messages_unknown_kind > 0 && sim->plan.newer == 0 && !laws_are_off(sim))
        sim_fail(sim, "messages: %s does not know a kind of its own release", n->name);
    laws_note_evictions(sim, i);
    if (world_is_acknowledged(sim, i))
        sim->node[i].acked_ns = clock_read(&sim->fast, sim->now_ns);
    if (table.used_keys > table.capacity_keys)
        sim_fail(sim, "table: %s uses %" PRIu64 " of %" PRIu64 " keys", n->name, table.used_keys,
                 table.capacity_keys);
}

void laws_knowledge_lost(struct sim *sim, unsigned i)
{
    sim->knowledge_lost = true;
    ask_knowledge_lost(sim);
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        truth_now(sim, k);
        truth_refund(&sim->truth[k], sim_limit(sim, k), sim_limit(sim, k)->capacity_units - sim->truth[k].high);
    }
    rights_home_forgets(sim, i);
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
    if (stats.snapshots_taken > 0)
        rights_home_starts(sim, i);
    if (n->lied_to && stats.second_donors == 0)
        laws_knowledge_lost(sim, i); /* the figures are the liar's word alone */
    if (n->cold || stats.snapshots_taken > 0)
        return;
    sim->alone = true;
    laws_knowledge_lost(sim, i);
    unawaited_begin(sim, i);
}

void laws_after_step(struct sim *sim, unsigned i)
{
    watch_joining(sim, i);
    unawaited_after_step(sim);
    if (sim->steps % 4 == 0)
        check_shares(sim);
    homes_after_step(sim);
    rule_weights_after_step(sim, i);
    if (sim->steps % 16 == 0)
        check_limits(sim, i);
    if (!laws_are_off(sim) && may_touch(sim))
        check_reach(sim, (unsigned)(sim->steps % sim->plan.keys));
    ask_laws_after_step(sim, i);
    rights_after_step(sim, i);
    takeover_after_step(sim);
    check_step(sim, i);
}

/* A node of another config, or of another list of limits, has other figures. */
static bool has_terms_of_plan(const struct sim *sim, unsigned i, unsigned key)
{
    const struct limit_terms terms = limit_terms_of(sim_limit(sim, key)),
                             there = limit_terms_of(node_limit(sim->node[i].node, sim->plan.key[key].limit));
    return limit_terms_equal(&terms, &there);
}

/* What peers say of a key lowers it to the same whatever their order and however often, and never raises it. */
static void check_merge(struct sim *sim, unsigned key)
{
    const struct limit *limit = sim_limit(sim, key);
    struct bucket seen[3];
    unsigned count = 0;
    for (unsigned i = 0; i < sim->plan.nodes && count < 3; i++) {
        if (!world_is_up(sim, i) || !has_terms_of_plan(sim, i, key))
            continue;
        uint64_t now_ns = world_local_ns(sim, i);
        seen[count] = node_bucket(sim->node[i].node, sim->plan.key[key].id, sim->plan.key[key].limit, now_ns);
        count++;
    }
    if (count < 3)
        return;
    const uint64_t said[] = {bucket_number(&seen[1], limit), bucket_number(&seen[2], limit)};
    struct bucket there = seen[0], back = seen[0], again;
    bucket_lower_to(&there, limit, said[0], 0);
    bucket_lower_to(&there, limit, said[1], 0);
    bucket_lower_to(&back, limit, said[1], 0);
    bucket_lower_to(&back, limit, said[0], 0);
    again = there;
    bucket_lower_to(&again, limit, said[0], 0);
    if (there.settled != back.settled)
        sim_fail(sim, "merge: the order of two peers matters for key %u", key);
    if (again.settled != there.settled)
        sim_fail(sim, "merge: a peer that is heard twice lowers key %u twice", key);
    if (there.settled > seen[0].settled || there.unsettled != seen[0].unsettled)
        sim_fail(sim, "merge: raises key %u", key);
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
    for (unsigned k = 0; k < sim->plan.keys && may_touch(sim); k++)
        check_reach(sim, k);
    if (!sim->plan.lists.enabled && !sim->plan.tiers) /* nodes have it under one limit */
        check_merge(sim, (unsigned)random_below(&sim->load_random, sim->plan.keys));
}
