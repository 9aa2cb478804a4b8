/*
 * spin: waiting for a thread that will be done in a moment.
 *
 * Some pauses first, then the core is given away: the one waited for may need this very core. Waits for nothing long:
 * whoever is waited for must not block.
 */
#ifndef HEADGATE_BASE_SPIN_H
#define HEADGATE_BASE_SPIN_H

#include <sched.h>

enum { SPINS_BEFORE_YIELD = 200 }; /* about a microsecond */

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

#endif
