/*
 * spin: waiting for a thread that will be done in a moment.
 *
 * Some pauses first, ever more between two looks, since each look takes the lock's line from whoever works with it;
 * then the core is given away: the one waited for may need this very core. Waits for nothing long:
 * whoever is waited for must not block. A lock made of it costs one byte, and must be held for moments only.
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

/* Out of the way of those who find it free. */
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

/* Free while it is false. Not twice by the same thread. */
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
