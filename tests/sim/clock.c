#include "tests/sim/clock.h"

#include <assert.h>

enum { MILLION = 1000000 };

void clock_init(struct sim_clock *clock, uint64_t true_ns, uint64_t local_ns, int32_t drift_ppm)
{
    assert(drift_ppm > -MILLION);
    *clock = (struct sim_clock){.true_ns = true_ns, .local_ns = local_ns, .drift_ppm = drift_ppm};
}

static uint64_t speed(const struct sim_clock *clock)
{
    return (uint64_t)(MILLION + clock->drift_ppm);
}

uint64_t clock_read(const struct sim_clock *clock, uint64_t true_ns)
{
    assert(true_ns >= clock->true_ns);
    if (clock->stalls > 0)
        return clock->local_ns;
    uint64_t elapsed_ns = true_ns - clock->true_ns;
    return clock->local_ns + elapsed_ns / MILLION * speed(clock) + elapsed_ns % MILLION * speed(clock) / MILLION;
}

uint64_t clock_when(const struct sim_clock *clock, uint64_t true_ns, uint64_t local_ns)
{
    if (clock_read(clock, true_ns) >= local_ns)
        return true_ns;
    if (clock->stalls > 0 || local_ns - clock->local_ns > UINT64_MAX / 4)
        return UINT64_MAX;
    uint64_t wanted_ns = local_ns - clock->local_ns;
    uint64_t when_ns =
        clock->true_ns + wanted_ns / speed(clock) * MILLION + wanted_ns % speed(clock) * MILLION / speed(clock);
    while (clock_read(clock, when_ns) < local_ns)
        when_ns++;
    return when_ns;
}

static void rebase(struct sim_clock *clock, uint64_t true_ns)
{
    clock->local_ns = clock_read(clock, true_ns);
    clock->true_ns = true_ns;
}

void clock_jump(struct sim_clock *clock, uint64_t true_ns, uint64_t ns)
{
    rebase(clock, true_ns);
    clock->local_ns += ns;
}

void clock_stall(struct sim_clock *clock, uint64_t true_ns)
{
    rebase(clock, true_ns);
    clock->stalls++;
}

void clock_go(struct sim_clock *clock, uint64_t true_ns)
{
    assert(clock->stalls > 0);
    rebase(clock, true_ns);
    clock->stalls--;
}
