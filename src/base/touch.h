/*
 * touch: asks for memory that is needed in a moment, several places side by side.
 *
 * The one idea: it loads, and nobody waits for what it loaded. A prefetch of a page whose address the processor has
 * yet to look up is begun only when all before it is done, so that several come one after the other; loads look
 * up several pages at once. Not for places that are needed much later: what follows waits behind a load.
 */
#ifndef HEADGATE_BASE_TOUCH_H
#define HEADGATE_BASE_TOUCH_H

static inline void touch(const void *place)
{
    (void)*(const volatile char *)place;
}

/* A prefetch of what another processor may have written last: it is taken from there now, not when it is written. */
static inline void ask_to_write(const void *place)
{
#if defined(__x86_64__)
    __asm__ volatile("prefetchw %0"
                     :
                     : "m"(*(const char *)place)); /* compilers emit it for newer processors only */
#else
    __builtin_prefetch(place, 1);
#endif
}

#endif
