#include "edge/clock.h"

#include <assert.h>
#include <time.h>

#define MILLISECOND_NS ((uint64_t)1000000)
#define SOON_NS (10 * MILLISECOND_NS)

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

uint64_t clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}

/*
 * The loop's time is this clock's, without what is below a millisecond. It looks at its timers whenever anything
 * happens, and waits whole milliseconds each time: a timer that is due once so many have gone by since now may come a
 * little early if anything happens before, one that is due at a full millisecond never does.
 */
uint64_t clock_timeout_ms(uv_loop_t *loop, uint64_t at_ns)
{
    uv_update_time(loop);
    uint64_t now_ns = clock_monotonic_ns(), wait_ns = at_ns > now_ns ? at_ns - now_ns : 0;
    if (wait_ns < SOON_NS)
        return (wait_ns + MILLISECOND_NS - 1) / MILLISECOND_NS;
    return (at_ns + MILLISECOND_NS - 1) / MILLISECOND_NS - uv_now(loop);
}
