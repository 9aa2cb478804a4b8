/*
 * prefetch: asks for memory before it is needed, several addresses side by side.
 *
 * The one idea: no instruction waits for the memory. `peek_racy` reads memory that was asked for, to ask for the memory
 * that it points at. No other file may use the compiler's own prefetch: gcc takes a function that only prefetches for
 * one without effect, and leaves out its calls.
 */
#ifndef HEADGATE_BASE_PREFETCH_H
#define HEADGATE_BASE_PREFETCH_H

#include <stdint.h>

static inline void prefetch_read(const void *place)
{
    __builtin_prefetch(place);
    __asm__ volatile("" : : "r"(place)); /* an effect */
}

/*
 * For memory that is needed only after more memory has been asked for: brings the line as near as the second cache. The
 * nearest cache has few places for lines on their way; this way they are free again sooner.
 */
static inline void prefetch_far(const void *place)
{
    __builtin_prefetch(place, 0, 2);
    __asm__ volatile("" : : "r"(place));
}

/* For a line that another core may have written last: takes the line from that core now, not at the write. */
static inline void prefetch_write(const void *place)
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
 * Reads eight aligned bytes without the lock under which other threads write them. The result is a hint: it may only
 * decide which memory to ask for. Written in assembly because the others write with plain stores: for compilers and for
 * ThreadSanitizer any C expression that reads the bytes is a race.
 */
static inline uint64_t peek_racy(const void *place)
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
