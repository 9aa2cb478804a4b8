/*
 * homes: which of several homes a key has. `home: by_key` of a rule means all regions of the config, in proportion to
 * their weights; `home: [a, b]` means the regions and the daemons of that list, each for as many keys.
 *
 * The one idea: a key's hash names one of a thousand slots, and each slot has a home. All daemons make the same table
 * from the same names and weights, whatever their order. So all choose the same home without asking anybody, and a
 * choice is one look-up. It does not know who runs: a home without a daemon is chosen all the same.
 */
#ifndef HEADGATE_RULES_HOMES_H
#define HEADGATE_RULES_HOMES_H

#include "base/bytes.h"
#include "limit/key.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum {
    HOMES_MAX = 64,
    HOME_SLOTS = 1024,
};

/* What stands in a rule in place of a region. */
#define HOME_BY_KEY "by_key"
/* Likewise: the rule has no home, and is given none. */
#define HOME_NONE "none"
/* What stands between the homes of a list in the text of struct rule; no name has it. */
#define HOME_COMMA ','

struct homes {
    uint32_t count;             /* 0: no regions are known, and no key has a home */
    uint64_t number[HOMES_MAX]; /* limit_home_named() of each home with a weight, in the order in which they came */
    uint8_t slot[HOME_SLOTS];   /* an index of `number` */
};

struct home_weight {
    struct bytes home; /* REGION, or REGION/DAEMON */
    uint64_t weight;   /* 0: it is no key's home; of the others in proportion to their sum */
};

/* count <= HOMES_MAX; no two homes have the same number. */
void homes_init(struct homes *homes, const struct home_weight *weights, uint32_t count);
/* An index of `number`. The id must be without a window: all windows of a key have one home. There must be regions. */
static inline uint32_t homes_of(const struct homes *homes, struct key_id id)
{
    return homes->slot[(id.high ^ id.low) % HOME_SLOTS];
}

static inline bool home_is_by_key(struct bytes home)
{
    return bytes_equal(home, bytes_of(HOME_BY_KEY));
}

/* A list of two homes or more, as the text of struct rule has it: `a,b`. */
static inline bool home_is_list(struct bytes home)
{
    return home.size > 0 && memchr(home.data, HOME_COMMA, home.size) != NULL;
}

/* True: each key has a home of its own. */
static inline bool home_is_of_keys(struct bytes home)
{
    return home_is_by_key(home) || home_is_list(home);
}

static inline bool home_is_daemon(struct bytes home)
{
    return home.size > 0 && memchr(home.data, '/', home.size) != NULL;
}

/* Takes the first home off a list, or one home that stands alone. False: nothing is left. */
static inline bool home_next(struct bytes *rest, struct bytes *home)
{
    const char *comma = rest->size > 0 ? memchr(rest->data, HOME_COMMA, rest->size) : NULL;
    *home = (struct bytes){rest->data, comma ? (size_t)(comma - rest->data) : rest->size};
    const size_t taken = comma ? home->size + 1 : home->size;
    *rest = (struct bytes){rest->data + taken, rest->size - taken};
    return home->size > 0;
}

/* The list must have at most HOMES_MAX homes, each once. */
void homes_init_list(struct homes *homes, struct bytes list);

#endif
