/*
 * What must hold of vouchers, at every moment, besides overshoot and reach, which count them (laws.c):
 *
 *   rights  peers grant no more than was asked for, but for rounding; a node receives no more than was granted,
 *           and uses no more than it has received.
 *
 * A voucher decays by the clock of its holder, or by one that does not stand still. When another clock leaps ahead, so
 * does the truth, which the fastest clock refills. What the truth loses at the capacity by that, then or later, while
 * the holder takes it to lack what was spent, the holder does not know: at most what the clock gains, and what is in
 * vouchers then, or granted since. As much may be missing of that key, until its truth has been full when no voucher
 * was out. A start that asks nobody has forgotten what it granted, and its view is full: what is in vouchers then may
 * be missing as well. Until a clock leaps or a node starts so, and beside that, nothing may. Of a limit with a home,
 * only leaps of its home's clock count, and starts of its home. Leaps of other clocks count for views of nodes without
 * a share, and once a home starts, which may have its figures from there.
 */
#include "tests/sim/rights.h"

#include "tests/sim/key_limit.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <inttypes.h>

#define LIFE_NS UINT64_C(4000000000) /* of a voucher */

int64_t rights_units(struct sim *sim, unsigned i, struct key_id id, uint16_t limit, const struct limit *of)
{
    struct explanation explanation;
    struct node_status status;
    if (!may_have_voucher(sim->node[i].node, id))
        return 0;
    node_status(sim->node[i].node, &status);
    if (!status.decides)
        return 0;
    node_explain(sim->node[i].node, id, limit, world_local_ns(sim, i), &explanation);
    return (int64_t)explanation.voucher_tokens * of->units_per_token;
}

/* ---- leaps of the fast clock ---- */

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void note_time(struct sim *sim)
{
    if (sim->now_ns - sim->rights.marked_ns < LIFE_NS)
        return;
    sim->rights.marked_before = sim->rights.marked;
    sim->rights.marked = sim->rights.all.granted;
    sim->rights.marked_ns = sim->now_ns;
}

/* No more than this is in vouchers of all keys: what was granted within a life of a voucher, or two. */
static uint64_t granted_lately(const struct sim *sim)
{
    return sim->rights.all.granted - sim->rights.marked_before;
}

static uint64_t held(struct sim *sim, unsigned i, struct key_id id, uint16_t limit)
{
    struct explanation explanation = {0};
    if (sim->node[i].node != NULL)
        node_explain(sim->node[i].node, id, limit, world_local_ns(sim, i), &explanation);
    return explanation.voucher_tokens + 1; /* parts of a token */
}

/* `tokens`: those in vouchers of the key that nodes hold. What is on its way, or was lost, may be of any key. */
static int64_t units_out(const struct sim *sim, const struct limit *limit, uint64_t tokens)
{
    tokens += sim->rights.all.granted - sim->rights.all.received;
    tokens = tokens < granted_lately(sim) ? tokens : granted_lately(sim);
    tokens = tokens < limit->capacity ? tokens : limit->capacity;
    return (int64_t)tokens * limit->units_per_token;
}

static uint64_t held_by_all(struct sim *sim, unsigned k)
{
    uint64_t tokens = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        tokens += held(sim, i, sim->plan.key[k].id, sim->node[i].node != NULL ? sim_index(sim, i, k) : 0);
    return tokens;
}

int64_t rights_out_units(struct sim *sim, unsigned k)
{
    uint64_t tokens = 0;
    if (sim->rights.all.granted == 0)
        return 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        if (sim->node[i].node != NULL)
            tokens += key_voucher_tokens(sim->node[i].node, sim->plan.key[k].id, world_local_ns(sim, i));
    return units_out(sim, sim_limit(sim, k), tokens);
}

static uint64_t held_of_rule(struct sim *sim, const struct ask_part *part)
{
    uint64_t tokens = 0;
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        tokens += sim->node[i].node != NULL
                      ? held(sim, i, ask_charge_of(sim, i, part).id, ask_charge_of(sim, i, part).limit)
                      : 0;
    return tokens;
}

