/*
 * Laws of rules that hold once all spends are known.
 *
 *   forgotten  when no message is on its way, no view is above the truth.
 *   credited   when all peers know all spends of an ebb (ask_tide.c), no view is above the truth, whatever was
 *              given back to a full bucket.
 *   leaks      when the load has ended, and its spends have ended too, every key is full, and no reservation is
 *              open.
 *
 * ask_laws.c has the laws that hold at every moment.
 */
#include "limit/kind.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdio.h>

enum { MARGIN_PERCENT = 1 };

/* ---- when no message is on its way ---- */

/*
 * The unsettled units of a key at a node. Of cells, those of earlier windows count too, since reservations may
 * hold them.
 */
static int64_t unsettled_of(struct sim *sim, unsigned i, struct ask_part part)
{
    uint64_t back = ask_rule(sim, part.rule)->terms.kind == LIMIT_CELL ? 3 : 0;
    int64_t unsettled = 0;
    uint64_t now = ask_window_now(sim, i, part.rule);
    for (part.window = now - back; part.window <= now; part.window++) {
        struct charge charge = ask_charge_of(sim, i, &part);
        unsettled += ask_view(sim, i, &part, &charge).unsettled;
    }
    return unsettled;
}

bool ask_is_settled(struct sim *sim, unsigned i, char *text, size_t room)
{
    for (unsigned r = 0; r < sim->plan.asks.rules && !sim->evicted; r++)
        for (unsigned s = 0; s < ask_rule(sim, r)->subjects; s++) {
            int64_t unsettled = unsettled_of(sim, i, (struct ask_part){.rule = r, .subject = s});
            if (unsettled == 0 || ask_rule(sim, r)->terms.flags & LIMIT_SPLIT)
                continue;
            (void)snprintf(text, room, "%s has %" PRId64 " units of rule %u, key %u unsettled", sim->node[i].name,
                           unsettled, r, s);
            return false;
        }
    return true;
}

/* `left`: what the truth has left, in units. */
static void check_view(struct sim *sim, unsigned i, struct ask_part part, int64_t left)
{
    const struct plan_rule *rule = ask_rule(sim, part.rule);
    struct charge charge = ask_charge_of(sim, i, &part);
    int64_t seen = ask_view(sim, i, &part, &charge).settled, slack = truth_rounding_units(&rule->limit);
    if (seen > left + slack && seen > -rule->limit.overshoot_units)
        sim_fail(sim,
                 "forgotten: %s sees %.3f tokens of rule %u (%s), key %u, window %" PRIu64 ", the truth is %.3f",
                 sim->node[i].name, truth_tokens(&rule->limit, seen), part.rule,
                 ask_algorithm_name(rule->algorithm), part.subject, part.window, truth_tokens(&rule->limit, left));
}

/*
 * What its home has forgotten in vouchers may be spent twice. Views end at the overshoot then, and returns raise them
 * from there, so they may be that much above the truth.
 */
static int64_t left_of_cell(const struct truth_cell *cell, const struct limit *limit)
{
    const int64_t used = (int64_t)cell->least - (int64_t)cell->doubtful;
    return limit->capacity_units - used * limit->units_per_token;
}

static void check_key(struct sim *sim, unsigned i, unsigned r, unsigned s)
{
    const struct plan_rule *rule = ask_rule(sim, r);
    struct ask_truth *truth = &sim->asks.truth[r][s];
    struct ask_part part = {.rule = r, .subject = s};
    uint64_t now = ask_window_now(sim, i, r);
    if (rule->terms.kind == LIMIT_BUCKET) {
        check_view(sim, i, part,
                   truth_bucket_high(&truth->bucket, false) +
                       rights_view_slack_units(sim, i, &truth->bucket.now, &rule->limit, homes_home_of(sim, r, s)));
    } else if (rule->terms.kind == LIMIT_LOG) {
        if (truth->log.lost == 0)
            check_view(sim, i, part, rule->limit.capacity_units - (int64_t)ask_log_least(sim, rule, truth, 0));
    } else if (ask_clocks_within(sim, rule)) {
        for (part.window = now - (rule->algorithm == ASK_SLIDING); part.window <= now; part.window++)
            check_view(sim, i, part, left_of_cell(truth_cell_of(&truth->cells, part.window), &rule->limit));
    }
}

void ask_laws_agree(struct sim *sim)
{
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ask_rule(sim, r)->subjects; s++) {
            ask_truth_now(sim, r, s);
            for (unsigned i = 0; i < sim->plan.nodes; i++)
                if (laws_may_compare(sim, i) && !(ask_rule(sim, r)->terms.flags & LIMIT_SPLIT))
                    check_key(sim, i, r, s);
        }
}

/* ---- when an ebb is over, and all peers know its spends ---- */

void ask_ebb_ends(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        struct node_stats stats = {.batches_closed = UINT64_MAX};
        if (sim->node[i].life == LIFE_UP)
            node_stats(sim->node[i].node, &stats);
        sim->asks.ebb_batches[i] = stats.batches_closed + (stats.open_keys > 0);
        sim->asks.ebb_ns[i] = world_local_ns(sim, i);
    }
}

/* One batch may tell only a part of the untold spends. Then the spends are known once all peers have all batches. */
static bool all_is_told(const struct sim *sim, unsigned i, const struct node_stats *stats, uint64_t lag_batches)
{
    uint64_t since_ns = world_local_ns(sim, i) - sim->asks.ebb_ns[i];
    return sim->plan.step_keys == 0 || (lag_batches == 0 && (stats->open_oldest_ms + 2) * 1000000 < since_ns);
}

