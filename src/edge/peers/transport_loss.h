/*
 * transport_loss: whether the link with a peer loses packets, and how many lanes help it then.
 *
 * The one idea: the kernel counts packets that came out of order on a connection, as all do that follow
 * a lost one. Each look notes whether there were any since the look before. Three such looks among the
 * last eight: the link loses packets. At most two of the last 64: it does so no more. A single loss
 * proves nothing, and neither does a look at a connection over which hardly anything has come. This file
 * reads no socket.
 */
#ifndef HEADGATE_EDGE_PEERS_TRANSPORT_LOSS_H
#define HEADGATE_EDGE_PEERS_TRANSPORT_LOSS_H

#include "edge/peers/endpoint.h"

#include <stdbool.h>
#include <stdint.h>

struct loss {
    uint32_t connection; /* whose counters were seen last; 0: none */
    struct arrivals seen;
    uint64_t looks; /* the last 64: 1 for each with disorder, the last one in bit 0 */
    bool loses;
};

/* The counters of a connection, which has a number that no other one has. True: the link loses packets. */
bool loss_look(struct loss *loss, uint32_t connection, const struct arrivals *arrivals);

/* The most lanes of a link, if there are so many links: each peer may need as many at the same other one. */
uint32_t loss_lanes(uint64_t links);

/* A lane beyond the first, as it is seen at each look. */
struct loss_lane {
    uint32_t connection; /* at the last look; 0: none */
    uint32_t lonely;     /* looks in a row at which it had not kept one, but the first lane had one */
};
/* True: the peer takes no connection for this lane. */
bool loss_lane_is_refused(struct loss_lane *lane, uint32_t connection, bool first_has_one);

#endif
