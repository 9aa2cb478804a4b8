/*
 * step: bounds the work of one step.
 *
 * The one idea: requests wait while a step runs, so a step works on about step_keys keys and leaves
 * the rest to a step that follows at once, after waiting requests. Code that goes through keys asks
 * step_has_time before it begins with some, and then calls step_works. The first work of a step is
 * never refused, however large it is.
 */
#ifndef HEADGATE_CLUSTER_STATE_STEP_H
#define HEADGATE_CLUSTER_STATE_STEP_H

#include "cluster/state/node_state.h"

#include <stdbool.h>
#include <stdint.h>

/* True if this step may begin with so many keys; else another step follows at once. */
static inline bool step_has_time(struct node *node, uint64_t keys)
{
    bool has = keys <= node->step.left || node->step.left == node->step.keys;
    todo_add_if(&node->todo, DO_STEP, !has);
    return has;
}

/* To be called after work on so many keys. */
static inline void step_works(struct node *node, uint64_t keys)
{
    node->step.worked += keys;
    node->step.left -= keys < node->step.left ? (uint32_t)keys : node->step.left;
}

#endif
