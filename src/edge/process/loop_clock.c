/*
 * loop_clock reads the clock once in a turn of a loop, and forgets the reading before and after
 * each poll. It also converts a time into a timeout of the loop.
 */
#include "base/number.h"
#include "edge/process/clock.h"

enum { USES_PER_READING = 64 };

#define MILLISECOND_NS ((uint64_t)1000000)
#define SOON_NS (10 * MILLISECOND_NS)

void loop_clock_forget(struct loop_clock *clock)
{
    clock->uses_left = 0;
}

static void forget_before_poll(uv_prepare_t *handle)
{
    loop_clock_forget(handle->data);
}

static void forget_after_poll(uv_check_t *handle)
{
    loop_clock_forget(handle->data);
}

void loop_clock_init(struct loop_clock *clock, uv_loop_t *loop)
{
    clock->now_ns = clock->wall_ns = 0;
    clock->uses_left = 0;
    (void)uv_prepare_init(loop, &clock->before_poll);
    (void)uv_check_init(loop, &clock->after_poll);
    clock->before_poll.data = clock;
    clock->after_poll.data = clock;
    (void)uv_prepare_start(&clock->before_poll, forget_before_poll);
    (void)uv_check_start(&clock->after_poll, forget_after_poll);
    uv_unref((uv_handle_t *)&clock->before_poll);
    uv_unref((uv_handle_t *)&clock->after_poll);
}

void loop_clock_close(struct loop_clock *clock)
{
    uv_close((uv_handle_t *)&clock->before_poll, NULL);
    uv_close((uv_handle_t *)&clock->after_poll, NULL);
}

uint64_t loop_clock_now(struct loop_clock *clock)
{
    if (clock->uses_left == 0) {
        clock->now_ns = clock_monotonic_ns();
        clock->wall_ns = clock_wall_ns();
        clock->uses_left = USES_PER_READING;
    }
    clock->uses_left--;
    return clock->now_ns;
}

uint64_t loop_clock_wall(struct loop_clock *clock)
{
    if (clock->uses_left == 0)
        (void)loop_clock_now(clock);
    return clock->wall_ns;
}

/*
 * The loop has the time of the raw clock, cut to whole milliseconds. It looks at its timers
 * whenever an event comes, and waits whole milliseconds each time. So a timer that is due a whole
 * number of milliseconds from now may fire a little early if an event comes before; a timer that is
 * due at a full millisecond of the clock never does.
 */
uint64_t clock_timeout_ms(uv_loop_t *loop, uint64_t at_ns)
{
    uv_update_time(loop);
    at_ns = clock_raw_at_ns(at_ns);
    uint64_t now_ns = clock_raw_ns(), wait_ns = number_minus(at_ns, now_ns);
    if (wait_ns < SOON_NS)
        return (wait_ns + MILLISECOND_NS - 1) / MILLISECOND_NS;
    return (at_ns + MILLISECOND_NS - 1) / MILLISECOND_NS - uv_now(loop);
}
