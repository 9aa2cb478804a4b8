/*
 * Returns of admitted requests by their clients: refunds, and reservations that are committed, cancelled or renewed.
 * Those that end by themselves are in ask_ended.c.
 *
 * The returned tokens are the difference between the node's view of each key before and after the call. The truth
 * counts this difference, and it must be what the node answers. Where keys are evicted, a view may jump by more
 * than the returned tokens; then none of the difference counts as sure. ask_load.c makes the requests.
 */
#include "tests/lib/commit_tokens.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <inttypes.h>

static int64_t left_of(struct sim *sim, unsigned i, const struct ask_part *part, const struct charge *charge)
{
    struct bucket bucket = ask_view(sim, i, part, charge);
    return bucket.settled - bucket.unsettled;
}

void ask_follow_up_in(struct sim *sim, const struct ask_held *held, uint64_t in_ns)
{
    (void)queue_post(&sim->queue, (struct happening){.kind = HAPPENS_FOLLOW_UP,
                                                     .at_ns = sim->now_ns + in_ns,
                                                     .node = held->node,
                                                     .key = (uint16_t)(held - sim->asks.held),
                                                     .life = held->life});
}

/* A request is decided as of the end of the node's right, at the latest, until the node has seen that it is over. */
static uint64_t decided_ns(const struct sim *sim, unsigned i)
{
    struct node_status status;
    const uint64_t now_ns = world_local_ns(sim, i);
    node_status(sim->node[i].node, &status);
    return now_ns < status.right_ends_ns ? now_ns : status.right_ends_ns;
}

/* When a reservation ends. A spend of a log ends after its period, and a reservation holds it no longer. */
static uint64_t end_ns(const struct sim *sim, const struct ask_held *held, uint64_t ttl_ns)
{
    for (unsigned c = 0; c < held->count; c++) {
        const struct limit_terms *terms = &sim->plan.asks.rule[held->part[c].rule].terms;
        bool counts = terms->kind == LIMIT_LOG && held->part[c].passed;
        ttl_ns = counts && terms->period_ns < ttl_ns ? terms->period_ns : ttl_ns;
    }
    return decided_ns(sim, held->node) + ttl_ns;
}

void ask_hold(struct sim *sim, struct ask_held *held, uint64_t ttl_ns)
{
    struct random *random = &sim->asks.random;
    held->used = true;
    held->reserved = ttl_ns > 0;
    held->ends_ns = end_ns(sim, held, ttl_ns);
    sim->asks.reservations += held->reserved;
    for (unsigned c = 0; c < held->count; c++)
        ask_renewal_begins(held, c);
    if (!held->reserved || !draw_one_in(random, 6)) /* otherwise the reservation ends by itself */
        ask_follow_up_in(sim, held, 1 + random_below(random, ask_hold_ns(sim, held)));
}

bool ask_views_may_jump(const struct sim *sim)
{
    return sim->plan.table_keys <= SIM_KEYS_MAX;
}

/* Counts a gain of the node's view as given back, and a loss as spent, where the call may spend. */
static void note_change(struct sim *sim, unsigned i, struct ask_held *held, unsigned c, int64_t before,
                        bool may_spend, uint64_t asked)
{
    struct ask_part *part = &held->part[c];
    const struct plan_rule *rule = ask_rule(sim, part->rule);
    const int64_t gained = ask_change(rule, left_of(sim, i, part, &held->charge[c]) - before),
                  per_token = rule->limit.units_per_token;
    if (gained > 0) {
        int64_t tokens = (gained + per_token - 1) / per_token;
        const int64_t given = (int64_t)ask_right_given(sim, i, &held->charge[c], part, asked);
        tokens = given > tokens ? given : tokens;
        ask_right_used(sim, i, part, (uint64_t)(gained / per_token));
        if (ask_views_may_jump(sim) && (uint64_t)tokens < part->taken)
            tokens = (int64_t)part->taken;
        ask_given_back(sim, i, part, held, ask_views_may_jump(sim) ? 0 : gained,
                       tokens * per_token + rule->slack_units, batches_closed(sim->node[i].node));
        part->taken = (uint64_t)tokens < part->taken ? part->taken - (uint64_t)tokens : 0;
    } else if (gained < 0 && may_spend) {
        if (gained % per_token != 0 && !ask_views_may_jump(sim))
            sim_fail(sim, "reservation: %s took %" PRId64 " units of rule %u, %" PRId64 " to a token",
                     sim->node[i].name, -gained, part->rule, per_token);
        part->taken += (uint64_t)(-gained / per_token);
        ask_spent(sim, i, &held->charge[c], part, (uint64_t)(-gained / per_token));
    }
}

