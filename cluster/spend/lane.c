/*
 * lane gives each thread of requests its own ring, counters, and wishes for a step. A thread writes
 * no lane but its own, so threads share no line of memory. Steps, which run alone, gather the
 * wishes of the lanes.
 */
#include "cluster/spend/lane.h"

#include "cluster/state/node_state.h"

#include <assert.h>
#include <stdlib.h>

/*
 * The number belongs to the thread, not to a node: calls of requests need no further argument, and
 * programs with one thread need not know of lanes.
 */
static _Thread_local uint32_t lane_of_thread;

void node_use_lane(uint32_t lane)
{
    lane_of_thread = lane;
}

struct lane *own_lane(const struct node *node)
{
    assert(lane_of_thread < node->lane_count);
    return &node->lane[lane_of_thread];
}

bool lanes_create(struct node *node)
{
    uint32_t count = node->options.lanes > 0 ? node->options.lanes : 1;
    node->lane = aligned_alloc(alignof(struct lane), count * sizeof *node->lane);
    if (!node->lane)
        return false;
    node->lane_count = count;
    for (uint32_t i = 0; i < count; i++)
        node->lane[i] = (struct lane){0};
    return true;
}

void lanes_destroy(struct node *node)
{
    free(node->lane);
}

void lanes_gather(struct node *node)
{
    for (uint32_t i = 0; i < node->lane_count; i++) {
        struct lane *lane = &node->lane[i];
        todo_add_if(&node->todo, DO_PUSH, lane->push_wanted);
        todo_add_if(&node->todo, DO_HURRY, lane->hurry_wanted);
        lane->push_wanted = lane->hurry_wanted = lane->step_wanted = false;
    }
}

bool node_wants_step(const struct node *node)
{
    const struct lane *lane = own_lane(node);
    return lane->step_wanted ||
           ((lane->push_wanted || todo_has(&node->todo, DO_PUSH)) && !todo_has(&node->todo, DO_PUSH_LATER)) ||
           ((lane->hurry_wanted || todo_has(&node->todo, DO_HURRY)) && !todo_has(&node->todo, DO_HURRY_LATER));
}
