/* The transcript of a run: who did what when, for a human. */
#include "tests/sim/laws.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

const char *phase_name(enum phase phase)
{
    switch (phase) {
    case PHASE_SAFETY:
        return "faults and load";
    case PHASE_AGREE:
        return "all faults are over; no load until all agree";
    case PHASE_REST:
        return "no load until buckets are full";
    case PHASE_WARM_UP:
        return "steady load, three times the rate";
    case PHASE_MEASURE:
        return "steady load, measured";
    case PHASE_SETTLE:
        return "no load until all agree again";
    case PHASE_OVER:
        return "over";
    }
    return "";
}

void story_tell(const struct sim *sim, const char *who, const char *format, ...)
{
    if (!sim->verbose)
        return;
    va_list arguments;
    printf("%12.6f  %-10s ", (double)sim->now_ns / 1e9, who);
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

static void tell_faults(const struct plan *plan)
{
    printf("#   faults:  ");
    if (plan->faults == 0)
        printf("none");
    for (unsigned kind = 0; kind < FAULT_KINDS; kind++)
        if (plan->faults >> kind & 1)
            printf("%s%s", fault_name((enum fault_kind)kind), plan->faults >> (kind + 1) ? ", " : "");
    if (plan->faults != 0)
        printf("; every %.3f s for %.3f to %.3f s", (double)plan->fault_gap_ns / 1e9,
               (double)plan->fault_min_ns / 1e9, (double)plan->fault_max_ns / 1e9);
    printf("%s\n", plan->corrupt > 0 ? "; corrupted messages" : "");
}

void story_plan(const struct sim *sim)
{
    const struct plan *plan = &sim->plan;
    if (!sim->verbose)
        return;
    printf("# seed %" PRIu64 ": %u nodes in %u regions, interval %.0f ms, %u keys\n", plan->seed, plan->nodes,
           plan->regions, (double)plan->interval_ns / 1e6, plan->keys);
    printf("#   network: latency %.3f ms +-%.0f%%, loss %.1f%%, duplicates %.1f%%, %s\n",
           (double)plan->latency_max_ns / 1e6, plan->jitter / 655.36, plan->loss / 655.36, plan->duplicate / 655.36,
           plan->in_order ? "in order" : "reordering");
    tell_faults(plan);
    printf("#   load:    %s%s%s%s, %" PRIu64 "%% of the rate\n", load_shape_name(plan->shape),
           plan->bursts ? ", bursts" : "", plan->gaps ? ", gaps" : "",
           plan->trickles ? ", trickles and rushes"
           : plan->greedy ? ", greedy"
                          : "",
           plan->demand_percent);
    printf("#   options: table %" PRIu64 " keys, log %" PRIu64 " spends, messages %" PRIu64
           " bytes, silent after %.3f s, join timeout %.3f s%s\n",
           plan->table_keys, plan->log_keys_max, plan->message_max_bytes, (double)plan->silent_after_ns / 1e9,
           (double)plan->join_timeout_ns / 1e9, plan->seeds_only ? ", configs name the first node only" : "");
    if (plan->threads > 1)
        printf("#   threads: %u\n", plan->threads);
    if (plan->tell_pace > 0)
        printf("#   telling: %" PRIu64 " keys a second, %u may wait\n", plan->tell_pace, plan->untold_max);
    for (unsigned l = 0; l < plan->limits.count; l++) {
        const struct limit *limit = &plan->limits.limit[l];
        printf("#   %s: capacity %" PRIu64 ", rate %" PRIu64 " per %.6f s, overshoot %" PRIu64 ", tick %" PRIu64
               " ns\n",
               plan->limits.named.limit[l].name, limit->capacity, limit->rate, (double)limit->period_ns / 1e9,
               limit->overshoot, limit->tick_ns);
    }
    for (unsigned i = 0; i < plan->nodes; i++)
        printf("#   %s: region weight %.4f, drift %d ppm%s\n", sim->node[i].name,
               (double)plan->weight[plan->node[i].region] / (double)SHARE_ONE, plan->node[i].drift_ppm,
               plan->node[i].unnamed ? ", not named in others' configs" : "");
}

/* One line: what each node admitted since the last one, and the truth of the first keys. */
void story_sample(struct sim *sim)
{
    char text[512];
    int used = 0;
    if (!sim->verbose)
        return;
    used += snprintf(text, sizeof text, "admitted");
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        struct sim_node *n = &sim->node[i];
        used += snprintf(text + used, sizeof text - (size_t)used, " %s %" PRIu64, n->name, n->admitted_tokens);
        n->admitted_tokens = 0;
    }
    used += snprintf(text + used, sizeof text - (size_t)used, "; left in truth");
    for (unsigned k = 0; k < sim->plan.keys && k < 3; k++) {
        truth_now(sim, k);
        const struct limit *limit = sim_limit(sim, k);
        used += snprintf(text + used, sizeof text - (size_t)used, " %.1f/%" PRIu64,
                         truth_tokens(limit, sim->truth[k].high), limit->capacity);
    }
    story_tell(sim, "load", "%s", text);
}

void story_admission(struct sim *sim, unsigned i, unsigned key, uint64_t cost)
{
    const struct limit *limit = sim_limit(sim, key);
    struct bucket bucket = sim_bucket(sim, i, key);
    story_tell(sim, sim->node[i].name, "admits %" PRIu64 " of key %u: sees %.3f - %.3f, the truth is %.3f", cost,
               key, truth_tokens(limit, bucket.settled), truth_tokens(limit, bucket.unsettled),
               truth_tokens(limit, sim->truth[key].high));
}

void story_views(struct sim *sim)
{
    if (sim->verbose)
        lists_tell(sim);
    for (unsigned k = 0; sim->verbose && k < sim->plan.keys && k < 3; k++) {
        const struct plan_key *key = &sim->plan.key[k];
        const struct limit *limit = sim_limit(sim, k);
        char text[512];
        int used = 0;
        truth_now(sim, k);
        for (unsigned i = 0; i < sim->plan.nodes; i++) {
            if (!world_is_up(sim, i))
                continue;
            struct bucket bucket = sim_bucket(sim, i, k);
            used += snprintf(text + used, sizeof text - (size_t)used, ", %s %.2f - %.2f", sim->node[i].name,
                             truth_tokens(limit, bucket.settled), truth_tokens(limit, bucket.unsettled));
        }
        story_tell(sim, "views", "key %u (%s): truth %.2f%s", k, sim->plan.limits.named.limit[key->limit].name,
                   truth_tokens(limit, sim->truth[k].high), used > 0 ? text : "");
    }
}
