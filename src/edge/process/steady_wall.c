/*
 * Compares what the wall clock says with what it said, and the time that has passed since.
 */
#include "edge/process/steady_wall.h"

#include "edge/process/clock.h"

uint64_t steady_wall_at(struct steady_wall *steady, uint64_t wall_ns, uint64_t sleepless_ns)
{
    const uint64_t passed_ns = sleepless_ns - steady->at_ns, expected_ns = steady->wall_ns + passed_ns;
    const uint64_t apart_ns = wall_ns > expected_ns ? wall_ns - expected_ns : expected_ns - wall_ns;
    if (steady->wall_ns != 0 && apart_ns > STEADY_WALL_LEAP_NS && passed_ns < STEADY_WALL_WAIT_NS)
        return expected_ns;
    *steady = (struct steady_wall){wall_ns, sleepless_ns};
    return wall_ns;
}

uint64_t steady_wall_ns(struct steady_wall *steady)
{
    return steady_wall_at(steady, clock_wall_ns(), clock_sleepless_ns());
}
