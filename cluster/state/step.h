/*
 * step: how much is done in one step.
 *
 * The one idea: requests wait while a step runs, so a step works on about step_keys keys and leaves
 * the rest to a step that follows at once, when requests have been served. Whatever goes through
 * keys says so, and asks before it begins with some: what comes first in a step is not refused,
 * however large.
 */
#ifndef HEADGATE_CLUSTER_STATE_STEP_H
#define HEADGATE_CLUSTER_STATE_STEP_H

#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Whether this step may begin with so many keys; else a step follows at once. */
static inline bool step_has_time(struct node *node, uint64_t keys)
{
    bool has = keys <= node->step.left || node->step.left == node->step.keys;
    todo_add_if(&node->todo, DO_STEP, !has);
    return has;
}

/* So many keys were worked on. */
static inline void step_works(struct node *node, uint64_t keys)
{
    node->step.worked += keys;
    node->step.left -= keys < node->step.left ? (uint32_t)keys : node->step.left;
}

#endif
