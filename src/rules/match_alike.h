/*
 * match_alike: what all requests come to that differ in the values of their identifiers alone.
 *
 * The one idea: where no rule has a list, a canary or a window, values decide over nothing but the ids of the keys. So
 * the charges of one request are those of all that are like it, until rules change: what is left to do for each is to
 * hash its values. What this says is what ruleset_match says, or it says nothing.
 */
#ifndef HEADGATE_RULES_MATCH_ALIKE_H
#define HEADGATE_RULES_MATCH_ALIKE_H

#include "rules/match.h"

enum { ALIKE_CHARGES_MAX = 8 };

struct alike {
    uint32_t id_count;
    uint32_t counted;              /* bits: identifiers that some rule counts by */
    uint8_t of[ALIKE_CHARGES_MAX]; /* bits: identifiers that the key of that charge is made of, beside its salt */
    struct key_id salt[ALIKE_CHARGES_MAX];
    struct hash_key dimension_key[REQUEST_IDS_MAX];
    struct match match; /* what they come to, but for the ids of the charges: these are the caller's to fill in */
};

/* `match` is what ruleset_match says of the request now. False: others like it may come to something else. */
bool alike_of(const struct ruleset *ruleset, const struct request *request, const struct match *match,
              struct alike *alike);

/* Another one whenever rules have changed: what was of the edition before says nothing any more. Never 0. */
uint64_t alike_edition(const struct ruleset *ruleset);

/*
 * The ids of the charges of the same request with these values (alike->id_count): with them, alike->match is what
 * ruleset_match would say, to whoever has that lane.
 */
void alike_ids(const struct alike *alike, const struct bytes *values, struct key_id *ids);

#endif