/*
 * A REFUND names no request, and the node takes it for the present window. So clients here ask only for charges of
 * the present window that took tokens.
 */
static void refund(struct sim *sim, struct ask_held *held)
{
    unsigned i = held->node;
    uint64_t now_ns = world_local_ns(sim, i),
             least[2] = {UINT64_MAX, UINT64_MAX}; /* of rules that deny; of shadows */
    uint64_t tokens =
        draw_one_in(&sim->asks.random, 3) ? 1 + random_below(&sim->asks.random, held->cost + 1) : held->cost;
    int64_t before[ASK_CHARGES_MAX];
    unsigned count = 0;
    for (unsigned c = 0; c < held->count; c++) {
        struct ask_part part = held->part[c];
        const struct limit_terms *terms = &sim->plan.asks.rule[part.rule].terms;
        bool ends_soon = terms->kind == LIMIT_LOG && now_ns - held->made_ns > terms->period_ns / 4 * 3;
        if (part.taken == 0 ||
            ends_soon) /* a shadow rule that would have denied, or too late to know which spend is returned */
            continue;
        part.tier = ask_tier(sim, i, part.rule);
        held->charge[count] = ask_charge(sim, i, &part, held->cost);
        if (part.window !=
            held->part[c].window) /* the refund would return tokens that other requests took in this window */
            continue;
        held->part[count] = part;
        before[count] = left_of(sim, i, &part, &held->charge[count]);
        count++;
    }
    held->count = count;
    held->used = false;
    uint64_t given = node_return(sim->node[i].node, held->charge, count, tokens, now_ns);
    for (unsigned c = 0; c < count; c++) {
        const struct plan_rule *rule = ask_rule(sim, held->part[c].rule);
        const struct limit *limit = &rule->limit;
        int64_t gained = ask_change(rule, left_of(sim, i, &held->part[c], &held->charge[c]) - before[c]);
        uint64_t part = gained < 0 ? 0 : (uint64_t)((gained + limit->units_per_token - 1) / limit->units_per_token);
        if (!ask_views_may_jump(sim) && (gained < 0 || part > tokens || part > held->charge[c].cost))
            sim_fail(sim, "refund: %s gives %" PRIu64 " tokens of a %s back, of %" PRIu64, sim->node[i].name, part,
                     ask_algorithm_name(sim->plan.asks.rule[held->part[c].rule].algorithm), tokens);
        if (part < least[held->charge[c].shadow] && tokens > 0 && held->charge[c].cost > 0)
            least[held->charge[c].shadow] = part;
        if (sim->trace)
            story_tell(sim, sim->node[i].name,
                       "refund of %" PRIu64 ": rule %u, key %u gains %" PRId64 " units of %" PRId64
                       " a token, cost %" PRIu64,
                       tokens, held->part[c].rule, held->part[c].subject, gained, limit->units_per_token,
                       held->charge[c].cost);
        note_change(sim, i, held, c, before[c], !ask_views_may_jump(sim), tokens);
    }
    const uint64_t told = least[0] < UINT64_MAX ? least[0] : least[1] < UINT64_MAX ? least[1] : 0;
    if (count > 0 && given != told && !ask_views_may_jump(sim))
        sim_fail(sim, "refund: %s says that %" PRIu64 " tokens came back, it was %" PRIu64, sim->node[i].name,
                 given, told);
    sim->asks.given_back += given;
}

static enum reserve_status commit(struct sim *sim, struct ask_held *held, uint64_t *charged, uint64_t *actual)
{
    *actual = random_below(&sim->asks.random, 2 * held->cost + 2);
    return commit_tokens(sim->node[held->node].node, held->id, *actual, world_local_ns(sim, held->node), charged);
}

