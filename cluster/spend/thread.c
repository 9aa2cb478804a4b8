/*
 * thread gives each thread of requests a state of its own: a ring, counters, and wishes for a step. A
 * thread writes no state but its own, so threads share no line of memory. Steps, which run alone, gather
 * the wishes of all threads.
 */
#include "cluster/spend/thread.h"

#include "cluster/state/node_state.h"

#include <assert.h>
#include <stdlib.h>

/*
 * The number belongs to the thread, not to a node: calls of requests need no further argument, and
 * programs with one thread need not know of states of threads.
 */
static _Thread_local uint32_t thread_number;

void node_use_thread(uint32_t thread)
{
    thread_number = thread;
}

struct thread_state *own_thread(const struct node *node)
{
    assert(thread_number < node->thread_count);
    return &node->thread[thread_number];
}

bool thread_states_create(struct node *node)
{
    uint32_t count = node->options.threads > 0 ? node->options.threads : 1;
    node->thread = aligned_alloc(alignof(struct thread_state), count * sizeof *node->thread);
    if (!node->thread)
        return false;
    node->thread_count = count;
    for (uint32_t i = 0; i < count; i++)
        node->thread[i] = (struct thread_state){0};
    return true;
}

void thread_states_destroy(struct node *node)
{
    free(node->thread);
}

void thread_states_gather(struct node *node)
{
    for (uint32_t i = 0; i < node->thread_count; i++) {
        struct thread_state *thread = &node->thread[i];
        todo_add_if(&node->todo, DO_PUSH, thread->push_wanted);
        todo_add_if(&node->todo, DO_HURRY, thread->hurry_wanted);
        thread->push_wanted = thread->hurry_wanted = thread->step_wanted = false;
    }
}

bool node_wants_step(const struct node *node)
{
    const struct thread_state *thread = own_thread(node);
    return thread->step_wanted ||
           ((thread->push_wanted || todo_has(&node->todo, DO_PUSH)) && !todo_has(&node->todo, DO_PUSH_LATER)) ||
           ((thread->hurry_wanted || todo_has(&node->todo, DO_HURRY)) && !todo_has(&node->todo, DO_HURRY_LATER));
}
