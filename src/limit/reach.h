/*
 * reach: whether a peer can ever admit a request under a limit by its share, and which other limit would let it.
 *
 * The one idea: a peer never admits more than it would from a full bucket. So the rule of bucket.h is applied to a full
 * bucket and one token; the overshoot or capacity that is missing is found by a search. Where peers grant each other
 * their rights, what all together may spend counts, a round trip later. Not for the request path.
 */
#ifndef HEADGATE_LIMIT_REACH_H
#define HEADGATE_LIMIT_REACH_H

#include "limit/bucket.h"

#include <stdbool.h>
#include <stdint.h>

enum { REACH_PEERS_MAX = 128 };

/*
 * Shares of all peers of a cluster, in 1/SHARE_ONE. One peer is alone and has the whole, whatever its share. One of
 * several that has the whole is at home (struct limit_terms).
 */
struct reach_peers {
    uint32_t count; /* at most REACH_PEERS_MAX */
    const uint64_t *shares;
    bool grants;                /* they grant each other rights */
    const char *const *regions; /* of each; NULL: they are not known */
    bool homes;                 /* a rule may name a home, which a sentence may then suggest */
    const char *const *names;   /* of each; NULL: they are not known, as regions are not */
};

/*
 * How many of the peers can ever admit one token while `floor_millionths` of the capacity stay untouched.
 * limit_init must accept the terms.
 */
uint32_t reach_count(const struct limit_terms *terms, uint32_t floor_millionths, const struct reach_peers *peers);

/* The least overshoot, in tokens, with which all peers can; 0: there is none, as for a static split. */
uint64_t reach_overshoot(const struct limit_terms *terms, uint32_t floor_millionths,
                         const struct reach_peers *peers);
/* The least capacity with which all peers can; 0: there is none. */
uint64_t reach_capacity(const struct limit_terms *terms, uint32_t floor_millionths,
                        const struct reach_peers *peers);

#endif