/*
 * A commit charges at most the held or the used tokens, whichever are more. Tokens that refill has made good need
 * not come back.
 */
static void check_committed(struct sim *sim, const struct ask_held *held, uint64_t actual, uint64_t charged)
{
    if (charged > actual && charged > held->cost)
        sim_fail(sim, "reservation: %s charged %" PRIu64 " where %" PRIu64 " was held and %" PRIu64 " used",
                 sim->node[held->node].name, charged, held->cost, actual);
}

/*
 * True: the log of node i lists all tokens of the key that the reservations of node i hold. `listed`: what the log
 * lists as held.
 */
static bool lists_all_held(struct sim *sim, unsigned i, const struct ask_part *part, uint64_t listed)
{
    uint64_t held = 0;
    for (unsigned h = 0; h < ASK_HELD_MAX; h++)
        for (unsigned c = 0; c < sim->asks.held[h].count; c++) {
            const struct ask_held *other = &sim->asks.held[h];
            bool counts = other->used && other->reserved && other->node == i;
            counts &= other->part[c].rule == part->rule && other->part[c].subject == part->subject;
            held += counts ? other->part[c].taken : 0;
        }
    return listed >= held;
}

static uint64_t listed_held(struct sim *sim, unsigned i, const struct ask_part *part, const struct charge *charge)
{
    const struct limit *limit = node_limit(sim->node[i].node, charge->limit);
    const struct bucket bucket = ask_view(sim, i, part, charge);
    uint64_t held = 0;
    if (limit->kind != LIMIT_LOG)
        return UINT64_MAX;
    for (uint32_t index = bucket.events.oldest; index; index = events_at(limit->events, index)->newer)
        held += events_at(limit->events, index)->held;
    return held;
}

/* A key before its reservation ends, in the view of the node that holds it. */
struct key_before {
    int64_t left;
    int64_t granted_part; /* of a token: the node granted it to itself, and it has not settled */
    bool listed;          /* see lists_all_held */
};

static struct key_before key_before(struct sim *sim, const struct ask_held *held, unsigned c)
{
    const struct plan_rule *rule = &sim->plan.asks.rule[held->part[c].rule];
    const struct bucket bucket = ask_view(sim, held->node, &held->part[c], &held->charge[c]);
    const bool granted = sim->plan.grants && rule->terms.kind == LIMIT_CELL;
    return (struct key_before){.left = bucket.settled - bucket.unsettled,
                               .granted_part = granted ? bucket.unsettled % rule->limit.units_per_token : 0,
                               .listed =
                                   lists_all_held(sim, held->node, &held->part[c],
                                                  listed_held(sim, held->node, &held->part[c], &held->charge[c]))};
}

/*
 * A cancelled reservation must give back all that it held, whatever refunds and resets came in between: at once,
 * or later where the return cannot be told yet. A log may give back less only after it has dropped debt: then
 * spends of other peers stand in the place of the held ones. So may a window where the clocks are too far apart: a node
 * that is behind has forgotten its spends when others say that it is over, and their returns fill the room of its own.
 * A part of a token in a grant that has not settled is charged exactly, so a return does not pay it off: of a window,
 * that part may be missing.
 */
static void check_cancelled(struct sim *sim, const struct ask_held *held, unsigned c,
                            const struct key_before *before)
{
    const struct plan_rule *rule = &sim->plan.asks.rule[held->part[c].rule];
    const int64_t token = rule->limit.units_per_token,
                  expected = held->ending ? 0 : (int64_t)held->part[c].taken * token,
                  gained = left_of(sim, held->node, &held->part[c], &held->charge[c]) - before->left;
    bool may_differ = ask_views_may_jump(sim) || rule->terms.kind == LIMIT_BUCKET || !before->listed;
    may_differ |= held->is_former && gained < expected; /* others may have lost it while the node was away */
    may_differ |= rule->terms.kind == LIMIT_CELL && held->charge[c].expires_ns <= world_local_ns(sim, held->node);
    may_differ |= rule->terms.kind == LIMIT_CELL && !ask_clocks_within(sim, rule);
    may_differ |= rule->terms.kind == LIMIT_LOG && (sim->plan.faults & (1u << FAULT_JUMP | 1u << FAULT_STALL)) != 0;
    if (!may_differ && (gained > expected || gained + before->granted_part < expected))
        sim_fail(sim, "reservation: %s gives %.3f tokens of a %s back, of %.3f", sim->node[held->node].name,
                 (double)gained / (double)token, ask_algorithm_name(rule->algorithm),
                 (double)expected / (double)token);
}

