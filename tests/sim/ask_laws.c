/*
 * Laws of rules that must hold at every moment, and what the truth counts. laws.c has the laws of all nodes,
 * ask_laws_agree.c the laws of rules that hold once no message is on its way.
 *
 *   overshoot       of each key: at every admission, the admitted tokens are within the limit and its declared
 *                   overshoot, by the definition of the kind. A window is held to this as long as clocks differ by
 *                   less than the time for which windows are kept beyond their end; a sliding window only while
 *                   clocks agree. A static split admits no token beyond its limit as long as shares do not change.
 *   reach           the same for the tokens that all nodes together would admit at this moment.
 *   reservations    a node holds the reservations that were made at this node and have not ended. It may also hold
 *                   ended ones, as long as it has no room to tell their returns.
 *   all or nothing  a request that is refused, or only asked, charges no key of any rule (ask_load.c checks this).
 */
#include "limit/kind.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/rights.h"
#include "tests/sim/world.h"

#include <inttypes.h>

enum { SAME_CLOCK_NS = 1000000 };

const struct plan_rule *ask_rule(const struct sim *sim, unsigned r)
{
    return &sim->plan.asks.rule[r];
}

static uint64_t allowed_tokens(const struct plan_rule *rule)
{
    return rule->terms.capacity + rule->terms.overshoot;
}

/* The largest distance between wall clocks of nodes at their starts. */
static uint64_t skew_at_start_ns(const struct sim *sim)
{
    int64_t most = sim->plan.asks.skew_ns[0], least = most;
    for (unsigned i = 1; i < sim->plan.nodes; i++) {
        int64_t skew = sim->plan.asks.skew_ns[i];
        most = skew > most ? skew : most;
        least = skew < least ? skew : least;
    }
    return (uint64_t)(most - least);
}

/*
 * True: windows are kept long enough for the distance of the clocks. A message says how long a cell still lives.
 * Each node that passes the message on may have had a jump of its clock, so the cell may lose by the sum of all
 * jumps, although no two clocks are ever that far apart.
 */
bool ask_clocks_within(const struct sim *sim, const struct plan_rule *rule)
{
    uint64_t jumped_ns = clock_read(&sim->fast, sim->now_ns) - clock_read(&sim->slow, sim->now_ns);
    return skew_at_start_ns(sim) + jumped_ns < ask_margin_ns(rule);
}

void ask_truths_begin(struct sim *sim)
{
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ASK_SUBJECTS_MAX; s++)
            truth_bucket_init(&sim->asks.truth[r][s].bucket, &ask_rule(sim, r)->limit, 0, 0);
}

void ask_truth_now(struct sim *sim, unsigned r, unsigned s)
{
    if (ask_rule(sim, r)->terms.kind != LIMIT_BUCKET)
        return;
    truth_bucket_refill(&sim->asks.truth[r][s].bucket, &ask_rule(sim, r)->limit,
                        clock_read(&sim->fast, sim->now_ns), clock_read(&sim->slow, sim->now_ns));
}

/* After a broken law, prints what each node sees of the key in this window and in the one before, and the truth. */
static void tell_views(struct sim *sim, struct ask_part part)
{
    const struct plan_rule *rule = ask_rule(sim, part.rule);
    bool cells = rule->terms.kind == LIMIT_CELL;
    for (unsigned back = 0; back < (cells ? 2u : 1u); back++, part.window--) {
        if (cells)
            story_tell(sim, "views", "rule %u, key %u, window %" PRIu64 ": %" PRIu64 " to %" PRIu64 " spent",
                       part.rule, part.subject, part.window,
                       truth_cell_of(&sim->asks.truth[part.rule][part.subject].cells, part.window)->least,
                       truth_cell_of(&sim->asks.truth[part.rule][part.subject].cells, part.window)->most);
        for (unsigned i = 0; i < sim->plan.nodes; i++) {
            struct charge charge = ask_charge_of(sim, i, &part);
            if (!world_is_up(sim, i))
                continue;
            struct bucket bucket = ask_view(sim, i, &part, &charge);
            story_tell(sim, sim->node[i].name, "sees %.3f - %.3f, is in window %" PRIu64,
                       truth_tokens(&rule->limit, bucket.settled), truth_tokens(&rule->limit, bucket.unsettled),
                       ask_window_now(sim, i, part.rule));
        }
    }
}

