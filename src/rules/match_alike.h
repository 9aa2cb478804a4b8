/*
 * match_alike: the charges of all requests that differ only in the values of their identifiers.
 *
 * The one idea: where no rule has a list, a canary or a window, values decide nothing but the ids
 * of keys. So the charges of one request serve all requests like it until rules change; only the
 * values of each request must be hashed. The result equals ruleset_match's result, or alike_of
 * declines.
 */
#ifndef HEADGATE_RULES_MATCH_ALIKE_H
#define HEADGATE_RULES_MATCH_ALIKE_H

#include "rules/match.h"

enum { ALIKE_CHARGES_MAX = 8 };

struct alike {
    uint32_t id_count;
    uint32_t counted; /* bits: the identifiers that some rule counts by */
    /* Bits: the identifiers that the key of each charge is made of, beside its salt. */
    uint8_t of[ALIKE_CHARGES_MAX];
    struct key_id salt[ALIKE_CHARGES_MAX];
    struct hash_key dimension_key[REQUEST_IDS_MAX];
    struct match match; /* the result for all these requests; the caller fills in the ids of the charges */
};

/* `match` must be ruleset_match's current result for `request`. False: requests like it may match
 * otherwise. */
bool alike_of(const struct ruleset *ruleset, const struct request *request, const struct match *match,
              struct alike *alike);

/* Changes whenever rules change; an `alike` of another edition must not be used. Never 0. */
uint64_t alike_edition(const struct ruleset *ruleset);

/*
 * The ids of the charges for a request with these alike->id_count values. With these ids
 * alike->match is ruleset_match's result for the lane that `match` was made for.
 */
void alike_ids(const struct alike *alike, const struct bytes *values, struct key_id *ids);

#endif
