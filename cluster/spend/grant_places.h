/*
 * grant_places: the grants of this node that have not settled: where they stand, and how batches tell them.
 *
 * The one idea: fixed places, found by the hash of the key, and the older grant of a key first. Where none is free, a
 * grant that is told makes way, and from then on the log says what of a key is granted. For grant.c only, but for what
 * grant.h declares.
 */
#ifndef HEADGATE_CLUSTER_SPEND_GRANT_PLACES_H
#define HEADGATE_CLUSTER_SPEND_GRANT_PLACES_H

#include "base/hash.h"

#include <stdint.h>

struct grant;
struct node;

/* The most tokens of one grant: many fit spend.granted. */
enum { GRANT_TOKENS_MAX = UINT32_MAX >> 8 };

/* A place for a grant of the key, which the caller must fill with at most GRANT_TOKENS_MAX. NULL: there is no room. */
struct grant *grant_obtain(struct node *node, struct key_id id);

#endif
