/*
 * The law `utilisation`: under steady load at least 90% of the rate is admitted, once an overshoot is repaid and what
 * faults have cost is over; of a limit with a home 30%, since each ask of another region loses what refills until it is
 * answered. It is measured for a few keys whose bursts are larger than what is in flight.
 */
#include "base/number.h"
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

enum { MEASURED_KEYS_MAX = 2, MEASURE_INTERVALS = 30, MEASURE_ROUNDS = 2 };

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

static uint64_t measured_keys(const struct sim *sim)
{
    uint64_t keys = 0;
    for (unsigned k = 0; k < sim->plan.keys; k++)
        keys += sim->measured[k];
    return keys;
}

/*
 * At three times the rate, what is in a full bucket is spent in half the time of its refill. Views stay full until
 * they are told: they lose the refill of that time, are in debt by as much when they are, and for as long. Only
 * measured keys are spent from, and told.
 */
uint64_t laws_warm_up_ns(const struct sim *sim, uint64_t refill_ns)
{
    return refill_ns + 2 * laws_telling_ns(sim, measured_keys(sim));
}

/* What is admitted goes up and down with what is told: so several rounds of that are measured. */
uint64_t laws_measure_ns(const struct sim *sim)
{
    const uint64_t least_ns = MEASURE_INTERVALS * sim->plan.interval_ns;
    return number_most(least_ns, MEASURE_ROUNDS * laws_telling_ns(sim, measured_keys(sim)));
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
    uint64_t admitted = sim->admissions - sim->measured_admissions, part = laws_step_part(sim);
    return sim->plan.apart_ns > 0 && admitted * sim->plan.apart_ns > (sim->now_ns - sim->measured_from_ns) * part;
}

/*
 * A log may be so small that a message lost under steady load makes a peer need a snapshot. A snapshot does not say how
 * old it is: the view that takes it loses the refill of its way, and so do those that take that one's.
 */
static double lost_with_snapshots(const struct sim *sim, const struct limit *limit)
{
    double way_ns = (double)laws_round_trip_ns(sim) / 2;
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

/* Of the ideal. Nothing is sure of a limit whose home is deserted. */
static double least_part(struct sim *sim, unsigned k)
{
    const struct plan_key *key = &sim->plan.key[k];
    if (sim_limit(sim, k)->home == 0)
        return 0.9;
    return homes_sum_of_shares(sim, key->id, key->limit) < 0.6 ? 0 : 0.2;
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
        if (admitted + kept_for_others(sim, k) < least_part(sim, k) * ideal - lost_with_snapshots(sim, limit))
            sim_fail(sim, "utilisation: %.0f of %.0f tokens of key %u admitted under steady load, %.3f", admitted,
                     ideal, k, admitted / ideal);
    }
}
