/*
 * patience: how long somebody still waits, by the time in which this process ran.
 *
 * The one idea: the waiter looks again after PATIENCE_SLICE_NS at the latest. If more time has passed between two
 * looks, the process was paused or got no processor, and so did whatever is waited for: that time counts as one slice.
 * No clock: the caller says what time it is.
 */
#ifndef HEADGATE_EDGE_PROCESS_PATIENCE_H
#define HEADGATE_EDGE_PROCESS_PATIENCE_H

#include <stdint.h>

#define PATIENCE_SLICE_NS ((uint64_t)50 * 1000000)

struct patience {
    uint64_t left_ns, looked_ns;
};

static inline struct patience patience_begin(uint64_t ns, uint64_t now_ns)
{
    return (struct patience){.left_ns = ns, .looked_ns = now_ns};
}

/* Counts the time since the last look. Returns for how long to wait until the next look; 0: the patience is over. */
static inline uint64_t patience_look(struct patience *patience, uint64_t now_ns)
{
    uint64_t passed_ns = now_ns - patience->looked_ns;
    uint64_t counted_ns = passed_ns < PATIENCE_SLICE_NS ? passed_ns : PATIENCE_SLICE_NS;
    patience->looked_ns = now_ns;
    patience->left_ns -= counted_ns < patience->left_ns ? counted_ns : patience->left_ns;
    return patience->left_ns < PATIENCE_SLICE_NS ? patience->left_ns : PATIENCE_SLICE_NS;
}

#endif
