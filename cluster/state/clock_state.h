/*
 * clock_state: what this node knows of the clocks of its peers, and of its own among them.
 *
 * The one idea: a message says what its sender's clock showed. So it bounds by how much that clock
 * leads this node's: from below as of its arrival, from above as of the own message that its sender
 * had heard. Only members/clocks.c and members/clock_rate.c change it; a member that starts anew
 * begins with an empty record.
 */
#ifndef HEADGATE_CLUSTER_STATE_CLOCK_STATE_H
#define HEADGATE_CLUSTER_STATE_CLOCK_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum {
    CLOCK_WINDOWS = 12, /* kept, of each peer */
    CLOCK_SLOPES = 4, /* of the lower and of the upper bounds, in the older and in the newer half of the windows */
};

/* The tightest bounds of a window. Times are of this node's raw clock. */
struct clock_window {
    uint64_t least_at_ns, most_at_ns; /* 0: there is no such bound */
    int64_t least_ns, most_ns;        /* the peer's clock leads by at least and by at most so much */
};

struct peer_clock {
    uint64_t number;                                 /* of its newest message that was looked at */
    uint64_t first_ns;                               /* when the first message told of it; 0: none has */
    uint64_t begun_ns;                               /* when the open window began; 0: as first_ns */
    struct clock_window open, window[CLOCK_WINDOWS]; /* a ring: window n is at n % CLOCK_WINDOWS */
    uint32_t count;   /* windows closed since its clock was known to run without a jump */
    int32_t rate_ppm; /* how much faster than this node's it runs; without meaning before all windows are there */
    int32_t slope_ppm[CLOCK_SLOPES];
    bool wall_known, wall_told; /* wall_told: a notice has said that wall_ms is too much */
    int64_t wall_ms;            /* how far its wall clock leads this node's, by the message that took least */
    uint64_t wall_turned_ns;    /* since when that is not so any more, or is so and untold; 0: it is as told */
    int64_t jumped_ns;          /* a jump that no notice has told yet; 0: none */
    uint64_t jumped_at_ns,
        told_jump_ns; /* when it jumped first since a notice, and when a notice last said so; 0: never */
    int32_t told_ppm; /* off by so much as of the last notice; 0: as it should be */
    int32_t off_ppm;  /* against the median; 0: within a percent */
    uint32_t jumps;   /* those that were told, by a notice or only by being counted */
};

struct clocks {
    uint64_t raw_ns;    /* this node's raw clock as of the step; never runs backwards */
    uint64_t wall_ms;   /* its wall clock; 0: unknown */
    bool look;          /* a window was closed, or a clock has jumped, since the last look */
    uint64_t again_ns;  /* look by then */
    bool known;         /* some peer's clock is known */
    int32_t median_ppm; /* how much faster than this node's clock the median of all runs */
    int32_t off_ppm;    /* how much faster than the median this node's clock runs; 0: within a percent */
    int32_t rate_ppm;   /* the same without a threshold */
    int32_t told_ppm;
    uint64_t told_jump_ns;
    uint32_t jumps;    /* of the own clock */
    uint32_t held_ppm; /* by how much this node's time is to be slowed */
};

#endif
