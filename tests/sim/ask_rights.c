/*
 * Law of returns: every token is given back at most once, by the node that spent it.
 *
 *   returns  a node gives back of a key at most what this node has spent of the key in this life and not given
 *            back. A node that is alone may give back what others spent who are gone.
 *
 * In some worlds, clients that miss an answer ask other nodes for the same refund, and an operator resets keys
 * that are in use. Neither a refund nor a reset may give back tokens that a reservation holds; ask_return.c checks
 * what a cancelled reservation gives back. The truth counts each return as a return of a spend of the node that
 * returns.
 */
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <inttypes.h>

static struct ask_right *right_of(struct sim *sim, unsigned i, const struct ask_part *part)
{
    struct ask_right *right = &sim->asks.right[i][part->rule][part->subject][part->window % ASK_RIGHT_WINDOWS];
    if (right->window != part->window)
        *right = (struct ask_right){.window = part->window};
    return right;
}

/*
 * Of a window of long ago nothing is remembered, and nothing comes back to anybody. A wall clock may go back as well:
 * then the places of the windows ahead are those of windows that are over.
 */
static bool is_remembered(const struct sim *sim, unsigned i, const struct ask_part *part)
{
    const uint64_t now = ask_window_now(sim, i, part->rule);
    return ask_rule(sim, part->rule)->terms.kind != LIMIT_CELL ||
           (now < part->window + ASK_RIGHT_WINDOWS / 2 && part->window < now + ASK_RIGHT_WINDOWS / 2);
}

void ask_right_gained(struct sim *sim, unsigned i, const struct ask_part *part, uint64_t tokens)
{
    if (is_remembered(sim, i, part))
        right_of(sim, i, part)->tokens += tokens;
}

/*
 * Of so many tokens that are given back, so many are the node's to give. Of those of a bucket that others granted its
 * view gains less: what may have refilled is taken off. Of all that one batch tells, others take that off once.
 */
uint64_t ask_right_given(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part,
                         uint64_t tokens)
{
    const struct ask_right *right = right_of(sim, i, part);
    if (ask_rule(sim, part->rule)->terms.kind != LIMIT_BUCKET ||
        (homes_begin_anew(sim, i, charge, part) && !part->granted))
        return 0;
    return tokens < right->tokens ? tokens : right->tokens;
}

/* True: the node knows no other member. Then the node may give back all that is taken of a key. */
static bool is_alone(const struct sim *sim, unsigned i)
{
    struct node_status status;
    node_status(sim->node[i].node, &status);
    return status.peers <= 1;
}

void ask_right_used(struct sim *sim, unsigned i, const struct ask_part *part, uint64_t tokens)
{
    if (!is_remembered(sim, i, part))
        return;
    struct ask_right *right = right_of(sim, i, part);
    right->alone += is_alone(sim, i) ? tokens : 0;
    if (tokens > right->tokens + right->alone && !ask_views_may_jump(sim))
        sim_fail(sim,
                 "returns: %s gives %" PRIu64 " tokens of rule %u (%s), key %u back, of which it has spent %" PRIu64
                 " and not given back",
                 sim->node[i].name, tokens, part->rule, ask_algorithm_name(ask_rule(sim, part->rule)->algorithm),
                 part->subject, right->tokens);
    const uint64_t own = tokens < right->tokens ? tokens : right->tokens;
    right->tokens -= own;
    right->alone -= tokens - own < right->alone ? tokens - own : right->alone;
}

void ask_rights_end(struct sim *sim, unsigned i)
{
    for (unsigned r = 0; r < ASK_RULES_MAX; r++)
        for (unsigned s = 0; s < ASK_SUBJECTS_MAX; s++)
            for (unsigned w = 0; w < ASK_RIGHT_WINDOWS; w++)
                sim->asks.right[i][r][s][w].tokens = sim->asks.right[i][r][s][w].alone = 0;
}

/* ---- refunds that are asked for again, elsewhere ---- */

static int64_t left_of(struct sim *sim, unsigned i, const struct ask_part *part)
{
    struct charge charge = ask_charge_of(sim, i, part);
    struct bucket bucket = ask_view(sim, i, part, &charge);
    return bucket.settled - bucket.unsettled;
}

/* Counts what the node's view gained as given back. For a log the time of the returned spend is unknown. */
static void note_gain(struct sim *sim, unsigned i, const struct charge *charge, const struct ask_part *part,
                      int64_t before, uint64_t asked)
{
    static const struct ask_held unknown = {.made_ns = 0};
    const struct limit *limit = &ask_rule(sim, part->rule)->limit;
    int64_t gained = ask_change(ask_rule(sim, part->rule), left_of(sim, i, part) - before),
            per_token = limit->units_per_token;
    int64_t tokens = (gained + per_token - 1) / per_token, sure = limit->kind == LIMIT_LOG ? 0 : gained;
    if (gained < 0)
        sim_fail(sim, "returns: %s lost %" PRId64 " units of rule %u by giving some back", sim->node[i].name,
                 -gained, part->rule);
    if (gained <= 0)
        return;
    const int64_t given = (int64_t)ask_right_given(sim, i, charge, part, asked);
    tokens = given > tokens ? given : tokens;
    ask_right_used(sim, i, part, (uint64_t)(gained / per_token));
    ask_given_back(sim, i, part, &unknown, sure, tokens * per_token, batches_closed(sim->node[i].node));
    sim->asks.given_elsewhere += (uint64_t)tokens;
}

/* False: a clock that jumps may have ended spends of a log early, so the returned spend cannot be named. */
static bool is_certain(const struct sim *sim, const struct plan_rule *rule)
{
    return rule->terms.kind != LIMIT_LOG || (sim->plan.faults & (1u << FAULT_JUMP | 1u << FAULT_STALL)) == 0;
}

static void ask_for_one(struct sim *sim, unsigned i, const struct ask_part *of, uint64_t tokens, bool resets)
{
    struct ask_part part = *of, previous;
    part.granted = false; /* which only the reservation gives back */
    if (!is_certain(sim, ask_rule(sim, part.rule)))
        return;
    part.tier = ask_tier(sim, i, part.rule);
    struct charge charge = ask_charge(sim, i, &part, tokens);
    previous = part;
    previous.window -= charge.sliding;
    int64_t before = left_of(sim, i, &part), before_that = left_of(sim, i, &previous);
    if (sim->trace)
        story_tell(sim, sim->node[i].name, "is asked to %s %" PRIu64 " of rule %u, key %u, window %" PRIu64,
                   resets ? "reset what is left of" : "refund", tokens, part.rule, part.subject, part.window);
    if (resets)
        node_reset_key(sim->node[i].node, &charge, 1, world_local_ns(sim, i));
    else
        (void)node_return(sim->node[i].node, &charge, 1, tokens, world_local_ns(sim, i));
    note_gain(sim, i, &charge, &part, before, resets ? UINT64_MAX : tokens);
    if (charge.sliding && resets)
        note_gain(sim, i, &charge, &previous, before_that, 0);
}

void ask_elsewhere(struct sim *sim, const struct ask_held *held)
{
    struct random *random = &sim->asks.strangers;
    if (!sim->plan.asks.strangers || ask_views_may_jump(sim))
        return;
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        if (!world_is_up(sim, i) || sim->now_ns < sim->node[i].paused_until_ns || draw_one_in(random, 3))
            continue;
        for (unsigned c = 0; c < held->count; c++)
            ask_for_one(sim, i, &held->part[c], held->cost, draw_one_in(random, 6));
        if (sim->node[i].node != NULL)
            ask_wake_soon(sim, i);
    }
}
