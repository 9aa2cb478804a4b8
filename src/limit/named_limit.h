/*
 * named_limit: the limits that a config file names, e.g. "default".
 *
 * A name makes a limit's keys its own: key_id_of takes the id of the name, so that two names with equal terms share
 * an index in the limit set and no key.
 */
#ifndef HEADGATE_LIMIT_NAMED_LIMIT_H
#define HEADGATE_LIMIT_NAMED_LIMIT_H

#include "base/bytes.h"
#include "base/hash.h"
#include "limit/limit.h"

enum {
    LIMIT_NAME_BYTES = 64, /* with the terminator */
    NAMED_LIMITS_MAX = 64,
};

struct named_limit {
    char name[LIMIT_NAME_BYTES];
    uint32_t id; /* a hash of the name: the same at every peer */
    struct limit_terms terms;
    uint16_t patience_ms; /* see struct charge; a daemon's own matter: peers need not have the same */
};

struct named_limits {
    uint16_t count; /* 1..NAMED_LIMITS_MAX */
    uint16_t by_default;
    struct named_limit limit[NAMED_LIMITS_MAX];
};

/* A bucket. False, with a sentence naming the field, when name or terms are out of range. */
bool named_limit_init(struct named_limit *limit, struct bytes name, const struct limit_terms *terms,
                      struct error *error);

/* The index of the limit of that name, or -1. */
int named_limit_find(const struct named_limits *limits, struct bytes name);
/* The index of the limit with that id, or -1. */
int named_limit_find_id(const struct named_limits *limits, uint32_t id);

/* True: the same limits in the same order, with the same default. */
bool named_limits_equal(const struct named_limits *a, const struct named_limits *b);
/*
 * A hash of what all peers must have alike: names, terms, the default. Neither the order of the limits nor the way in
 * which a rate is written changes it. The hash of some limits and more is a sum, so that it can be part of a larger
 * one.
 */
uint64_t named_limits_digest(const struct named_limits *limits, const struct hash_key *key);

#endif
