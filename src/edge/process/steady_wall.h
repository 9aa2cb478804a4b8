/*
 * steady_wall: the wall clock, for what ends at a time that a file keeps.
 *
 * The one idea: a wall clock that leaps, forward by a year for instance, is mostly set right soon. What ended by such a
 * leap would be deleted for good. So a leap is believed once it has lasted for an hour; until then time goes on as it
 * did. Not for people: logs and calendars use the wall clock itself. It cannot know of a clock that was wrong at the
 * start.
 */
#ifndef HEADGATE_EDGE_PROCESS_STEADY_WALL_H
#define HEADGATE_EDGE_PROCESS_STEADY_WALL_H

#include <stdint.h>

#define STEADY_WALL_LEAP_NS 60000000000u   /* a difference above this is a leap */
#define STEADY_WALL_WAIT_NS 3600000000000u /* for so long a leap is not believed */

/* All 0 before the first use. */
struct steady_wall {
    uint64_t wall_ns, at_ns; /* the wall clock as it was believed last, and when that was */
};

/* The time now, of `wall_ns` and a clock that never leaps and does not stand while the machine sleeps. */
uint64_t steady_wall_at(struct steady_wall *steady, uint64_t wall_ns, uint64_t sleepless_ns);
/* The same, of the clocks. One thread may use a `steady`. */
uint64_t steady_wall_ns(struct steady_wall *steady);

#endif