/* ---- overshoot ---- */

/* Where nothing is granted, more than what is spent is never taken off by mistake. */
uint64_t ask_log_least(const struct sim *sim, const struct plan_rule *rule, const struct ask_truth *truth,
                       uint64_t more)
{
    const bool granted = rule->terms.home != 0 || (sim->plan.grants && (rule->terms.flags & LIMIT_SPLIT) == 0);
    const uint64_t tokens =
        truth_log_least(&truth->log, rule->terms.period_ns, granted ? GRANTED_AHEAD_NS + GRANTED_STEP_NS : 0,
                        granted ? more : 0, clock_read(&sim->fast, sim->now_ns));
    return granted ? tokens : tokens + more;
}

/*
 * How many tokens too many are spent, or 0, if all nodes together spent `more` tokens now. `left_ns`: the time
 * until the window of the asking node ends.
 */
static double exceeds(struct sim *sim, const struct ask_part *part, uint64_t left_ns, uint64_t more)
{
    const struct plan_rule *rule = ask_rule(sim, part->rule);
    struct ask_truth *truth = &sim->asks.truth[part->rule][part->subject];
    const struct limit *limit = &rule->limit;
    uint64_t allowed = allowed_tokens(rule), used = more;
    switch (rule->algorithm) {
    case ASK_BUCKET: {
        ask_truth_now(sim, part->rule, part->subject);
        int64_t units = (int64_t)more * limit->units_per_token,
                floor = -limit->overshoot_units - truth_rounding_units(limit);
        floor -= rights_slack_units(sim, &truth->bucket.now, limit);
        sim->asks.late_explains += truth_bucket_high(&truth->bucket, true) - units < floor;
        int64_t high = truth_bucket_high(&truth->bucket, true) - units;
        return high < floor ? (double)(floor - high) / (double)limit->units_per_token : 0;
    }
    case ASK_SLIDING:
        if (sim->asks.skew_max_ns <= SAME_CLOCK_NS) {
            uint64_t slack = sim->asks.skew_max_ns > 0;
            if (!truth_sliding_within(&truth->cells, part->window, left_ns, rule->window_ns, more, allowed + slack))
                return 1;
        } /* fall through */
        __attribute__((fallthrough));
    case ASK_FIXED:
        used += truth_cell_of(&truth->cells, part->window)->least;
        allowed += truth_cell_of(&truth->cells, part->window)->doubtful;
        return used > allowed && ask_clocks_within(sim, rule) ? (double)(used - allowed) : 0;
    case ASK_LOG:
    case ASK_LEASE:
        used = ask_log_least(sim, rule, truth, more);
        return used > allowed && truth->log.lost == 0 ? (double)(used - allowed) : 0;
    case ASK_ALGORITHMS:
        break;
    }
    return 0;
}

/* Counts the tokens as possibly unspent: no node must answer for them. */
static void excuse(struct ask_truth *truth, const struct plan_rule *rule, uint64_t window, uint64_t tokens)
{
    if (rule->terms.kind == LIMIT_BUCKET)
        truth_bucket_lose(&truth->bucket, &rule->limit, (int64_t)tokens * rule->limit.units_per_token);
    else if (rule->terms.kind == LIMIT_CELL)
        truth_cell_give_back(&truth->cells, window, 0, tokens);
    else
        truth_log_lose(&truth->log, tokens);
}

void ask_spent(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part,
               uint64_t tokens)
{
    const struct ask_moment now = {.fast_ns = clock_read(&sim->fast, sim->now_ns),
                                   .slow_ns = clock_read(&sim->slow, sim->now_ns)};
    ask_spent_then(sim, i, charge, part, tokens, &now);
}