/*
 * The home's view is the truth, without a reserve. What the view gains in a leap, or since it begins full, the truth
 * may have lost at the capacity before all that is out is used: as much as is out at most.
 */
static void doubt(struct truth *truth, const struct limit *limit, int64_t units)
{
    truth->doubtful = least(truth->doubtful + units, limit->capacity_units);
}

/* All that is out may still be used, though the truth is full: `most` of it at most. */
static void forgotten(struct sim *sim, unsigned k, int64_t units, int64_t most)
{
    struct truth *truth = &sim->truth[k];
    const int64_t room = sim_limit(sim, k)->capacity_units - truth->high;
    truth_refund(truth, sim_limit(sim, k), units);
    if (units > room)
        doubt(truth, sim_limit(sim, k), least(least(units - room, most), rights_out_units(sim, k)));
}

void rights_forgotten(struct sim *sim, unsigned k, int64_t units)
{
    forgotten(sim, k, units, units);
}

void rights_lost_with(struct sim *sim, unsigned i, unsigned k, int64_t units)
{
    const uint64_t tokens = key_granted_tokens(sim->node[i].node, sim->plan.key[k].id);
    forgotten(sim, k, units, (int64_t)tokens * sim_limit(sim, k)->units_per_token);
}

void rights_of_rule_lost_with(struct sim *sim, unsigned i, const struct ask_part *part, int64_t units)
{
    const struct limit *limit = &ask_rule(sim, part->rule)->limit;
    struct ask_truth *truth = &sim->asks.truth[part->rule][part->subject];
    const uint64_t tokens = key_granted_tokens(sim->node[i].node, ask_charge_of(sim, i, part).id);
    if (units == 0 || tokens == 0)
        return;
    units = least(units, (int64_t)tokens * limit->units_per_token);
    units = least(units, units_out(sim, limit, held_of_rule(sim, part)));
    if (limit->kind == LIMIT_BUCKET)
        doubt(&truth->bucket.now, limit, units);
    else
        truth_cell_of(&truth->cells, part->window)->doubtful += (uint64_t)(units / limit->units_per_token);
}

/* Vouchers of so many units are out, or come to be so: their holders may not know of what clocks gained before. */
static void doubt_leapt(struct truth *truth, const struct limit *limit, int64_t units)
{
    const int64_t outlive = least(truth->leapt, units);
    truth->leapt -= outlive;
    doubt(truth, limit, outlive);
}

/*
 * `is_home`: the clock is one of the limit's home. Other clocks make views gain as well, but those of nodes without a
 * share.
 */
static void leap(struct truth *truth, const struct limit *limit, bool is_home, uint64_t ns, int64_t units)
{
    const int64_t gained = truth_refilled_units(limit, ns);
    if (is_home || !limit_home_is_one(limit->home)) {
        truth->leapt = least(truth->leapt + gained, limit->capacity_units);
        doubt_leapt(truth, limit, units);
    } else {
        truth->elsewhere = least(truth->elsewhere + least(gained, units), limit->capacity_units);
    }
}

/* What was granted ends by the home's clock; its holder may use it for as long as before the leap, or the start. */
static void doubt_log(struct sim *sim, struct ask_part part, uint64_t leapt_ns)
{
    const struct limit *limit = &ask_rule(sim, part.rule)->limit;
    truth_log_mistake(&sim->asks.truth[part.rule][part.subject].log,
                      (uint64_t)units_out(sim, limit, held_of_rule(sim, &part)),
                      clock_read(&sim->fast, sim->now_ns) + leapt_ns);
}

