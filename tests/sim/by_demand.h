/*
 * by_demand: what nodes know of demand, and weights that follow it, in worlds with one key.
 *
 * The one idea: a watch sums what each node says of each region while the load lasts, and a run compares that with the
 * load. No law is checked.
 */
#ifndef HEADGATE_TESTS_SIM_BY_DEMAND_H
#define HEADGATE_TESTS_SIM_BY_DEMAND_H

#include "tests/sim/sim.h"

/* By node and region: tokens a second, summed over all samples of the time. */
struct demand_watch {
    uint64_t from_ns, until_ns;
    double given[SIM_NODES_MAX][SIM_NODES_MAX], wanted[SIM_NODES_MAX][SIM_NODES_MAX];
};

/* To be called now and then: adds to the watch of the world, if it has one. */
void demand_watch_sample(struct sim *sim);

#endif
