/*
 * held_clock: a clock that goes more slowly than the clock that it reads.
 *
 * The one idea: a held clock is a straight line over the raw clock. A new rate bends the line at a
 * moment and moves no time that was shown. A clock that was never held shows the raw time exactly.
 * It reads no clock: raw times come from the caller.
 */
#ifndef HEADGATE_BASE_HELD_CLOCK_H
#define HEADGATE_BASE_HELD_CLOCK_H

#include <stdint.h>

enum {
    HELD_CLOCK_PPM_MAX = 250000, /* the most by which a clock is slowed */
};

/* All zero: not held. */
struct held_clock {
    uint64_t raw_ns, shown_ns; /* where the line was bent last */
    uint32_t held_ppm;         /* at most HELD_CLOCK_PPM_MAX: so much slower than the raw clock since then */
};

/* A time before the last bend counts as the time of the bend. */
uint64_t held_clock_show(const struct held_clock *clock, uint64_t raw_ns);
/* The raw time at which the clock shows `shown_ns` or more; at least the time of the last bend. */
uint64_t held_clock_raw(const struct held_clock *clock, uint64_t shown_ns);
/* From `raw_ns` on the clock goes so much more slowly than the raw clock. */
void held_clock_bend(struct held_clock *clock, uint64_t raw_ns, uint32_t held_ppm);

#endif
