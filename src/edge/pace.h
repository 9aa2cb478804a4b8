/*
 * pace: how much of a loop's time goes to what is not its clients'.
 *
 * The one idea: whoever works owes a rest, three times as long, in which requests are served; a little may be owed, so
 * that small pieces never wait. If nobody asked for anything meanwhile, a third of that rest will do. So where requests
 * come, pieces of work get a quarter of the time and no more, and as much in any case. Arithmetic only: it reads no
 * clock and stops nobody.
 */
#ifndef HEADGATE_EDGE_PACE_H
#define HEADGATE_EDGE_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PACE_REST = 3,               /* for each nanosecond of work */
    PACE_OWED_FREE_NS = 1500000, /* half a millisecond's work */
    PACE_OWED_MAX_NS = 20000000, /* nobody rests for longer: what took that long was not only work */
};

/* Zero: nothing is owed. */
struct pace {
    uint64_t at_ns;   /* the end of the last piece, */
    uint64_t owed_ns; /* and what was owed then */
};

/* A piece of work took from `from_ns` to `to_ns`; asked: requests were served since the last one. */
void pace_worked(struct pace *pace, uint64_t from_ns, uint64_t to_ns, bool asked);

/* When the next piece may begin, if requests are served until then, or if none are. */
uint64_t pace_next_ns(const struct pace *pace, bool asked);

#endif