void ask_spent_then(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part,
                    uint64_t tokens, const struct ask_moment *then)
{
    const struct plan_rule *rule = ask_rule(sim, part->rule);
    struct ask_truth *truth = &sim->asks.truth[part->rule][part->subject];
    uint64_t now_ns = world_local_ns(sim, i);
    sim->asks.life_tokens[i][part->rule][part->subject] += tokens;
    ask_right_gained(sim, i, part, tokens);
    ask_truth_now(sim, part->rule, part->subject);
    if (rule->terms.kind == LIMIT_BUCKET)
        truth_bucket_spend(&truth->bucket, &rule->limit, tokens);
    else if (rule->terms.kind == LIMIT_CELL)
        truth_cell_spend(&truth->cells, part->window, tokens);
    else if (tokens > 0)
        truth_log_spend(&truth->log, tokens, then->fast_ns, then->slow_ns);
    if (sim->node[i].unawaited)
        excuse(truth, rule, part->window, tokens);
    if (sim->trace)
        story_tell(sim, sim->node[i].name, "takes %" PRIu64 " of rule %u, key %u, window %" PRIu64, tokens,
                   part->rule, part->subject, part->window);
    if (sim->trace)
        tell_views(sim, *part);
    if (laws_are_off(sim))
        return;
    double excess = exceeds(sim, part, charge->window_end_ns > now_ns ? charge->window_end_ns - now_ns : 0, 0);
    if (excess > 0)
        tell_views(sim, *part);
    if (excess > 0)
        sim_fail(sim,
                 "overshoot: %s took %" PRIu64 " of rule %u (%s of %" PRIu64 " + %" PRIu64
                 "%s), key %u: %.3f too many",
                 sim->node[i].name, tokens, part->rule, ask_algorithm_name(rule->algorithm), rule->terms.capacity,
                 rule->terms.overshoot, rule->terms.flags & LIMIT_SPLIT ? ", split" : "", part->subject, excess);
}

/*
 * Other peers take the oldest spend off their lists that is no older than the returned spend. If a clock jumped or
 * stalled since the returned spend was made, they may take off a spend that ends later; which clock will jump
 * until all peers have heard of the return is not known yet, so any world with such faults counts as unsteady. A
 * spend that has ended at its maker gives nothing back. A refund names no spend: the node gives back its oldest
 * listed own spend. An evicted list counts as one spend of no known maker; then the node gives back a newer own
 * spend instead of one that is no longer listed.
 */
static void give_back_listed(struct sim *sim, unsigned i, const struct ask_part *part, const struct ask_held *held,
                             uint64_t sure, uint64_t possible)
{
    struct truth_log *log = &sim->asks.truth[part->rule][part->subject].log;
    uint64_t period_ns = ask_rule(sim, part->rule)->terms.period_ns;
    bool counts_here = world_local_ns(sim, i) - held->made_ns < period_ns;
    bool is_steady = (sim->plan.faults & (1u << FAULT_JUMP | 1u << FAULT_STALL)) == 0;
    bool names_none = !held->reserved && ask_views_may_jump(sim);
    truth_log_give_back(log, names_none ? UINT64_MAX : held->fast_ns, held->slow_ns, sure, possible);
    if (counts_here && !is_steady)
        truth_log_mistake(log, possible, clock_read(&sim->fast, sim->now_ns));
}

void ask_given_back(struct sim *sim, unsigned i, const struct ask_part *part, const struct ask_held *held,
                    int64_t sure, int64_t possible, uint64_t batches)
{
    const struct plan_rule *rule = ask_rule(sim, part->rule);
    struct ask_truth *truth = &sim->asks.truth[part->rule][part->subject];
    uint64_t sure_tokens = (uint64_t)(sure / rule->limit.units_per_token),
             tokens = (uint64_t)(possible / rule->limit.units_per_token);
    ask_truth_now(sim, part->rule, part->subject);
    if (rule->terms.kind == LIMIT_BUCKET)
        truth_bucket_give_back(&truth->bucket, &rule->limit, i, sure, possible, batches);
    else if (rule->terms.kind == LIMIT_CELL)
        truth_cell_give_back(&truth->cells, part->window, sure_tokens, tokens);
    else
        give_back_listed(sim, i, part, held, sure_tokens, tokens);
    if (sim->trace)
        story_tell(sim, sim->node[i].name,
                   "gives %" PRIu64 " to %" PRIu64 " of rule %u, key %u, window %" PRIu64 " back", sure_tokens,
                   tokens, part->rule, part->subject, part->window);
    if (sim->trace)
        tell_views(sim, *part);
}

/* ---- lost spends ---- */

/*
 * The tokens of a cell or a log that node i has spent and that some peer may not know. After evictions the view
 * does not show them; then they may be all that node i has spent.
 */