static void renew(struct sim *sim, struct ask_held *held)
{
    unsigned i = held->node;
    const uint64_t hold_ns = ask_hold_ns(sim, held), least_ns = sim->plan.asks.renews ? hold_ns : 0;
    const uint64_t ttl_ns = least_ns + 1 + random_below(&sim->asks.random, 2 * hold_ns - least_ns);
    ask_renewals_before(sim, held);
    enum reserve_status status = node_renew(sim->node[i].node, held->id, ttl_ns, world_local_ns(sim, i));
    if (status == RESERVE_LATER && held->is_former) {
        ask_follow_up_in(sim, held, sim->plan.interval_ns);
        return;
    }
    if (status == RESERVE_UNKNOWN)
        sim_fail(sim, "reservation: %s does not know one that it could renew", sim->node[i].name);
    held->ends_ns = status == RESERVE_DONE ? end_ns(sim, held, ttl_ns) : held->ends_ns;
    ask_renewals_after(sim, held, status == RESERVE_DONE);
    if (status != RESERVE_DONE) {
        if (sim->plan.asks.renews)
            ask_follow_up_in(sim, held, 1 + random_below(&sim->asks.random, ask_hold_ns(sim, held)));
        return;
    }
    struct ask_held old = *held;
    for (unsigned c = 0; c < held->count; c++) { /* a renewed lease is a return and a new spend */
        const struct ask_part *part = &held->part[c];
        if (sim->plan.asks.rule[part->rule].terms.kind != LIMIT_LOG || part->taken == 0 ||
            !homes_begin_anew(sim, i, &held->charge[c], part) || ask_renewal_is_idle(sim, held, c))
            continue;
        held->fast_ns = clock_read(&sim->fast, sim->now_ns);
        held->slow_ns = clock_read(&sim->slow, sim->now_ns);
        held->made_ns = world_local_ns(sim, i);
        ask_right_used(sim, i, part, part->taken);
        ask_given_back(sim, i, part, &old, (int64_t)part->taken, (int64_t)part->taken,
                       batches_closed(sim->node[i].node));
        ask_spent(sim, i, &held->charge[c], part, part->taken);
        ask_renewal_begins(held, c);
    }
    ask_follow_up_in(sim, held, 1 + random_below(&sim->asks.random, ask_hold_ns(sim, held)));
}

/* Most clients that renew leases again and again renew this one now. */
static bool renews(struct sim *sim)
{
    return sim->plan.asks.renews ? !draw_one_in(&sim->asks.random, 24) : draw_one_in(&sim->asks.random, 4);
}

static uint64_t admitted_tokens(const struct sim *sim, unsigned i)
{
    struct node_stats stats;
    node_stats(sim->node[i].node, &stats);
    return stats.admitted_tokens;
}

/* By how many tokens the node's views of the charges fell. */
static uint64_t lost_tokens(struct sim *sim, unsigned i, const struct ask_held *held,
                            const struct key_before *before)
{
    uint64_t lost = 0;
    for (unsigned c = 0; c < held->count; c++) {
        int64_t per_token = sim->plan.asks.rule[held->part[c].rule].limit.units_per_token;
        int64_t units = before[c].left - left_of(sim, i, &held->part[c], &held->charge[c]);
        lost += units > 0 ? (uint64_t)(units / per_token) : 0;
    }
    return lost;
}

/* Takes the used tokens off. A lease uses no tokens: all of it comes back. */
static void keep_what_is_left(const struct sim *sim, struct ask_part *part, uint64_t used)
{
    used = sim->plan.asks.rule[part->rule].algorithm == ASK_LEASE ? 0 : used;
    part->taken = part->taken > used ? part->taken - used : 0;
}