/*
 * No lag is told of a peer that counts as gone, nor has one that joins again heard what was spent without it. What is
 * heard while somebody is silent may wait to be charged.
 */
static bool ebb_is_known(struct sim *sim, unsigned i)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    struct node_stats stats;
    if (sim->node[i].life != LIFE_UP || sim->node[i].was_joining || sim->node[i].unawaited ||
        !world_all_is_charged(sim))
        return false;
    size_t count = node_peers(sim->node[i].node, world_local_ns(sim, i), reports);
    node_stats(sim->node[i].node, &stats);
    for (size_t r = 0; r < count; r++)
        if (reports[r].self ? reports[r].state != PEER_ACTIVE
                            : reports[r].state == PEER_LEFT ||
                                  reports[r].lag_batches + sim->asks.ebb_batches[i] > stats.batches_closed ||
                                  !all_is_told(sim, i, &stats, reports[r].lag_batches))
            return false;
    return stats.batches_closed >= sim->asks.ebb_batches[i];
}

/*
 * Law `credited`. An own spend that all peers know need not be settled yet: until then it lowers `settled -
 * unsettled`, not `settled`.
 */
void ask_laws_after_ebb(struct sim *sim)
{
    const struct limit *limit = &ask_rule(sim, 0)->limit;
    bool known = !laws_are_off(sim);
    ask_truth_now(sim, 0, 0);
    struct truth_bucket *truth = &sim->asks.truth[0][0].bucket;
    const int64_t high = truth_bucket_high(truth, true);
    for (unsigned i = 0; i < sim->plan.nodes; i++)
        known = known && ebb_is_known(sim, i);
    sim->asks.ebbs_known += known;
    for (unsigned i = 0; i < sim->plan.nodes && known; i++) {
        struct ask_part part = {0};
        struct charge charge = ask_charge_of(sim, i, &part);
        struct bucket view = ask_view(sim, i, &part, &charge);
        const int64_t left = high + rights_view_slack_units(sim, i, &truth->now, limit, homes_home_of(sim, 0, 0)),
                      seen = view.settled - view.unsettled;
        if (seen > left + truth_rounding_units(limit) && seen > -limit->overshoot_units)
            sim_fail(sim, "credited: %s sees %.3f tokens, all that was spent at ebb is known, and %.3f are left",
                     sim->node[i].name, truth_tokens(limit, seen), truth_tokens(limit, left));
    }
}

/* ---- when all spends have ended ---- */

/*
 * The longest time that a spend of the rule counts; 0: longer than the simulator waits. A bucket's debt may be as deep
 * as its overshoot and what its home lends (limit/limit.h) make it.
 */
static uint64_t rule_drain_ns(const struct sim *sim, const struct plan_rule *rule)
{
    bool cells = rule->terms.kind == LIMIT_CELL;
    uint64_t ns = cells ? 2 * rule->window_ns + ask_margin_ns(rule) : rule->terms.period_ns;
    if (ns > 200 * sim->plan.interval_ns)
        return 0;
    if (limit_lists_grants(&rule->limit)) /* what was granted last counts from later on */
        ns += GRANTED_AHEAD_NS + GRANTED_STEP_NS;
    if (rule->algorithm != ASK_BUCKET)
        return ns;
    return (rule->terms.overshoot > 0 ? 2 * ns : ns) + limit_refill_ns(&rule->limit, rule->limit.lent_units);
}

/*
 * How long to wait until every key is full. A spend or a return at the end of a hold may wait to be told, and
 * counts from then on.
 */
uint64_t ask_drain_ns(const struct sim *sim)
{
    uint64_t longest_ns = 0;
    for (unsigned r = 0; r < sim->plan.asks.rules; r++) {
        uint64_t ns = rule_drain_ns(sim, ask_rule(sim, r));
        longest_ns = ns > longest_ns ? ns : longest_ns;
    }
    if (sim->plan.asks.rules == 0)
        return 0;
    longest_ns += 2 * sim->plan.asks.hold_max_ns + 8 * sim->plan.interval_ns + 4 * sim->plan.latency_max_ns;
    longest_ns += laws_untold_ns(sim);
    return longest_ns + longest_ns * MARGIN_PERCENT / 100 + (UINT64_C(1) << 28);
}

void ask_laws_drained(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (sim->node[i].life != LIFE_UP || sim->plan.asks.rules == 0)
            continue;
        if (open_reservations(sim->node[i].node) > 0)
            sim_fail(sim, "leak: %s still holds %u reservations", sim->node[i].name,
                     open_reservations(sim->node[i].node));
        for (unsigned r = 0; r < sim->plan.asks.rules && !sim->evicted && !sim->lied_low; r++)
            for (unsigned s = 0; s < ask_rule(sim, r)->subjects && rule_drain_ns(sim, ask_rule(sim, r)) > 0; s++) {
                struct ask_part part = {.rule = r, .subject = s, .window = ask_window_now(sim, i, r)};
                if (part.window > 0 && !ask_clocks_within(sim, ask_rule(sim, r)))
                    break; /* another node was in this window long ago */
                struct charge charge = ask_charge_of(sim, i, &part);
                struct bucket bucket = ask_view(sim, i, &part, &charge);
                if (bucket.settled != ask_rule(sim, r)->limit.capacity_units || bucket.unsettled != 0)
                    sim_fail(sim,
                             "leak: %s sees %" PRId64 " - %" PRId64 " of rule %u (%s of %" PRId64
                             "), key %u, long after all",
                             sim->node[i].name, bucket.settled, bucket.unsettled, r,
                             ask_algorithm_name(ask_rule(sim, r)->algorithm),
                             ask_rule(sim, r)->limit.capacity_units, s);
            }
    }
}