static uint64_t lost_tokens(struct sim *sim, unsigned i, const struct ask_part *part)
{
    struct charge charge = ask_charge_of(sim, i, part);
    uint64_t unsettled = (uint64_t)ask_view(sim, i, part, &charge).unsettled;
    uint64_t spent = sim->asks.life_tokens[i][part->rule][part->subject];
    return sim->evicted && spent > unsettled ? spent : unsettled;
}

static void lost_cells(struct sim *sim, unsigned i, struct ask_part part)
{
    struct ask_truth *truth = &sim->asks.truth[part.rule][part.subject];
    const int64_t token = ask_rule(sim, part.rule)->limit.units_per_token;
    uint64_t now = ask_window_now(sim, i, part.rule);
    for (part.window = now - 3; part.window <= now + 1; part.window++) {
        const uint64_t lost = lost_tokens(sim, i, &part), least = truth_cell_of(&truth->cells, part.window)->least;
        rights_of_rule_lost_with(sim, i, &part, lost > least ? (int64_t)(lost - least) * token : 0);
        truth_cell_give_back(&truth->cells, part.window, 0, lost);
    }
}

static void lost_bucket(struct sim *sim, unsigned i, const struct ask_part *part, uint64_t share)
{
    const struct limit *limit = &ask_rule(sim, part->rule)->limit;
    struct truth_bucket *truth = &sim->asks.truth[part->rule][part->subject].bucket;
    struct charge charge = ask_charge_of(sim, i, part);
    uint64_t tokens = sim->asks.life_tokens[i][part->rule][part->subject] + sim->rights.was[i].granted;
    const uint64_t of_this = homes_share(sim, i, charge.id, charge.limit, share);
    ask_truth_now(sim, part->rule, part->subject);
    const int64_t lost = ask_view(sim, i, part, &charge).unsettled +
                         world_paid_off_units(sim, i, limit, tokens, of_this),
                  room = limit->capacity_units - truth->now.high;
    rights_of_rule_lost_with(sim, i, part, lost > room ? lost - room : 0);
    truth_bucket_lose(truth, limit, lost);
    truth_bucket_gone(truth, i);
}

void ask_lost_with(struct sim *sim, unsigned i, uint64_t share)
{
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ask_rule(sim, r)->subjects; s++) {
            struct ask_part part = {.rule = r, .subject = s};
            if (ask_rule(sim, r)->terms.kind == LIMIT_CELL)
                lost_cells(sim, i, part);
            else if (ask_rule(sim, r)->terms.kind == LIMIT_LOG)
                truth_log_lose(&sim->asks.truth[r][s].log, lost_tokens(sim, i, &part));
            else
                lost_bucket(sim, i, &part, share);
            sim->asks.life_tokens[i][r][s] = 0;
        }
}

void ask_knowledge_lost(struct sim *sim)
{
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ask_rule(sim, r)->subjects; s++) {
            struct ask_truth *truth = &sim->asks.truth[r][s];
            ask_truth_now(sim, r, s);
            truth_bucket_lose(&truth->bucket, &ask_rule(sim, r)->limit, 2 * ask_rule(sim, r)->limit.capacity_units);
            truth_cells_forget(&truth->cells);
            truth_log_forget(&truth->log);
        }
}

/* ---- after every step ---- */

static void note_heard(struct sim *sim, unsigned i)
{
    if (!world_is_acknowledged(sim, i))
        return;
    for (unsigned r = 0; r < sim->plan.asks.rules; r++)
        for (unsigned s = 0; s < ask_rule(sim, r)->subjects; s++) {
            ask_truth_now(sim, r, s);
            if (ask_rule(sim, r)->terms.kind == LIMIT_BUCKET)
                truth_bucket_heard(&sim->asks.truth[r][s].bucket, &ask_rule(sim, r)->limit, i,
                                   batches_closed(sim->node[i].node));
        }
}

static void check_reservations(struct sim *sim, unsigned i)
{
    unsigned held = 0, ending = 0;
    for (unsigned h = 0; h < ASK_HELD_MAX; h++) {
        const struct ask_held *at = &sim->asks.held[h];
        held += at->used && at->reserved && at->node == i;
        ending += at->used && at->ending && at->node == i;
    }
    if (open_reservations(sim->node[i].node) != held)
        sim_fail(sim, "reservations: %s has %u, %u are open or to be given back", sim->node[i].name,
                 open_reservations(sim->node[i].node), held);
    const struct step_figures *was = &sim->node[i].was, *before = &sim->node[i].before;
    struct node_status status;
    node_status(sim->node[i].node, &status);
    bool has_room = was->log_keys <= sim->plan.log_keys_max && before->open_keys == 0;
    if (ending > 0 && has_room && before->reservations == open_reservations(sim->node[i].node) &&
        status.state == PEER_ACTIVE && former_reservations(sim->node[i].node) == 0)
        sim_fail(sim, "reservations: %s keeps %u that have ended, and could tell that they have", sim->node[i].name,
                 ending);
}

