/*
 * homes: the region that is the home of a key, where a rule leaves that to the keys (`home: by_key`).
 *
 * The one idea: a key's hash names one of a thousand places, and each place has a region. All daemons of one config
 * make the same table from its names and weights, whatever their order. So all choose the same home without asking
 * anybody, and a choice is one look-up. It knows nothing of daemons: a region that has none is chosen all the same.
 */
#ifndef HEADGATE_RULES_HOMES_H
#define HEADGATE_RULES_HOMES_H

#include "base/bytes.h"
#include "limit/key.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    HOMES_MAX = 32, /* regions */
    HOME_PLACES = 1024,
};

/* What stands in a rule in place of a region. */
#define HOME_BY_KEY "by_key"
/* Likewise: the rule has no home, and is given none. */
#define HOME_NONE "none"

struct homes {
    uint32_t count;             /* 0: no regions are known, and no key has a home */
    uint32_t number[HOMES_MAX]; /* limit_home_of() of each region with a weight, in the order of the config */
    uint8_t place[HOME_PLACES]; /* an index of `number` */
};

struct home_weight {
    struct bytes region;
    uint64_t weight; /* 0: the region is no key's home; of the others in proportion to their sum */
};

/* count <= HOMES_MAX; no two regions have the same number. */
void homes_init(struct homes *homes, const struct home_weight *weights, uint32_t count);
/* An index of `number`. The id must be without a window: all windows of a key have one home. There must be regions. */
static inline uint32_t homes_of(const struct homes *homes, struct key_id id)
{
    return homes->place[(id.high ^ id.low) % HOME_PLACES];
}

static inline bool home_is_by_key(struct bytes home)
{
    return bytes_equal(home, bytes_of(HOME_BY_KEY));
}

#endif
