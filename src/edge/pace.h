/*
 * pace: how much of a loop's time goes to what is not its clients'.
 *
 * The one idea: whoever works owes a rest, three times as long, in which requests are served; a little may be owed, so
 * that small pieces never wait. So pieces of work get a quarter of the time, no more and, however many requests there
 * are, no less. Where nobody asks for anything, nobody need rest. Arithmetic only: it reads no clock and stops nobody.
 */
#ifndef HEADGATE_EDGE_PACE_H
#define HEADGATE_EDGE_PACE_H

#include <stdint.h>

enum {
    PACE_REST = 3,               /* for each nanosecond of work */
    PACE_OWED_FREE_NS = 600000,  /* a fifth of a millisecond's work */
    PACE_OWED_MAX_NS = 20000000, /* nobody rests for longer: what took that long was not only work */
};

/* Zero: nothing is owed. */
struct pace {
    uint64_t at_ns;   /* the end of the last piece, */
    uint64_t owed_ns; /* and what was owed then */
};

/* A piece of work took from `from_ns` to `to_ns`. */
void pace_worked(struct pace *pace, uint64_t from_ns, uint64_t to_ns);

/* When the next piece may begin where requests come. */
uint64_t pace_next_ns(const struct pace *pace);

#endif
