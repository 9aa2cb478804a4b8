/*
 * clock: the only place where time enters the program.
 *
 * The one idea: a reading serialises the processor and costs as much as four decisions, so the
 * requests of a loop turn share one reading. struct loop_clock reads at the first use in a turn,
 * and again after some uses, so that a very long turn does not decide by an old time. A late
 * reading is harmless: it refills less. This header sets no timers.
 */
#ifndef HEADGATE_EDGE_PROCESS_CLOCK_H
#define HEADGATE_EDGE_PROCESS_CLOCK_H

#include <stdint.h>
#include <uv.h>

/*
 * The time of this process. It never runs backwards. Its origin means nothing, and it stands still
 * while the machine sleeps.
 */
uint64_t clock_monotonic_ns(void);
/*
 * From now on the time of this process goes so many millionths more slowly than the machine's
 * clock, at most HELD_CLOCK_PPM_MAX. No time that was shown moves. One thread may call this.
 */
void clock_hold(uint32_t held_ppm);
/* The machine's clock under the time of this process. */
uint64_t clock_raw_ns(void);
/* When the machine's clock shows that time of this process. */
uint64_t clock_raw_at_ns(uint64_t monotonic_ns);
/* The same, but it goes on while the machine sleeps. */
uint64_t clock_sleepless_ns(void);
/*
 * Nanoseconds since 1970. It jumps when somebody sets the time, so it may only be used for
 * incarnations, log lines, histories and calendars.
 */
uint64_t clock_wall_ns(void);

/*
 * The timeout for uv_timer_start, in milliseconds of the loop from now on, after which
 * clock_monotonic_ns() has reached `at_ns`. The timer may fire less than 2 ms too late. If `at_ns`
 * is near, the timer may fire less than 1 ms too early instead, and the caller must set it again.
 */
uint64_t clock_timeout_ms(uv_loop_t *loop, uint64_t at_ns);

struct loop_clock {
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    uint64_t now_ns, wall_ns;
    unsigned uses_left; /* 0: the next use reads the clock */
};

/*
 * `clock` must live until loop_clock_close and one more run of the loop. It does not keep the loop
 * alive.
 */
void loop_clock_init(struct loop_clock *clock, uv_loop_t *loop);
void loop_clock_close(struct loop_clock *clock);
/* The next use reads the clock again. */
void loop_clock_forget(struct loop_clock *clock);
/* The monotonic time of this turn of the loop. */
uint64_t loop_clock_now(struct loop_clock *clock);
/* The wall time, read at the same moment as the monotonic time. */
uint64_t loop_clock_wall(struct loop_clock *clock);

#endif
