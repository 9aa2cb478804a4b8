/*
 * weights_auto: weights that follow demand by themselves, where the config says `weights_by_demand`.
 *
 * The one idea: it is one more operator, who makes versions as others do; when they are in force is weights.c's, so no
 * bound depends on it. It looks at what regions were asked for in time in which all daemons were heard and nothing
 * waited, and only once there was enough of that. Of all daemons that would, the one whose name is first proposes.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_WEIGHTS_AUTO_H
#define HEADGATE_CLUSTER_MEMBERS_WEIGHTS_AUTO_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct node;
struct weights_report;

/* True: this node would make versions, and says so. */
bool weights_auto_proposes(const struct node *node);
/* To be called with each tick, before demand_average. */
void weights_auto_tick(struct node *node, struct effects *effects);
void weights_auto_report(const struct node *node, struct weights_report *report);

/*
 * New weights in billionths: half of the way to the parts of what was asked for, none below its floor, with the same
 * sum as `weight`. False: that sum has no room for the floors, or no region is off by a fifth of its weight.
 */
bool weights_auto_next(uint32_t count, const uint64_t *weight, const uint64_t *floor, const double *asked,
                       uint64_t *next);
/*
 * The floors of regions in billionths. Where the config says nothing: a twentieth, and at most half of an even part of
 * what other floors leave.
 */
struct region_weight;
void weights_auto_floors(uint32_t count, const struct region_weight *regions, uint64_t *floor);

#endif