/* What node i would admit of a key at once, of whatever tier. */
static uint64_t within_reach(struct sim *sim, unsigned i, struct ask_part part)
{
    const struct plan_rule *rule = ask_rule(sim, part.rule);
    uint64_t most = 0, granted = 0;
    const unsigned tiers = sim->phase > PHASE_AGREE || rule->tiers == 0 ? 1 : rule->tiers;
    for (part.tier = 0; part.tier < tiers; part.tier++) {
        struct verdict verdict;
        struct charge charge = ask_charge(sim, i, &part, 1);
        charge.shadow = false;
        const bool allowed = node_check(sim->node[i].node, &charge, 1, false, world_local_ns(sim, i), &verdict);
        const uint64_t in_voucher =
            (uint64_t)(rights_units(sim, i, charge.id, charge.limit, &rule->limit) / rule->limit.units_per_token);
        const uint64_t own = number_minus(verdict.available_tokens, in_voucher);
        most = allowed && own > most ? own : most;
        granted = in_voucher > granted ? in_voucher : granted;
    }
    return most + granted;
}

/* Checks what all nodes would admit of one key at this moment, each in its present window. */
static void check_reach(struct sim *sim, unsigned r, unsigned s)
{
    const struct plan_rule *rule = ask_rule(sim, r);
    uint64_t windows[ASK_NODES_MAX], remaining[ASK_NODES_MAX] = {0}, least_left_ns = rule->window_ns;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        struct ask_part part = {.rule = r, .subject = s};
        if (!world_is_up(sim, i) || sim->node[i].unawaited)
            continue;
        const struct charge charge = ask_charge(sim, i, &part, 1);
        windows[i] = part.window;
        remaining[i] = within_reach(sim, i, part);
        uint64_t left_ns = charge.window_end_ns - world_local_ns(sim, i);
        if (charge.window_end_ns > 0 && left_ns < least_left_ns)
            least_left_ns = left_ns;
    }
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        uint64_t more = 0;
        if (remaining[i] == 0)
            continue;
        for (unsigned j = 0; j < sim->plan.nodes; j++)
            more += remaining[j] > 0 && windows[j] == windows[i] ? remaining[j] : 0;
        struct ask_part part = {.rule = r, .subject = s, .window = windows[i]};
        double excess = exceeds(sim, &part, least_left_ns, more);
        if (excess > 0) {
            tell_views(sim, part);
            for (unsigned j = 0; j < sim->plan.nodes; j++)
                story_tell(sim, sim->node[j].name, "would admit %" PRIu64 "; %.3f of the window is left",
                           remaining[j], rule->window_ns > 0 ? (double)least_left_ns / (double)rule->window_ns : 0);
            sim_fail(sim,
                     "reach: together the nodes would admit %" PRIu64 " more of rule %u (%s of %" PRIu64
                     " + %" PRIu64 "%s), key %u: %.3f too many",
                     more, r, ask_algorithm_name(rule->algorithm), rule->terms.capacity, rule->terms.overshoot,
                     rule->terms.flags & LIMIT_SPLIT ? ", split" : "", s, excess);
            return;
        }
    }
}

void ask_laws_after_step(struct sim *sim, unsigned i)
{
    unsigned rules = sim->plan.asks.rules;
    if (rules == 0)
        return;
    ask_note_skew(sim);
    check_reservations(sim, i);
    if (sim->phase > PHASE_AGREE) /* a commit may have spent under the tier of its reservation */
        ask_tiers_end(sim, i);
    if (sim->steps % 4 == 0)
        note_heard(sim, i);
    if (!laws_are_off(sim) && (!sim->plan.tiers_lazy || sim->phase > PHASE_AGREE)) {
        unsigned r = (unsigned)(sim->steps % rules);
        check_reach(sim, r, (unsigned)(sim->steps / rules % ask_rule(sim, r)->subjects));
    }
}
