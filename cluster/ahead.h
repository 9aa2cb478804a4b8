/*
 * ahead: what keys will need is asked of memory while those before them are decided.
 *
 * The one idea: a processor waits for some lines of memory side by side, and whoever asks for more waits as well. So
 * it is asked for a few keys at a time, in order, a few before they are decided. Only for the files of the request path.
 */
#ifndef HEADGATE_CLUSTER_AHEAD_H
#define HEADGATE_CLUSTER_AHEAD_H

#include "cluster/spending.h"

enum { AHEAD_KEYS = 8 }; /* at a time: each takes two or three lines */

struct ahead {
    const struct key_id *ids;
    uint64_t *guesses; /* as node_prefetch_each makes them, */
    uint32_t asked;    /* of so many keys by now */
    uint32_t count;
};

/* Memory is to be asked for more before the first `keys` are decided. */
static inline bool ahead_is_due(const struct ahead *ahead, uint32_t keys)
{
    return ahead->asked < ahead->count && ahead->asked < keys + AHEAD_KEYS;
}

/* Then there are guesses of these. The caller holds no key: see node_prefetch_each. */
static inline void ahead_reach(struct node *node, struct ahead *ahead, uint32_t keys)
{
    while (ahead_is_due(ahead, keys)) {
        uint32_t left = ahead->count - ahead->asked, part = left < AHEAD_KEYS ? left : AHEAD_KEYS;
        node_prefetch_each(node, ahead->ids + ahead->asked, part, ahead->guesses + ahead->asked);
        ahead->asked += part;
    }
}

#endif
