/*
 * Nodes whose word nobody waits for.
 *
 * Whoever has left is not waited for: the others settle without it and may use the whole limit (docs/operations.md,
 * "Removing one"). If it starts again where nobody hears it, and goes on when its join timeout is over, it spends its
 * share of a full bucket on top, which nothing promises to bound. So what it spends is not held against anybody, until
 * all the others know of this life of it and it has acknowledged all of theirs. The others' spends count as ever.
 */
#include "tests/sim/laws.h"
#include "tests/sim/world.h"

#include <string.h>

/* What node j knows of node i; false: nothing. */
static bool report_of(struct sim *sim, unsigned j, unsigned i, struct peer_report *report)
{
    static struct peer_report reports[NODE_PEERS_MAX];
    size_t count = node_peers(sim->node[j].node, world_local_ns(sim, j), reports);
    for (size_t r = 0; r < count; r++) {
        *report = reports[r];
        if (strcmp(report->name, sim->node[i].name) == 0)
            return true;
    }
    return false;
}

static bool counts_with(struct sim *sim, unsigned j, unsigned i)
{
    struct peer_report report;
    return report_of(sim, j, i, &report) && report.state != PEER_LEFT;
}

static bool is_abreast_of(struct sim *sim, unsigned i, unsigned j)
{
    struct peer_report report;
    return report_of(sim, j, i, &report) && report.state != PEER_LEFT && report.lag_batches == 0 &&
           report.incarnation == sim->node[i].incarnation;
}

void unawaited_begin(struct sim *sim, unsigned i)
{
    for (unsigned j = 0; j < sim->plan.nodes; j++)
        if (j != i && world_is_up(sim, j) && !counts_with(sim, j, i))
            sim->node[i].unawaited = true;
    if (sim->node[i].unawaited)
        story_tell(sim, sim->node[i].name, "goes on alone, and others do not wait for its word");
}

void unawaited_after_step(struct sim *sim)
{
    for (unsigned i = 0; i < sim->plan.nodes; i++) {
        bool abreast = world_is_up(sim, i) && sim->node[i].unawaited && world_all_is_charged(sim);
        for (unsigned j = 0; j < sim->plan.nodes && abreast; j++)
            abreast = j == i || !world_is_up(sim, j) || is_abreast_of(sim, i, j);
        if (abreast) {
            story_tell(sim, sim->node[i].name, "is waited for again");
            sim->node[i].unawaited = false;
        }
    }
}
