/*
 * match_shape: the charges of all requests that differ only in the values of their identifiers.
 *
 * The one idea: where no rule has a list, a condition, a canary or a window, values decide nothing
 * but the ids of keys. So the charges of one request serve all requests of its shape until rules change; only
 * the values of each request must be hashed. The result equals ruleset_match's result, or
 * shape_match_of declines.
 */
#ifndef HEADGATE_RULES_MATCH_SHAPE_H
#define HEADGATE_RULES_MATCH_SHAPE_H

#include "limit/key.h"
#include "rules/match.h"

enum { SHAPE_CHARGES_MAX = 8 };

struct shape_match {
    uint32_t id_count;
    uint32_t counted; /* bits: the identifiers that some rule counts by */
    bool distinct;    /* each charge counts by one identifier, and no two charges by the same one */
    /* Bits: the identifiers that the key of each charge is made of, beside its salt. */
    uint8_t of[SHAPE_CHARGES_MAX];
    struct key_id salt[SHAPE_CHARGES_MAX];
    struct hash_key dimension_key[REQUEST_IDS_MAX];
    struct match match; /* the result for all these requests; the caller fills in the ids of the charges */
};

/* `match` must be ruleset_match's current result for `request`. False: requests of its shape may
 * match otherwise. */
bool shape_match_of(const struct ruleset *ruleset, const struct request *request, const struct match *match,
                    struct shape_match *shape);

/* Changes whenever rules change; a shape_match of another edition must not be used. Never 0. */
uint64_t ruleset_edition(const struct ruleset *ruleset);

/*
 * The ids of the charges for a request with these shape->id_count values. With these ids
 * shape->match is ruleset_match's result for the thread that `match` was made for.
 */
void shape_match_ids(const struct shape_match *shape, const struct bytes *values, struct key_id *ids);

/* The id of one charge, in line, where all charges are distinct: `value` is that of identifier
 * number `at`, which the charge counts by. */
static inline struct key_id shape_match_id(const struct shape_match *shape, uint32_t charge, uint32_t at,
                                           struct bytes value)
{
    return key_join(shape->salt[charge], key_part(&shape->dimension_key[at], value));
}

#endif