static int64_t voucher_units_of(struct sim *sim, const struct ask_held *held, unsigned c)
{
    return rights_units(sim, held->node, held->charge[c].id, held->charge[c].limit,
                        &ask_rule(sim, held->part[c].rule)->limit);
}

/* What a commit took of a voucher beyond the reserved cost shows in no view: all have been charged with it. */
static void note_paid(struct sim *sim, struct ask_held *held, unsigned c, int64_t held_before)
{
    struct ask_part *part = &held->part[c];
    const struct limit *limit = &ask_rule(sim, part->rule)->limit;
    const int64_t paid = held_before - voucher_units_of(sim, held, c);
    if (paid < limit->units_per_token)
        return;
    part->taken += (uint64_t)(paid / limit->units_per_token);
    ask_spent(sim, held->node, &held->charge[c], part, (uint64_t)(paid / limit->units_per_token));
}

static void end_reservation(struct sim *sim, struct ask_held *held)
{
    unsigned i = held->node;
    uint64_t now_ns = world_local_ns(sim, i), actual = 0, charged = 0;
    struct key_before before[ASK_CHARGES_MAX];
    int64_t vouchers[ASK_CHARGES_MAX];
    for (unsigned c = 0; c < held->count; c++) {
        before[c] = key_before(sim, held, c);
        vouchers[c] = voucher_units_of(sim, held, c);
    }
    uint64_t admitted = admitted_tokens(sim, i);
    bool commits = draw_one_in(&sim->asks.random, 2);
    uint32_t reservations = open_reservations(sim->node[i].node);
    enum reserve_status status =
        commits ? commit(sim, held, &charged, &actual) : node_cancel(sim->node[i].node, held->id, now_ns);
    if (status == RESERVE_LATER && held->is_former) {
        ask_follow_up_in(sim, held, sim->plan.interval_ns);
        return;
    }
    if (status != RESERVE_DONE) {
        sim_fail(sim, "reservation: %s does not know one that should be there", sim->node[i].name);
        return;
    }
    held->ending = open_reservations(sim->node[i].node) == reservations;
    held->ends_ns = now_ns;
    admitted = admitted_tokens(sim, i) - admitted;
    bool spends = !ask_views_may_jump(sim) || lost_tokens(sim, i, held, before) == admitted;
    for (unsigned c = 0; c < held->count; c++) {
        if (!commits)
            check_cancelled(sim, held, c, &before[c]);
        struct ask_part left = held->part[c];
        keep_what_is_left(sim, &left, commits ? actual : 0);
        note_change(sim, i, held, c, before[c].left, spends, left.taken);
        note_paid(sim, held, c, vouchers[c]);
        if (held->ending) /* tokens that the commit took in addition are not held */
            held->part[c].taken = left.taken;
    }
    if (commits)
        check_committed(sim, held, actual, charged);
    if (node_cancel(sim->node[i].node, held->id, now_ns) != RESERVE_UNKNOWN)
        sim_fail(sim, "reservation: %s ends one twice", sim->node[i].name);
    held->used = held->ending;
}

void ask_follow_up(struct sim *sim, const struct happening *happening)
{
    struct ask_held *held = &sim->asks.held[happening->key];
    const struct sim_node *n = &sim->node[happening->node];
    if (!held->used || held->node != happening->node || held->life != happening->life ||
        n->lives != happening->life || n->node == NULL)
        return;
    if (sim->now_ns < n->paused_until_ns) {
        ask_follow_up_in(sim, held, n->paused_until_ns - sim->now_ns);
        return;
    }
    ask_note_skew(sim);
    const struct ask_held asked = *held;
    ask_elsewhere(sim, &asked);
    if (!held->reserved) {
        refund(sim, held);
        ask_elsewhere(sim, &asked);
    } else if (world_local_ns(sim, held->node) >= held->ends_ns) {
        if (node_cancel(n->node, held->id, world_local_ns(sim, held->node)) != RESERVE_UNKNOWN)
            sim_fail(sim, "reservation: %s knows one that has ended", n->name);
    } else if (sim->phase == PHASE_SAFETY && renews(sim)) {
        renew(sim, held);
    } else {
        end_reservation(sim, held);
    }
    if (n->node != NULL)
        ask_wake_soon(sim, held->node);
}
