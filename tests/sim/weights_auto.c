/*
 * Worlds in which weights follow demand by themselves (cluster/members/weights_auto.h), in half of those of --weights:
 * with operators, or alone. What must hold of each version that a node makes so, besides all else:
 *
 *   floor    no region has less than its floor.
 *   silent   nobody is silent at its maker.
 *   often    a maker makes one in a period at most.
 */
#include "tests/sim/laws.h"
#include "tests/sim/modes.h"
#include "tests/sim/world.h"

#include <inttypes.h>
#include <string.h>

void weights_auto_draw(struct plan *plan)
{
    struct random random;
    random_seed(&random, plan->seed * 13 + 8);
    if (draw_one_in(&random, 2))
        return;
    plan->weights_by_demand_ns = plan->interval_ns * draw_between(&random, 4, 24);
    plan->weights_alone = !draw_one_in(&random, 3);
    plan->all_propose = draw_one_in(&random, 4);
    for (unsigned r = 0; r < plan->regions; r++)
        plan->floor_billionths[r] =
            draw_one_in(&random, 2) ? 0 : WEIGHT_ONE_BILLIONTHS / plan->regions / draw_between(&random, 2, 10);
}

void weights_auto_options(const struct plan *plan, struct node_options *options)
{
    options->weights_by_demand_ns = plan->weights_by_demand_ns;
    options->weights_tokens_least = 8;
    options->weights_all_propose = plan->all_propose;
    for (unsigned r = 0; r < plan->regions; r++)
        options->regions[r].floor_billionths = plan->floor_billionths[r];
}

static bool somebody_is_silent(struct sim *sim, unsigned i)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    const size_t count = node_peers(sim->node[i].node, world_local_ns(sim, i), reports);
    for (size_t r = 0; r < count && r < NODE_PEERS_MAX; r++)
        if (!reports[r].self && reports[r].state == PEER_SILENT)
            return true;
    return false;
}

/* A version is first seen at its maker. */
static bool is_new(struct sim *sim, const struct version_stamp *stamp)
{
    struct auto_versions *seen = &sim->weights.seen;
    for (unsigned v = 0; v < seen->count && v < SIM_VERSIONS_MAX; v++)
        if (seen->stamp[v].number == stamp->number && seen->stamp[v].maker == stamp->maker)
            return false;
    seen->stamp[seen->count++ % SIM_VERSIONS_MAX] = *stamp;
    return true;
}

static void check_version(struct sim *sim, unsigned i, const struct weights_report *report)
{
    const struct weights_version *version = report->pending;
    const uint64_t now_ns = world_local_ns(sim, i), before_ns = sim->weights.seen.made_ns[i];
    for (uint32_t r = 0; r < report->region_count; r++)
        if (report->row[r].pending_billionths < report->row[r].floor_billionths ||
            report->row[r].pending_billionths == 0)
            sim_fail(sim, "floor: %s gives %s %" PRIu64 " billionths by demand, and its floor is %" PRIu64,
                     sim->node[i].name, report->row[r].region, report->row[r].pending_billionths,
                     report->row[r].floor_billionths);
    if (somebody_is_silent(sim, i))
        sim_fail(sim, "silent: %s makes weights by demand while somebody is silent", sim->node[i].name);
    if (before_ns > 0 && now_ns - before_ns < sim->plan.weights_by_demand_ns)
        sim_fail(sim, "often: %s makes weights by demand %.3f s after it made some", sim->node[i].name,
                 (double)(now_ns - before_ns) / 1e9);
    story_tell(sim, sim->node[i].name, "makes weights %" PRIu64 " by demand", version->stamp.number);
    sim->weights.seen.made_ns[i] = now_ns;
    sim->weights.changes++;
    sim->weights.by_demand++;
}

void weights_auto_after_step(struct sim *sim, unsigned i)
{
    static struct weights_report report;
    if (sim->plan.weights_by_demand_ns == 0 || !world_is_up(sim, i))
        return;
    node_weights(sim->node[i].node, &report);
    if (report.pending && is_new(sim, &report.pending->stamp) && strcmp(report.pending->author, "auto") == 0)
        check_version(sim, i, &report);
}
