/*
 * thread: calls on the state of one thread of requests (thread_state.h).
 *
 * The one idea: a thread writes only its own state and keys whose lock it holds, so threads share no
 * line of memory. Steps, which run alone, gather the wishes of all threads.
 */
#ifndef HEADGATE_CLUSTER_SPEND_THREAD_H
#define HEADGATE_CLUSTER_SPEND_THREAD_H

#include "base/spin.h"
#include "cluster/state/node_state.h"

#include <stdbool.h>

/* Alone, like the next. */
bool thread_states_create(struct node *node);
void thread_states_destroy(struct node *node);
/* The state of the calling thread. */
struct thread_state *own_thread(const struct node *node);
/* Adds the wishes of all threads to the node's todo. Alone. */
void thread_states_gather(struct node *node);

/* Where threads share the pool of reservations, one of them uses it at a time. */
static inline void reserving_lock(struct node *node)
{
    if (node->thread_count > 1)
        spin_lock(&node->reserving.locked);
}

static inline void reserving_unlock(struct node *node)
{
    if (node->thread_count > 1)
        spin_unlock(&node->reserving.locked);
}

/* Settled tokens are returned, of which none was spent before `since_ns`; 0: nobody knows. */
static inline void note_returned_since(struct thread_state *thread, uint64_t since_ns)
{
    since_ns = since_ns > 0 ? since_ns : 1;
    if (thread->returned_since_ns == 0 || since_ns < thread->returned_since_ns)
        thread->returned_since_ns = since_ns;
}

static inline void thread_count_refused(struct thread_state *thread, enum verdict_reason reason)
{
    thread->refused_requests++;
    thread->refused[reason]++;
}

/* True if the ring of the thread has room for `keys` more keys: see outbox_has_room. */
static inline bool thread_has_room(const struct node *node, const struct thread_state *thread, uint32_t keys)
{
    return thread->open_span + keys <= node->outbox.room;
}

/*
 * True if the key has a spend in a ring, at node->outbox.spend[entry->open_index]. The key must not
 * wait. Of a key that went over to another tier, the spend may be told under the former one (key_view.c).
 */
static inline bool is_in_ring(const struct node *node, const struct entry *entry)
{
    if (entry->open_index >= node->outbox.places * node->thread_count)
        return false;
    const struct spend *spend = &node->outbox.spend[entry->open_index];
    return __atomic_load_n(&spend->untold, __ATOMIC_ACQUIRE) &&
           __atomic_load_n(&spend->id.low, __ATOMIC_RELAXED) == entry->id.low && spend->id.high == entry->id.high &&
           (spend->limit == entry->limit || entry->several);
}

#endif
