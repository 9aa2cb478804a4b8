/*
 * ahead: what keys will need is asked of memory while those before them are decided.
 *
 * The one idea: a processor waits for some lines of memory side by side, and whoever asks for more waits as well. So
 * it is asked for a few keys at a time, in order, a few before they are decided. Only for the files of the request
 * path.
 */
#ifndef HEADGATE_CLUSTER_AHEAD_H
#define HEADGATE_CLUSTER_AHEAD_H

#include "base/number.h"
#include "cluster/spending.h"

enum { AHEAD_KEYS = 8 }; /* at a time: each takes two or three lines */
_Static_assert(CHARGES_MAX <= 2 * AHEAD_KEYS, "a request's keys are asked for before it is decided");

struct ahead {
    const struct key_id *ids;
    uint64_t *guesses; /* as node_prefetch_each makes them, */
    uint32_t asked;    /* of so many keys by now */
    uint32_t count;
};

/* The keys that come next, if they are the one that came last: it was asked for. */
static inline void ahead_repeat(struct ahead *ahead)
{
    for (uint32_t i = ahead->asked; i > 0 && i < ahead->count && key_id_equal(ahead->ids[i], ahead->ids[i - 1]);
         i++)
        ahead->guesses[ahead->asked++] = ahead->guesses[i - 1];
}

/*
 * `keys` are decided. Of the next 2 * AHEAD_KEYS at least there are guesses then. Returns how many keys should be
 * decided, in all, before it is called again.
 */
static inline uint32_t ahead_reach(const struct node *node, struct ahead *ahead, uint32_t keys)
{
    while (ahead->asked < ahead->count && ahead->asked < keys + 2 * AHEAD_KEYS) {
        const uint32_t most = ahead->asked == 0 ? 2 * AHEAD_KEYS : AHEAD_KEYS;
        const uint32_t part = (uint32_t)number_least(ahead->count - ahead->asked, most);
        node_prefetch_each(node, ahead->ids + ahead->asked, part, ahead->guesses + ahead->asked);
        ahead->asked += part;
        ahead_repeat(ahead);
    }
    return ahead->asked == ahead->count ? ahead->count : ahead->asked - AHEAD_KEYS;
}

#endif
