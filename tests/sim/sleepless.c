/*
 * True time, which a machine that slept knows afterwards: nodes read it whenever they need the age of a voucher, within
 * a step as well as in a request of a thread.
 *
 * All else of a step happens at one moment. With `ticking` this clock goes on from one look to the next, as it does for
 * a process that works or is interrupted. Then it is ahead of true time, by no more than AHEAD_MAX_NS: so much less
 * than what any law grants for the way of a message that the laws stay as they are.
 */
#include "tests/sim/world.h"

#define ORIGIN_NS UINT64_C(5000000000)
#define AHEAD_MAX_NS UINT64_C(5000000)
#define TICK_BITS 22 /* looks are up to 4 ms apart, most of them much less */

static struct sim *world;

void sleepless_begin(struct sim *sim)
{
    world = sim;
    sim->looked_ns = 0;
}

static uint64_t tick_ns(struct sim *sim)
{
    const uint64_t bits = random_below(&sim->look_random, TICK_BITS);
    return random_below(&sim->look_random, UINT64_C(2) << bits);
}

uint64_t sleepless_ns(void)
{
    const uint64_t true_ns = ORIGIN_NS + world->now_ns;
    if (!world->plan.ticking)
        return true_ns;
    uint64_t shown_ns = world->looked_ns > true_ns ? world->looked_ns : true_ns;
    if (!world->looks_stand)
        shown_ns += tick_ns(world);
    if (shown_ns > true_ns + AHEAD_MAX_NS)
        shown_ns = true_ns + AHEAD_MAX_NS;
    world->looked_ns = shown_ns;
    return shown_ns;
}