void rights_clock_leaps(struct sim *sim, unsigned i, uint64_t ns)
{
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const int64_t units = units_out(sim, sim_limit(sim, k), held_by_all(sim, k));
        truth_now(sim, k);
        leap(&sim->truth[k], sim_limit(sim, k), homes_have(sim, i, sim_limit(sim, k)->home), ns, units);
    }
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ASK_SUBJECTS_MAX && ask_rule(sim, r)->terms.kind != LIMIT_CELL; s++) {
            const struct ask_part part = {.rule = r, .subject = s};
            if (ask_rule(sim, r)->terms.kind == LIMIT_LOG) {
                if (homes_have(sim, i, homes_home_of(sim, r, s)))
                    doubt_log(sim, part, ns);
                continue;
            }
            const struct limit *limit = &ask_rule(sim, r)->limit;
            const int64_t units = units_out(sim, limit, held_of_rule(sim, &part));
            ask_truth_now(sim, r, s);
            leap(&sim->asks.truth[r][s].bucket.now, limit, homes_have(sim, i, homes_home_of(sim, r, s)), ns, units);
        }
}

/* Of this key; of cells, in all windows that any node may be in. */
static void forget_rule(struct sim *sim, unsigned i, struct ask_part part)
{
    const struct limit *limit = &ask_rule(sim, part.rule)->limit;
    struct ask_truth *truth = &sim->asks.truth[part.rule][part.subject];
    if (limit->kind == LIMIT_BUCKET)
        doubt(&truth->bucket.now, limit, units_out(sim, limit, held_of_rule(sim, &part)));
    if (limit->kind == LIMIT_LOG)
        doubt_log(sim, part, 0);
    if (limit->kind != LIMIT_CELL)
        return;
    const uint64_t now = ask_window_now(sim, i, part.rule);
    for (part.window = now - 3; part.window <= now + 3; part.window++) {
        const int64_t units = units_out(sim, limit, held_of_rule(sim, &part));
        truth_cell_of(&truth->cells, part.window)->doubtful += (uint64_t)(units / limit->units_per_token);
    }
}

/* A node without a share begins full. A home that starts may have its figures from there. */
static void forget_elsewhere(struct truth *truth, const struct limit *limit, int64_t units)
{
    if (limit_home_is_one(limit->home))
        truth->elsewhere = least(truth->elsewhere + units, limit->capacity_units);
}

/* Without one home every node grants, and may give away once more what it granted in its former life. */
static bool forgets_grants(const struct sim *sim, unsigned i, uint64_t home)
{
    return !limit_home_is_one(home) || homes_have(sim, i, home);
}

void rights_home_forgets(struct sim *sim, unsigned i)
{
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const struct limit *limit = sim_limit(sim, k);
        const int64_t units = units_out(sim, limit, held_by_all(sim, k));
        if (forgets_grants(sim, i, limit->home))
            doubt(&sim->truth[k], limit, units);
        else
            forget_elsewhere(&sim->truth[k], limit, units);
    }
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ASK_SUBJECTS_MAX; s++) {
            const struct limit *limit = &ask_rule(sim, r)->limit;
            const struct ask_part part = {.rule = r, .subject = s};
            const uint64_t home = homes_home_of(sim, r, s);
            if (forgets_grants(sim, i, home))
                forget_rule(sim, i, part);
            else if (limit->kind == LIMIT_BUCKET)
                forget_elsewhere(&sim->asks.truth[r][s].bucket.now, limit,
                                 units_out(sim, limit, held_of_rule(sim, &part)));
        }
}

int64_t rights_slack_units(const struct sim *sim, struct truth *truth, const struct limit *limit)
{
    const uint64_t lately = granted_lately(sim), tokens = lately < limit->capacity ? lately : limit->capacity;
    const int64_t most = (int64_t)tokens * limit->units_per_token;
    if (truth->high == limit->capacity_units && truth->doubtful > most)
        truth->doubtful = most; /* no view is above the capacity: what is out may be too many, and nothing else */
    if (truth->high == limit->capacity_units)
        truth->elsewhere = least(truth->elsewhere, most);
    return truth->doubtful;
}

