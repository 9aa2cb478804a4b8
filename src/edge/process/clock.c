#include "edge/process/clock.h"

#include <assert.h>
#include <time.h>

static uint64_t read_ns(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    assert(failed == 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t clock_monotonic_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_sleepless_ns(void)
{
    return read_ns(CLOCK_BOOTTIME);
}

uint64_t clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}
