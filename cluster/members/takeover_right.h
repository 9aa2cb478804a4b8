/*
 * takeover_right: this node's right to its share, when it ends, and what other files see of it.
 *
 * The one idea: each other peer's newest renewal is a lease with an end, and the right ends at the latest moment that
 * leases of a majority reach. Who is heard, recorded or taken over is takeover.c; this file asks only for whom the
 * node waits. Only members/takeover*.c include it.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_TAKEOVER_RIGHT_H
#define HEADGATE_CLUSTER_MEMBERS_TAKEOVER_RIGHT_H

#include "cluster/state/takeover_state.h"

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t takeover_bit(uint32_t index)
{
    return (uint64_t)1 << index;
}

/* How long a renewal and a word count. */
static inline uint64_t takeover_counting_ns(const struct takeover *takeover)
{
    return takeover->after_ns - takeover->after_ns / 100;
}

/* How long to wait until what others count has ended. */
static inline uint64_t takeover_waiting_ns(const struct takeover *takeover)
{
    return takeover->after_ns + takeover->after_ns / 50;
}

static inline bool takeover_is_majority(const struct takeover *takeover, uint64_t weight)
{
    return 2 * weight > takeover->weight_all;
}

static inline bool takeover_is_other(const struct takeover *takeover, uint32_t index)
{
    return index < takeover->count && index != takeover->me;
}

/* It may come back to us by itself: nobody has recorded that it is gone. */
static inline bool takeover_is_awaited(const struct takeover *takeover, uint32_t index)
{
    const struct takeover_peer *peer = &takeover->peer[index];
    return takeover_is_other(takeover, index) && !peer->recorded && !peer->is_away;
}

/* Until when a majority has renewed this node's right: the latest end of a lease that leases of a majority reach. */
uint64_t takeover_right_ends_ns(const struct takeover *takeover);
/* The right has ended: notes which incarnations of others there are at this moment. */
void takeover_lapse(struct takeover *takeover);
/* Computes what budgets, settling and requests see of a takeover; to be called after each change. */
void takeover_derive(struct takeover *takeover);

#endif