int64_t rights_view_slack_units(const struct sim *sim, unsigned i, struct truth *truth, const struct limit *limit,
                                uint64_t home)
{
    const int64_t units = rights_slack_units(sim, truth, limit);
    return homes_have(sim, i, home) ? units : units + truth->elsewhere;
}

void rights_home_starts(struct sim *sim, unsigned i)
{
    for (unsigned k = 0; k < sim->plan.keys; k++)
        if (homes_have(sim, i, sim_limit(sim, k)->home))
            doubt(&sim->truth[k], sim_limit(sim, k), sim->truth[k].elsewhere);
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ASK_SUBJECTS_MAX && ask_rule(sim, r)->terms.kind == LIMIT_BUCKET; s++) {
            struct truth *truth = &sim->asks.truth[r][s].bucket.now;
            if (homes_have(sim, i, homes_home_of(sim, r, s)))
                doubt(truth, &ask_rule(sim, r)->limit, truth->elsewhere);
        }
}

void rights_node_starts(struct sim *sim, unsigned i)
{
    sim->rights.was[i] = (struct rights_figures){0};
    rights_home_starts(sim, i);
}

/* The tokens may be of any key. */
static void note_granted(struct sim *sim, uint64_t tokens)
{
    for (unsigned k = 0; k < sim->plan.keys; k++) {
        const struct limit *limit = sim_limit(sim, k);
        const uint64_t most = tokens < limit->capacity ? tokens : limit->capacity;
        doubt_leapt(&sim->truth[k], limit, (int64_t)most * limit->units_per_token);
    }
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ASK_SUBJECTS_MAX && ask_rule(sim, r)->terms.kind == LIMIT_BUCKET; s++) {
            const struct limit *limit = &ask_rule(sim, r)->limit;
            const uint64_t most = tokens < limit->capacity ? tokens : limit->capacity;
            doubt_leapt(&sim->asks.truth[r][s].bucket.now, limit, (int64_t)most * limit->units_per_token);
        }
}

void rights_after_step(struct sim *sim, unsigned i)
{
    struct node_stats stats;
    struct rights_figures *was = &sim->rights.was[i], *all = &sim->rights.all;
    node_stats(sim->node[i].node, &stats);
    all->asks += stats.rights_asked - was->asks;
    all->asked += stats.rights_asked_tokens - was->asked;
    if (stats.rights_granted_tokens > was->granted)
        note_granted(sim, stats.rights_granted_tokens - was->granted);
    all->granted += stats.rights_granted_tokens - was->granted;
    all->grants += stats.rights_granted - was->grants;
    all->received += stats.rights_received_tokens - was->received;
    all->used += stats.rights_used_tokens - was->used;
    all->returned += stats.rights_returned_tokens - was->returned;
    *was = (struct rights_figures){
        .asks = stats.rights_asked,
        .asked = stats.rights_asked_tokens,
        .granted = stats.rights_granted_tokens,
        .grants = stats.rights_granted,
        .received = stats.rights_received_tokens,
        .used = stats.rights_used_tokens,
        .returned = stats.rights_returned_tokens,
    };
    note_time(sim);
    if (laws_are_off(sim))
        return;
    if (stats.rights_used_tokens + stats.rights_returned_tokens > stats.rights_received_tokens)
        sim_fail(sim,
                 "rights: %s has used %" PRIu64 " tokens of others and given %" PRIu64 " back, of %" PRIu64
                 " that it received",
                 sim->node[i].name, stats.rights_used_tokens, stats.rights_returned_tokens,
                 stats.rights_received_tokens);
    else if (all->received > all->granted)
        sim_fail(sim, "rights: %" PRIu64 " tokens were received, of %" PRIu64 " granted", all->received,
                 all->granted);
    else if (all->granted > all->asked + 2 * all->grants || all->grants > sim->plan.nodes * all->asks)
        sim_fail(sim,
                 "rights: %" PRIu64 " tokens were granted in %" PRIu64 " grants, of %" PRIu64
                 " asked for in %" PRIu64 " asks",
                 all->granted, all->grants, all->asked, all->asks);
}
