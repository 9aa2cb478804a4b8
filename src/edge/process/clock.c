#include "edge/process/clock.h"

#include "base/held_clock.h"

#include <assert.h>
#include <stdatomic.h>
#include <time.h>

/*
 * The process has one time, which may be held. One thread bends the line; all threads read it. An
 * odd turn says that it is being bent. A reader that saw any part of a new line sees its turn as
 * well, since parts are written after the odd turn, and read before the turn is read again.
 */
static struct {
    atomic_uint turn, held_ppm;
    _Atomic uint64_t raw_ns, shown_ns;
} held;

static uint64_t read_ns(clockid_t id)
{
    struct timespec now;
    int failed = clock_gettime(id, &now);
    assert(failed == 0);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static struct held_clock held_line(void)
{
    for (;;) {
        const unsigned turn = atomic_load_explicit(&held.turn, memory_order_acquire);
        if (turn == 0)
            return (struct held_clock){0}; /* never held */
        const struct held_clock line = {
            .raw_ns = atomic_load_explicit(&held.raw_ns, memory_order_acquire),
            .shown_ns = atomic_load_explicit(&held.shown_ns, memory_order_acquire),
            .held_ppm = atomic_load_explicit(&held.held_ppm, memory_order_acquire),
        };
        if (turn % 2 == 0 && turn == atomic_load_explicit(&held.turn, memory_order_relaxed))
            return line;
    }
}

uint64_t clock_raw_ns(void)
{
    return read_ns(CLOCK_MONOTONIC);
}

uint64_t clock_monotonic_ns(void)
{
    const uint64_t raw_ns = clock_raw_ns(); /* before the line: see clock_hold */
    const struct held_clock line = held_line();
    return held_clock_show(&line, raw_ns);
}

uint64_t clock_raw_at_ns(uint64_t monotonic_ns)
{
    const struct held_clock line = held_line();
    return held_clock_raw(&line, monotonic_ns);
}

/*
 * The raw clock is read after the odd turn. So whoever has got the old line read the raw clock
 * before the bend, and no time that was shown is above the new line.
 */
void clock_hold(uint32_t held_ppm)
{
    struct held_clock line = held_line();
    if (line.held_ppm == held_ppm)
        return;
    const unsigned turn = atomic_load_explicit(&held.turn, memory_order_relaxed);
    atomic_store_explicit(&held.turn, turn + 1, memory_order_seq_cst);
    held_clock_bend(&line, clock_raw_ns(), held_ppm);
    atomic_store_explicit(&held.raw_ns, line.raw_ns, memory_order_release);
    atomic_store_explicit(&held.shown_ns, line.shown_ns, memory_order_release);
    atomic_store_explicit(&held.held_ppm, line.held_ppm, memory_order_release);
    atomic_store_explicit(&held.turn, turn + 2 > 0 ? turn + 2 : 2, memory_order_release);
}

uint64_t clock_sleepless_ns(void)
{
    return read_ns(CLOCK_BOOTTIME);
}

uint64_t clock_wall_ns(void)
{
    return read_ns(CLOCK_REALTIME);
}
