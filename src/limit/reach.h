/*
 * reach: whether a peer can ever admit anything of a limit, and what would have to be otherwise.
 *
 * The one idea: a peer never admits more than it would of a key that nobody has spent from. So the rule of bucket.h is
 * asked about a full bucket and one token; what is missing is found by asking again, with a larger overshoot or
 * capacity. Not for the request path.
 */
#ifndef HEADGATE_LIMIT_REACH_H
#define HEADGATE_LIMIT_REACH_H

#include "limit/bucket.h"

#include <stdbool.h>
#include <stdint.h>

/* Shares of all peers of a cluster, in 1/SHARE_ONE. One peer is alone and has the whole, whatever its share. */
struct reach_peers {
    uint32_t count;
    const uint64_t *shares;
};

/*
 * How many of the peers can ever admit one token that leaves `floor_millionths` of the capacity alone. The terms are
 * right: limit_init takes them.
 */
uint32_t reach_count(const struct limit_terms *terms, uint32_t floor_millionths, const struct reach_peers *peers);

/* The least overshoot, in tokens, with which all peers can; 0: none does, as with a static split. */
uint64_t reach_overshoot(const struct limit_terms *terms, uint32_t floor_millionths,
                         const struct reach_peers *peers);
/* The least capacity with which all peers can; 0: none does. */
uint64_t reach_capacity(const struct limit_terms *terms, uint32_t floor_millionths,
                        const struct reach_peers *peers);

#endif
