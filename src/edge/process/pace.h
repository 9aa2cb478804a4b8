/*
 * pace: how much of a loop's time goes to what is not its clients'.
 *
 * The one idea: whoever works owes a rest, three times as long, in which requests are served; a little may be owed, so
 * that small pieces need no rest. So pieces of work get a quarter of the time, no more and, however many requests there
 * are, hardly less. Where nobody asks for anything, nobody need rest. And a piece waits for a lull, a moment in which
 * nobody asks, though not for long. Arithmetic only: it reads no clock and stops nobody.
 */
#ifndef HEADGATE_EDGE_PROCESS_PACE_H
#define HEADGATE_EDGE_PROCESS_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PACE_REST = 3,               /* for each nanosecond of work */
    PACE_OWED_FREE_NS = 600000,  /* a fifth of a millisecond's work */
    PACE_OWED_MAX_NS = 20000000, /* nobody rests for longer: what took that long was not only work */
    PACE_LULL_NS = 100000,       /* work waits no longer for a lull: fifteen requests, one at a time */
    PACE_GO_NS = 1000000,        /* then its pieces follow each other for no longer */
};

/* Zero: nothing is owed. */
struct pace {
    uint64_t at_ns;         /* the end of the last piece, */
    uint64_t owed_ns;       /* and what was owed then */
    uint64_t waits_from_ns; /* work does, for a lull; 0: none */
};

/* A piece of work took from `from_ns` to `to_ns`. */
void pace_worked(struct pace *pace, uint64_t from_ns, uint64_t to_ns);

/* When the next piece may begin where requests come. */
uint64_t pace_next_ns(const struct pace *pace);

/*
 * The loop has polled and there is work to do. If nobody was `served`, one piece of it begins now. Otherwise work waits
 * for PACE_LULL_NS, since this was asked first or since pieces followed each other; then they do so for a PACE_REST-th
 * of the time that they waited, and PACE_GO_NS at most. When the last piece may begin; 0: none.
 */
uint64_t pace_begin(struct pace *pace, uint64_t now_ns, bool served);
/* There is no work. */
void pace_has_none(struct pace *pace);

#endif
