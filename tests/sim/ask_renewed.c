/*
 * Leases that a node renews away from their home. The node begins a new spend, and the lease lasts for longer only once
 * the home knows it. So the truth counts the new spend from when a client is first told that the lease outlasts the old
 * one, as of the time when it was begun. Before that, the lease ends with the old spend, whatever the new one does.
 */
#include "tests/lib/node_figures.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

static bool is_elsewhere(struct sim *sim, const struct ask_held *held, unsigned c)
{
    return ask_rule(sim, held->part[c].rule)->algorithm == ASK_LEASE && held->part[c].taken > 0 &&
           !homes_begin_anew(sim, held->node, &held->charge[c], &held->part[c]);
}

void ask_renewal_begins(struct ask_held *held, unsigned c)
{
    held->renewal[c] = (struct ask_renewal){.known = {held->made_ns, held->fast_ns, held->slow_ns}};
}

static uint64_t held_from(struct sim *sim, const struct ask_held *held, unsigned c, uint64_t from_ns)
{
    const struct limit *limit = node_limit(sim->node[held->node].node, held->charge[c].limit);
    const struct bucket bucket = ask_view(sim, held->node, &held->part[c], &held->charge[c]);
    uint64_t tokens = 0;
    for (uint32_t index = bucket.events.oldest; index && limit->kind == LIMIT_LOG;
         index = events_at(limit->events, index)->newer)
        tokens += events_at(limit->events, index)->at_ns >= from_ns ? events_at(limit->events, index)->held : 0;
    return tokens;
}

void ask_renewals_before(struct sim *sim, struct ask_held *held)
{
    for (unsigned c = 0; c < held->count; c++)
        held->renewal[c].held_before =
            is_elsewhere(sim, held, c) ? held_from(sim, held, c, world_local_ns(sim, held->node)) : UINT64_MAX;
}

bool ask_renewal_is_idle(struct sim *sim, const struct ask_held *held, unsigned c)
{
    return held->is_former && ask_rule(sim, held->part[c].rule)->algorithm != ASK_LEASE &&
           held_from(sim, held, c, world_local_ns(sim, held->node)) < held->part[c].taken;
}

/* The lease outlasts the spend that the truth counts. */
static void count(struct sim *sim, struct ask_held *held, unsigned c)
{
    struct ask_part *part = &held->part[c];
    struct ask_renewal *renewal = &held->renewal[c];
    const unsigned i = held->node;
    struct ask_held old = *held;
    if (renewal->begun.made_ns == 0) {
        sim_fail(sim, "renewal: %s has a lease of rule %u for longer than its home can know", sim->node[i].name,
                 part->rule);
        return;
    }
    old.made_ns = renewal->known.made_ns;
    old.fast_ns = renewal->known.fast_ns;
    old.slow_ns = renewal->known.slow_ns;
    sim->asks.renewed++;
    ask_right_used(sim, i, part, part->taken);
    ask_given_back(sim, i, part, &old, (int64_t)part->taken, (int64_t)part->taken,
                   batches_closed(sim->node[i].node));
    renewal->known = renewal->begun;
    renewal->begun.made_ns = 0;
    ask_spent_then(sim, i, &held->charge[c], part, part->taken, &renewal->known);
    held->made_ns = renewal->known.made_ns;
    held->fast_ns = renewal->known.fast_ns;
    held->slow_ns = renewal->known.slow_ns;
}

/*
 * In some worlds nobody hears of some of the new spends before the old ones have ended and others have had the place:
 * chance seldom cuts a link within the one round trip in which that matters.
 */
static void lose_word(struct sim *sim, const struct ask_held *held, unsigned c)
{
    const uint64_t period_ns = ask_rule(sim, held->part[c].rule)->terms.period_ns;
    if (sim->plan.asks.cuts_renewals && sim->phase == PHASE_SAFETY && draw_one_in(&sim->asks.random, 2))
        faults_cut_off(sim, held->node, draw_between(&sim->asks.random, period_ns / 2, 2 * period_ns));
}

void ask_renewals_after(struct sim *sim, struct ask_held *held, bool done)
{
    const uint64_t now_ns = world_local_ns(sim, held->node);
    for (unsigned c = 0; c < held->count; c++) {
        struct ask_renewal *renewal = &held->renewal[c];
        if (renewal->held_before == UINT64_MAX)
            continue;
        if (done && held->ends_ns > renewal->known.made_ns + ask_rule(sim, held->part[c].rule)->terms.period_ns)
            count(sim, held, c);
        if (held_from(sim, held, c, now_ns) <= renewal->held_before)
            continue;
        renewal->begun =
            (struct ask_moment){now_ns, clock_read(&sim->fast, sim->now_ns), clock_read(&sim->slow, sim->now_ns)};
        lose_word(sim, held, c);
    }
}

uint64_t ask_hold_ns(const struct sim *sim, const struct ask_held *held)
{
    uint64_t most_ns = sim->plan.asks.hold_max_ns;
    for (unsigned c = 0; c < held->count && sim->plan.asks.renews; c++) {
        const struct plan_rule *rule = ask_rule(sim, held->part[c].rule);
        if (rule->algorithm == ASK_LEASE && rule->terms.period_ns / 4 < most_ns)
            most_ns = rule->terms.period_ns / 4;
    }
    return most_ns > 0 ? most_ns : 1;
}
