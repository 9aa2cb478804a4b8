/*
 * clock: one node's monotonic clock, as a function of true time.
 *
 * The one idea: a clock is a straight line (an origin, and a speed in parts per million) that
 * faults bend. It may jump forward or stand still for a while, but never runs backwards. True time
 * belongs to the simulator.
 */
#ifndef HEADGATE_TESTS_SIM_CLOCK_H
#define HEADGATE_TESTS_SIM_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct sim_clock {
    uint64_t true_ns, local_ns; /* a point of the line */
    int32_t drift_ppm;          /* > -1000000 */
    uint32_t stalls;            /* above 0: the clock stands still */
};

void clock_init(struct sim_clock *clock, uint64_t true_ns, uint64_t local_ns, int32_t drift_ppm);
/* The clock's time at `true_ns`, which must not precede an earlier call that changed the clock. */
uint64_t clock_read(const struct sim_clock *clock, uint64_t true_ns);
/* The earliest true time at which the clock shows `local_ns` or more; UINT64_MAX while it stands still. */
uint64_t clock_when(const struct sim_clock *clock, uint64_t true_ns, uint64_t local_ns);
void clock_jump(struct sim_clock *clock, uint64_t true_ns, uint64_t ns);
void clock_stall(struct sim_clock *clock, uint64_t true_ns);
void clock_go(struct sim_clock *clock, uint64_t true_ns);

#endif
