/*
 * match_state: the state of one match, and the amounts that apply to it.
 *
 * The one idea: an identifier is hashed when the first rule needs its hash, and the hashes of
 * several dimensions are joined once. match.c follows the plan of a service; match_amount.c reads
 * the lists, conditions and tiers of a variant. Internal to matching.
 */
#ifndef HEADGATE_RULES_MATCH_STATE_H
#define HEADGATE_RULES_MATCH_STATE_H

#include "limit/key.h"
#include "rules/match.h"
#include "rules/ruleset_state.h"

/* The state of one call. An identifier is hashed when the first rule needs its hash. */
struct matcher {
    struct ruleset *ruleset;
    const struct service *service; /* NULL: the service has no rules */
    const struct request *request;
    struct match *match;
    uint64_t now_ns, wall_ns;
    uint32_t given;       /* bits: the service's dimensions and named costs that the request names */
    uint32_t hashed;      /* bits: the dimensions of `given` whose hash is in `part`; a named cost has the hash 0 */
    uint32_t joined_of;   /* the dimensions that `joined` is made of; 0: none yet */
    struct key_id joined; /* the joined hashes, without salt */
    uint8_t priority;     /* less than RULE_PRIORITIES */
    uint64_t tier;        /* bits: one or none */
    size_t counter_offset;                 /* from the first thread's counters to those of the calling thread */
    uint8_t id_of[SERVICE_DIMENSIONS_MAX]; /* the index of the request's id, or of its named cost */
    struct key_id part[SERVICE_DIMENSIONS_MAX];
};

/* The hash of the identifier of that dimension. The request must name the dimension. */
__attribute__((always_inline)) static inline struct key_id matcher_part(struct matcher *matcher, unsigned dimension)
{
    if (!(matcher->hashed >> dimension & 1)) {
        const struct request_id *id = &matcher->request->id[matcher->id_of[dimension]];
        matcher->part[dimension] = key_part(&matcher->service->dimension_key[dimension], id->value);
        matcher->hashed |= (uint32_t)1 << dimension;
    }
    return matcher->part[dimension];
}

/* The hashes of these dimensions, without salt. Rules with several dimensions mostly share them. */
static inline struct key_id matcher_joined(struct matcher *matcher, uint32_t dimensions)
{
    if (dimensions != 0 && (dimensions & (dimensions - 1)) == 0)
        return matcher_part(matcher, (unsigned)__builtin_ctz(dimensions));
    if (matcher->joined_of != dimensions) {
        matcher->joined = (struct key_id){0, 0};
        matcher->joined_of = dimensions;
        for (uint32_t left = dimensions; left; left &= left - 1)
            matcher->joined = key_join(matcher->joined, matcher_part(matcher, (unsigned)__builtin_ctz(left)));
    }
    return matcher->joined;
}

/* Which amount of a variant applies to a request. */
struct finding {
    const struct amount *amount; /* NULL: no entry applies */
    enum match_why why;
    uint8_t id;
};

/* True if the request names each dimension of the variant's conditions with a value that one of them covers. */
bool match_meets_conditions(struct matcher *matcher, const struct variant *variant);
/* The request must name all dimensions of the variant. */
struct finding match_find_amount(struct matcher *matcher, const struct variant *variant);

#endif
