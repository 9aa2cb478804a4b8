/*
 * clock_rate: how fast the clock of one peer runs, measured by its messages.
 *
 * The one idea: delays only blur a clock. In each window the message that took least gives the
 * tightest bound, and a clock that runs fast moves both bounds, while a way that gets longer moves
 * them apart. Lines through the bounds are medians of slopes, so a few bad windows do not bend
 * them. A clock is off only if all lines say so: of both bounds, in both halves of the windows. It
 * is pure: no clock is read, and nothing is known of other peers.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_CLOCK_RATE_H
#define HEADGATE_CLUSTER_MEMBERS_CLOCK_RATE_H

#include "cluster/state/clock_state.h"

/* What a message says of its sender's clock. */
struct clock_sample {
    uint64_t here_ns;  /* this node's raw clock when the message is read; below 2^61 */
    uint64_t there_ns; /* the sender's raw clock when the message was made; below 2^61 */
    uint64_t asked_ns; /* this node's raw clock when it made the newest message that the sender knew; 0: unknown */
};

enum clock_news { CLOCK_NOTHING, CLOCK_WINDOW, CLOCK_JUMP };

/*
 * Takes a sample in. Samples must come in the order in which their messages were made. After
 * CLOCK_JUMP all windows are empty and clock->jumped_ns has grown by the jump.
 */
enum clock_news clock_take(struct peer_clock *clock, const struct clock_sample *sample, uint64_t window_ns);

/* True: the clock was measured for long enough, and lately. */
bool clock_is_measured(const struct peer_clock *clock, uint64_t here_ns, uint64_t window_ns);

/*
 * By how much the clock surely runs faster than a clock that runs `than_ppm` faster than this
 * node's: the slope that is nearest to that, or 0 if slopes lie on both sides.
 */
int32_t clock_surely_ppm(const struct peer_clock *clock, int32_t than_ppm);

#endif
