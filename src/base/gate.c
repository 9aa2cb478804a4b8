#include "base/gate.h"

#include "base/spin.h"

#include <assert.h>

enum { YIELDS_BEFORE_SLEEP = 300 };

bool gate_init(struct gate *gate, uint32_t threads)
{
    assert(threads >= 1 && threads <= GATE_THREADS_MAX);
    *gate = (struct gate){.threads = threads};
    if (pthread_mutex_init(&gate->mutex, NULL) != 0)
        return false;
    if (pthread_cond_init(&gate->served, NULL) == 0)
        return true;
    (void)pthread_mutex_destroy(&gate->mutex);
    return false;
}

void gate_destroy(struct gate *gate)
{
    (void)pthread_cond_destroy(&gate->served);
    (void)pthread_mutex_destroy(&gate->mutex);
}

/* ---- tickets ---- */

static void lock(struct gate *gate)
{
    int failed = pthread_mutex_lock(&gate->mutex);
    assert(failed == 0);
}

static void unlock(struct gate *gate)
{
    int failed = pthread_mutex_unlock(&gate->mutex);
    assert(failed == 0);
}

static bool is_served(const struct gate *gate, uint32_t ticket)
{
    return atomic_load_explicit(&gate->serves, memory_order_seq_cst) == ticket;
}

/*
 * Draws a ticket and waits for its turn, which lasts until end_turn. Most turns take some microseconds. Sleeping and
 * being woken takes longer, much longer on virtual processors, so the thread spins first.
 */
static void begin_turn(struct gate *gate)
{
    const uint32_t ticket = atomic_fetch_add_explicit(&gate->tickets, 1, memory_order_relaxed);
    for (unsigned spins = 0; spins < SPINS_BEFORE_YIELD + YIELDS_BEFORE_SLEEP; spin_pause(&spins))
        if (is_served(gate, ticket))
            return;
    lock(gate);
    atomic_fetch_add_explicit(&gate->sleepers, 1, memory_order_seq_cst);
    while (!is_served(gate, ticket)) {
        int failed = pthread_cond_wait(&gate->served, &gate->mutex);
        assert(failed == 0);
    }
    atomic_fetch_sub_explicit(&gate->sleepers, 1, memory_order_relaxed);
    unlock(gate);
}

/* A thread counts itself as a sleeper before it looks at `serves`. So it sees its turn, or it is seen here. */
static void end_turn(struct gate *gate)
{
    atomic_fetch_add_explicit(&gate->serves, 1, memory_order_seq_cst);
    if (atomic_load_explicit(&gate->sleepers, memory_order_seq_cst) == 0)
        return;
    lock(gate);
    int failed = pthread_cond_broadcast(&gate->served);
    assert(failed == 0);
    unlock(gate);
}

/* ---- inside and alone ---- */

/*
 * A thread that enters raises its flag before it looks at the gate; a thread that closes the gate closes it before it
 * looks at the flags. All four accesses have one order, so one of the two threads sees the other.
 */
void gate_enter(struct gate *gate, uint32_t thread)
{
    struct gate_thread *own = &gate->thread[thread];
    assert(thread < gate->threads && !atomic_load_explicit(&own->inside, memory_order_relaxed));
    atomic_store_explicit(&own->inside, true, memory_order_seq_cst);
    if (!atomic_load_explicit(&gate->closed, memory_order_seq_cst))
        return;
    atomic_store_explicit(&own->inside, false, memory_order_release);
    atomic_fetch_add_explicit(&own->turned_away, 1, memory_order_relaxed);
    begin_turn(gate); /* until end_turn the gate stays open: closing needs a turn as well */
    assert(!atomic_load_explicit(&gate->closed, memory_order_relaxed));
    atomic_store_explicit(&own->inside, true, memory_order_seq_cst);
    end_turn(gate);
}

void gate_leave(struct gate *gate, uint32_t thread)
{
    struct gate_thread *own = &gate->thread[thread];
    assert(thread < gate->threads && atomic_load_explicit(&own->inside, memory_order_relaxed));
    atomic_store_explicit(&own->inside, false, memory_order_release);
}

static bool wait_for(const struct gate_thread *thread)
{
    if (!atomic_load_explicit(&thread->inside, memory_order_seq_cst))
        return false;
    for (unsigned spins = 0; atomic_load_explicit(&thread->inside, memory_order_acquire);)
        spin_pause(&spins);
    return true;
}

void gate_close(struct gate *gate, uint32_t thread)
{
    assert(thread < gate->threads);
    atomic_store_explicit(&gate->thread[thread].inside, false, memory_order_release);
    begin_turn(gate);
    atomic_store_explicit(&gate->closed, true, memory_order_seq_cst);
    bool waited = false;
    for (uint32_t i = 0; i < gate->threads; i++)
        waited |= wait_for(&gate->thread[i]);
    atomic_fetch_add_explicit(&gate->closed_count, 1, memory_order_relaxed);
    if (waited)
        atomic_fetch_add_explicit(&gate->waited_count, 1, memory_order_relaxed);
}

void gate_open(struct gate *gate, uint32_t thread, bool inside)
{
    assert(thread < gate->threads && atomic_load_explicit(&gate->closed, memory_order_relaxed));
    atomic_store_explicit(&gate->thread[thread].inside, inside, memory_order_relaxed);
    atomic_store_explicit(&gate->closed, false, memory_order_release);
    end_turn(gate);
}
