/*
 * clock: the only place where time enters the program.
 *
 * A reading serialises the processor and costs as much as four decisions, so a loop turn shares one:
 * struct loop_clock reads lazily, once per turn of a uv loop (and again after some uses, so that a very
 * long turn does not decide by an old time). Being late is harmless: less has been refilled.
 */
#ifndef HEADGATE_EDGE_PROCESS_CLOCK_H
#define HEADGATE_EDGE_PROCESS_CLOCK_H

#include <stdint.h>
#include <uv.h>

/* Never runs backwards; its origin means nothing; stands still while the machine sleeps. */
uint64_t clock_monotonic_ns(void);
/* Since 1970; jumps when somebody sets it: for incarnations, log lines, histories and calendars only. */
uint64_t clock_wall_ns(void);

/*
 * For uv_timer_start: after how many of the loop's milliseconds, beginning now, clock_monotonic_ns() has reached
 * `at_ns`. It is late by less than two of them; what is due soon may come early by less than one instead, and has to
 * wait again then.
 */
uint64_t clock_timeout_ms(uv_loop_t *loop, uint64_t at_ns);

struct loop_clock {
    uv_prepare_t before_poll;
    uv_check_t after_poll;
    uint64_t now_ns, wall_ns;
    unsigned uses_left; /* 0: read again at the next use */
};

/* `clock` lives until loop_clock_close and a further run of the loop. It does not keep the loop alive. */
void loop_clock_init(struct loop_clock *clock, uv_loop_t *loop);
void loop_clock_close(struct loop_clock *clock);
/* The next use reads it again. */
void loop_clock_forget(struct loop_clock *clock);
/* Monotonic now, as of this turn of the loop. */
uint64_t loop_clock_now(struct loop_clock *clock);
/* The wall clock, read at the same moment. */
uint64_t loop_clock_wall(struct loop_clock *clock);

#endif
