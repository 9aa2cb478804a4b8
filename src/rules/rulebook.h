/*
 * rulebook: all versions of all rules that are worth knowing, and which of them are in force.
 *
 * The one idea: a rulebook is a set that only grows towards one result. Versions are values with a total order (time
 * of change, author); of each rule it keeps the newest eight and the newest general one. So whoever has heard of the
 * same versions, in whatever order and however often, has the same book, history included, and the newest version of
 * a rule is in force everywhere. It knows no network, no disk and no time.
 */
#ifndef HEADGATE_RULES_RULEBOOK_H
#define HEADGATE_RULES_RULEBOOK_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RULE_VERSIONS_KEPT = 8,                      /* the newest of each rule, */
    RULE_VERSIONS_MAX = RULE_VERSIONS_KEPT + 1,  /* and the newest general one */
    RULE_NOTE_MAX_BYTES = 127,                   /* why a change was made */
    RULE_AUTHOR_MAX_BYTES = RULE_NAME_MAX_BYTES, /* the name of the node that made it */
    RULE_SHARE_ONE = 1000000,                    /* of keys, in a canary; of decisions, as a threshold */
};

/* When a change was made. Changes of one node are numbered upwards; `author` sets two that did not know each other
 * apart. All versions of one change have the same stamp. */
struct rule_stamp {
    uint64_t lamport; /* larger than any that the author knew; > 0 */
    uint64_t author;  /* a hash of its name and incarnation */
};

/* What a version says, as it is stored and as it travels. Views belong to whoever gives them. */
struct rule_record {
    struct rule_stamp stamp;
    struct bytes service, id;
    struct bytes author, note; /* for people: printable, or "" */
    uint64_t wall_ms;          /* when it was made, by the author's wall clock (unix time); 0: unknown */
    bool deleted;              /* the rule ends here; no text */
    uint32_t share_millionths; /* of the keys that a canary covers, below RULE_SHARE_ONE; 0: a general version */
    uint32_t threshold_millionths; /* canary: how much its denial rate may be above the stable version's */
    uint64_t watch_ms;             /* canary: becomes general after this long; 0: only when somebody says so */
    uint64_t epoch;                /* counters of another epoch are not this version's: it begins afresh */
    struct bytes text;             /* canonical (rule_print) */
};

/* Immutable; shared by whoever holds a reference, all in one thread. */
struct rule_version {
    struct rule_record record; /* its views are this version's own, terminated by zeroes */
    struct rule *rule;         /* NULL if deleted */
    uint64_t digest;           /* a keyed hash of the whole record */
    uint32_t references;
};

/* Copies and checks a record, and reads its rule. NULL: no memory, or what is wrong with it. The caller's reference. */
struct rule_version *rule_version_create(const struct rule_record *record, const struct hash_key *key,
                                         struct error *error);
/* The same where the rule is there: the record's text is what it prints. *rule becomes the version's, then NULL. */
struct rule_version *rule_version_of(const struct rule_record *record, struct rule **rule,
                                     const struct hash_key *key, struct error *error);
struct rule_version *rule_version_retain(struct rule_version *version);
void rule_version_release(struct rule_version **version);
/* All fields but service and id, which whoever asks has looked up. */
bool rule_record_equal(const struct rule_record *a, const struct rule_record *b);
/* No canary. */
bool rule_version_is_general(const struct rule_version *version);
/* What it counts against text_max_bytes. */
uint64_t rule_version_bytes(const struct rule_version *version);
/* Order of versions: by stamp, and, were there ever two of one stamp in a rule, by digest. */
int rule_version_compare(const struct rule_version *a, const struct rule_version *b);

struct rulebook_limits {
    uint32_t services_max;      /* distinct services, deleted rules counted */
    uint32_t rules_max;         /* distinct rules, deleted ones counted */
    uint32_t service_rules_max; /* of one service, deleted ones counted */
    uint64_t text_max_bytes;    /* of all versions */
};
extern const struct rulebook_limits RULEBOOK_LIMITS_DEFAULT;

/* One rule and its history. Valid until the book changes. */
struct rulebook_rule {
    struct bytes service, id;                        /* of its newest version */
    uint32_t count;                                  /* >= 1 */
    struct rule_version *version[RULE_VERSIONS_MAX]; /* newest first */
};

/* The version that holds for all keys, or for those that the candidate does not cover; NULL: there is none, or the
 * rule is deleted. */
const struct rule_version *rulebook_stable(const struct rulebook_rule *rule);
/* The newest version if it is a canary, or NULL. */
const struct rule_version *rulebook_candidate(const struct rulebook_rule *rule);

struct rulebook;

/* NULL: no memory. `key` gives digests; it is equal in all peers. */
struct rulebook *rulebook_create(const struct rulebook_limits *limits, const struct hash_key *key);
void rulebook_destroy(struct rulebook **book);
/* A book of the same versions, which are shared, as is all that neither changes: it costs little. NULL: no memory. */
struct rulebook *rulebook_copy(const struct rulebook *book);

enum rulebook_result {
    RULEBOOK_ADDED, /* also when it is older than what the book has and so pushes out an older one */
    RULEBOOK_KNOWN, /* the book has it, or has enough newer ones of that rule */
    RULEBOOK_FULL,  /* a limit of the book; or no memory */
};
/* Takes a reference of its own. */
enum rulebook_result rulebook_add(struct rulebook *book, struct rule_version *version);

/* The book has just this version: nothing needs to be read to know that. */
bool rulebook_knows(const struct rulebook *book, const struct rule_record *record);

/* The same number for the same versions; 0: the book is empty. */
uint64_t rulebook_digest(const struct rulebook *book);
uint64_t rulebook_lamport(const struct rulebook *book); /* the largest ever added; 0: none */
size_t rulebook_rules(const struct rulebook *book);     /* distinct rules, deleted ones counted */
size_t rulebook_versions(const struct rulebook *book);
size_t rulebook_services(const struct rulebook *book);
uint64_t rulebook_text_bytes(const struct rulebook *book); /* what counts against text_max_bytes */
const struct rulebook_limits *rulebook_limits(const struct rulebook *book);

/* NULL: never heard of. */
const struct rulebook_rule *rulebook_find(const struct rulebook *book, struct bytes service, struct bytes id);
/* By service, then id. For index < rulebook_rules: */
const struct rulebook_rule *rulebook_at(const struct rulebook *book, size_t index);
/* The index of the first rule of that service, and how many it has (0: none). */
size_t rulebook_service(const struct rulebook *book, struct bytes service, size_t *count);

/* All versions, oldest first. For index < rulebook_versions: */
struct rule_version *rulebook_version_at(const struct rulebook *book, size_t index);
/* How many versions are older than that place in the order. */
size_t rulebook_older(const struct rulebook *book, struct rule_stamp stamp, uint64_t digest);
/* The digest of the first `count` versions of that order. */
uint64_t rulebook_digest_of_oldest(const struct rulebook *book, size_t count);

/* Asserts every invariant. */
void rulebook_check(const struct rulebook *book);

#endif
