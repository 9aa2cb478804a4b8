/*
 * measure: what programs that measure share: two clocks, the least that was seen, and giving up.
 *
 * The one idea: whatever else the machine does adds to what is measured, so that of many tries the least says most.
 * What is measured, and how often, is the program's own. Nodes to measure with: nodes.h here, or tests/lib/served.h.
 */
#ifndef HEADGATE_TESTS_BENCH_MEASURE_H
#define HEADGATE_TESTS_BENCH_MEASURE_H

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

__attribute__((noreturn, unused)) static void give_up(const char *what)
{
    (void)fprintf(stderr, "%s: %s\n", program_invocation_short_name, what);
    exit(1);
}

static inline uint64_t read_clock_ns(clockid_t clock)
{
    struct timespec now;
    (void)clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Since some moment. */
static inline uint64_t clock_ns(void)
{
    return read_clock_ns(CLOCK_MONOTONIC);
}

/* That this thread has had a processor. */
static inline uint64_t processor_ns(void)
{
    return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* *least: 0 before the first. */
static inline void keep_least(uint64_t *least, uint64_t value)
{
    if (*least == 0 || value < *least)
        *least = value;
}

#endif
