#include "base/gate.h"

#include "base/spin.h"

#include <assert.h>

bool gate_init(struct gate *gate, uint32_t lanes)
{
    assert(lanes >= 1 && lanes <= GATE_LANES_MAX);
    *gate = (struct gate){.lanes = lanes};
    return pthread_mutex_init(&gate->alone, NULL) == 0;
}

void gate_destroy(struct gate *gate)
{
    (void)pthread_mutex_destroy(&gate->alone);
}

static void lock(struct gate *gate)
{
    int failed = pthread_mutex_lock(&gate->alone);
    assert(failed == 0);
}

static void unlock(struct gate *gate)
{
    int failed = pthread_mutex_unlock(&gate->alone);
    assert(failed == 0);
}

/*
 * The gate is mostly closed for some microseconds. Sleeping and being woken takes longer, much longer on virtual
 * processors, so the thread spins.
 */
static void wait_until_open(struct gate *gate)
{
    for (unsigned spins = 0; spins < SPINS_BEFORE_YIELD; spin_pause(&spins))
        if (!atomic_load_explicit(&gate->closed, memory_order_relaxed))
            return;
    lock(gate);
    unlock(gate);
}

/*
 * A thread that enters raises its flag before it looks at the gate; a thread that closes the gate closes it before it
 * looks at the flags. All four accesses have one order, so one of the two threads sees the other.
 */
void gate_enter(struct gate *gate, uint32_t lane)
{
    struct gate_lane *own = &gate->lane[lane];
    assert(lane < gate->lanes && !atomic_load_explicit(&own->inside, memory_order_relaxed));
    for (;;) {
        atomic_store_explicit(&own->inside, true, memory_order_seq_cst);
        if (!atomic_load_explicit(&gate->closed, memory_order_seq_cst))
            return;
        atomic_store_explicit(&own->inside, false, memory_order_release);
        atomic_fetch_add_explicit(&own->turned_away, 1, memory_order_relaxed);
        wait_until_open(gate);
    }
}

void gate_leave(struct gate *gate, uint32_t lane)
{
    struct gate_lane *own = &gate->lane[lane];
    assert(lane < gate->lanes && atomic_load_explicit(&own->inside, memory_order_relaxed));
    atomic_store_explicit(&own->inside, false, memory_order_release);
}

static bool wait_for(const struct gate_lane *lane)
{
    if (!atomic_load_explicit(&lane->inside, memory_order_seq_cst))
        return false;
    for (unsigned spins = 0; atomic_load_explicit(&lane->inside, memory_order_acquire);)
        spin_pause(&spins);
    return true;
}

void gate_close(struct gate *gate, uint32_t lane)
{
    assert(lane < gate->lanes);
    atomic_store_explicit(&gate->lane[lane].inside, false, memory_order_release);
    lock(gate);
    atomic_store_explicit(&gate->closed, true, memory_order_seq_cst);
    bool waited = false;
    for (uint32_t i = 0; i < gate->lanes; i++)
        waited |= wait_for(&gate->lane[i]);
    atomic_fetch_add_explicit(&gate->closed_count, 1, memory_order_relaxed);
    if (waited)
        atomic_fetch_add_explicit(&gate->waited_count, 1, memory_order_relaxed);
}

void gate_open(struct gate *gate, uint32_t lane, bool inside)
{
    assert(lane < gate->lanes && atomic_load_explicit(&gate->closed, memory_order_relaxed));
    atomic_store_explicit(&gate->lane[lane].inside, inside, memory_order_relaxed);
    atomic_store_explicit(&gate->closed, false, memory_order_release);
    unlock(gate);
}
