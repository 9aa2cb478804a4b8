/*
 * ruleset_roster: the identifiers that one version of a rule names: lists, overrides and conditions. Only ruleset*.c
 * and match*.c may include this header.
 *
 * The one idea: a value is looked up by its hash, and a beginning or a network by its bytes and length. So the work
 * of a request depends on the number of different lengths, and not on the size of the lists.
 */
#ifndef HEADGATE_RULES_RULESET_ROSTER_H
#define HEADGATE_RULES_RULESET_ROSTER_H

#include "base/bytes.h"
#include "base/network.h"
#include "limit/key.h"

#include <stdint.h>

struct amount;

enum roster_kind { ROSTER_EMPTY, ROSTER_DENY, ROSTER_ALLOW, ROSTER_OVERRIDE, ROSTER_WHEN };

/* The identifiers that a version names: an open addressing table, at most half full. */
struct roster_entry {
    struct key_id part;    /* the hash of the identifier; equal hashes mean equal identifiers */
    uint64_t until_s;      /* the end of an override; UINT64_MAX: never */
    struct amount *amount; /* the amount of an override */
    uint8_t kind;
};

struct roster {
    uint32_t dimensions; /* bits: the dimensions of its entries */
    uint32_t mask;
    struct roster_entry *entry;             /* mask + 1 entries */
    const struct roster_patterns *patterns; /* NULL: no entry is a pattern */
};

/*
 * Entries for many values: prefixes, and networks of addresses. Each length that occurs costs one look-up, so
 * the work is bounded by the number of lengths, whatever the size of the lists.
 */
enum {
    /* Different lengths of prefixes, of IPv4 and of IPv6 networks, for one rule and one dimension. */
    ROSTER_LENGTHS_MAX = 40
};

enum roster_form { ROSTER_PREFIX, ROSTER_IPV4, ROSTER_IPV6, ROSTER_FORMS };

/* The lengths that occur for one dimension, falling, in bytes (prefixes) or bits (networks). */
struct roster_lengths {
    uint8_t count[ROSTER_FORMS];
    uint8_t length[ROSTER_FORMS][ROSTER_LENGTHS_MAX];
};

struct roster_pattern {
    struct bytes head; /* the prefix, or the 16 bytes of the network; NULL: free */
    uint32_t hash;
    uint8_t dimension, form, length;
    struct roster_entry entry;
};

struct roster_patterns {
    uint32_t dimensions; /* bits: the dimensions of the patterns */
    uint32_t mask;
    struct roster_pattern *pattern; /* mask + 1 entries, at most half of them used */
    struct roster_lengths *lengths; /* one for each of the dimensions, in their order */
};

/* Visits the entries that cover one value: the longest prefix first, then the longest network. */
struct roster_walk {
    const struct roster_patterns *patterns;
    const struct roster_lengths *lengths;
    struct bytes value;
    struct address address; /* masked down to the last length tried */
    uint8_t dimension, form, index;
};
void roster_walk_begin(struct roster_walk *walk, const struct roster_patterns *patterns, unsigned dimension,
                       struct bytes value);
/* NULL: no further entry covers the value. */
const struct roster_entry *roster_walk_next(struct roster_walk *walk);

#endif
