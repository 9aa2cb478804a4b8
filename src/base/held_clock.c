#include "base/held_clock.h"

#include <assert.h>

enum { MILLION = 1000000 };

uint64_t held_clock_show(const struct held_clock *clock, uint64_t raw_ns)
{
    if (raw_ns <= clock->raw_ns)
        return clock->shown_ns; /* another thread read the raw clock before the bend */
    const uint64_t elapsed_ns = raw_ns - clock->raw_ns, speed = MILLION - clock->held_ppm;
    return clock->shown_ns + elapsed_ns / MILLION * speed + elapsed_ns % MILLION * speed / MILLION;
}

uint64_t held_clock_raw(const struct held_clock *clock, uint64_t shown_ns)
{
    if (shown_ns <= clock->shown_ns)
        return clock->raw_ns;
    const uint64_t wanted_ns = shown_ns - clock->shown_ns, speed = MILLION - clock->held_ppm;
    if (wanted_ns / speed > (UINT64_MAX - clock->raw_ns) / MILLION - 2)
        return UINT64_MAX;
    return clock->raw_ns + wanted_ns / speed * MILLION + (wanted_ns % speed * MILLION + speed - 1) / speed;
}

void held_clock_bend(struct held_clock *clock, uint64_t raw_ns, uint32_t held_ppm)
{
    assert(held_ppm <= HELD_CLOCK_PPM_MAX);
    *clock = (struct held_clock){raw_ns, held_clock_show(clock, raw_ns), held_ppm};
}
