/*
 * pace: how much of a loop's time goes to work that is not for its clients.
 *
 * The one idea: a piece of work owes a pause of three times its own length, in which the loop
 * serves requests. A small debt is free, so that short pieces need no pause. So the work gets a
 * quarter of the time, never more and, however many requests come, hardly less. If no client asks,
 * no pause is needed. A piece also waits for a lull, which is a turn of the loop without a request,
 * but not for long. This file does arithmetic only: it reads no clock and stops no work.
 */
#ifndef HEADGATE_EDGE_PROCESS_PACE_H
#define HEADGATE_EDGE_PROCESS_PACE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PACE_REST = 3,              /* nanoseconds of pause for each nanosecond of work */
    PACE_OWED_FREE_NS = 600000, /* the debt without a pause: 0.2 ms of work */
    /* the most that is owed: the loop did not only work in so long a time, the machine was busy */
    PACE_OWED_MAX_NS = 20000000,
    /* work waits no longer for a lull: the time of fifteen requests that come one at a time */
    PACE_LULL_NS = 100000,
    PACE_GO_NS = 1000000, /* pieces of work then follow each other for at most this time */
};

/* All zero: nothing is owed. */
struct pace {
    uint64_t at_ns;   /* the end of the last piece */
    uint64_t owed_ns; /* the debt at that time */
    /* since when work waits for a lull; 0: no work waits */
    uint64_t waits_from_ns;
};

/* A piece of work took from `from_ns` to `to_ns`. */
void pace_worked(struct pace *pace, uint64_t from_ns, uint64_t to_ns);

/* The time at which the next piece may begin if requests come. */
uint64_t pace_next_ns(const struct pace *pace);

/*
 * The caller must call this after each poll of the loop if there is work. Returns the time until
 * which pieces may begin; 0: none may. If no client was `served`, one piece may begin now.
 * Otherwise work waits for PACE_LULL_NS, counted from the first such call or from the end of the
 * last pieces; then pieces may follow each other for a PACE_REST-th of the time that they waited,
 * and for PACE_GO_NS at most.
 */
uint64_t pace_begin(struct pace *pace, uint64_t now_ns, bool served);
/* The caller must call this after a poll of the loop if there is no work. */
void pace_has_none(struct pace *pace);

#endif
