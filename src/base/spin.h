/*
 * spin: waiting for a thread that will be done in a moment.
 *
 * A waiting thread pauses, longer and longer between two looks, since each look takes the lock's cache line from
 * the thread that holds the lock. Then it yields its core, which the holder may need. The holder must not block: a
 * lock of this kind must be held for moments only. It costs one byte.
 */
#ifndef HEADGATE_BASE_SPIN_H
#define HEADGATE_BASE_SPIN_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>

enum {
    PAUSES_MAX = 16,          /* between two looks */
    SPINS_BEFORE_YIELD = 200, /* pauses: about a microsecond, or several */
};

/* Call it between two looks; `spins` counts the calls of this wait. */
static inline void spin_pause(unsigned *spins)
{
    if (++*spins > SPINS_BEFORE_YIELD)
        (void)sched_yield();
#if defined(__x86_64__) || defined(__i386__)
    else
        __builtin_ia32_pause();
#endif
}

/* noinline: callers that find the lock free do not pay for this code. */
__attribute__((noinline, unused)) static void spin_wait_and_lock(atomic_bool *taken)
{
    unsigned spins = 0, pauses = 1;
    do {
        while (atomic_load_explicit(taken, memory_order_relaxed)) {
            for (unsigned i = 0; i < pauses; i++)
                spin_pause(&spins);
            pauses = pauses < PAUSES_MAX ? 2 * pauses : pauses;
        }
    } while (atomic_exchange_explicit(taken, true, memory_order_acquire));
}

/* The lock is free while *taken is false. The same thread must not lock it twice. */
static inline void spin_lock(atomic_bool *taken)
{
    if (atomic_exchange_explicit(taken, true, memory_order_acquire))
        spin_wait_and_lock(taken);
}

static inline void spin_unlock(atomic_bool *taken)
{
    atomic_store_explicit(taken, false, memory_order_release);
}

#endif
