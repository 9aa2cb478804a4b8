/*
 * touch: asks for memory before it is needed, several places side by side.
 *
 * The one idea: nobody waits for what was asked for. `touch` loads, for what is needed in a moment: a prefetch of a
 * page whose address the processor has yet to look up is begun only when all before it is done, so that several come
 * one after the other; loads look up several pages at once. `ask_to_` are prefetches, for what is needed later: what
 * follows would wait behind a load. `glance` reads what was asked for, to ask for what that leads to. The compiler's
 * own are used nowhere else: gcc leaves out calls of functions that do nothing but prefetch, as it takes them for
 * functions without effect.
 */
#ifndef HEADGATE_BASE_TOUCH_H
#define HEADGATE_BASE_TOUCH_H

#include <stdint.h>

static inline void touch(const void *place)
{
    (void)*(const volatile char *)place;
}

static inline void ask_to_read(const void *place)
{
    __builtin_prefetch(place);
    __asm__ volatile("" : : "r"(place)); /* an effect */
}

/*
 * Of what is needed only when some more has been asked for: it comes as near as the second cache. The nearest one has
 * few places for lines on their way, which are free again sooner then.
 */
static inline void ask_for_later(const void *place)
{
    __builtin_prefetch(place, 0, 2);
    __asm__ volatile("" : : "r"(place));
}

/* Of what another processor may have written last: it is taken from there now, not when it is written. */
static inline void ask_to_write(const void *place)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0"
                     :
                     : "m"(*(const char *)place)); /* compilers emit it for newer processors only */
#else
    __builtin_prefetch(place, 1);
    __asm__ volatile("" : : "r"(place));
#endif
}

/*
 * Eight aligned bytes as they are, or were a moment ago: a hint, for who does not hold the lock under which others
 * write them. It may only decide what memory is asked for. Assembly, since others write with plain stores: to compilers
 * and to ThreadSanitizer, whatever C could read them with is a race.
 */
static inline uint64_t glance(const void *place)
{
    typedef uint64_t __attribute__((may_alias)) any;
    uint64_t bytes;
#if defined(__x86_64__)
    __asm__ volatile("movq %1, %0" : "=r"(bytes) : "m"(*(const any *)place));
#else
    bytes = __atomic_load_n((const any *)place, __ATOMIC_RELAXED);
#endif
    return bytes;
}

#endif
