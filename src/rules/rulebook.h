/*
 * rulebook: all versions of all rules that a peer keeps, and the versions that are in force.
 *
 * The one idea: a rulebook is a set that merges in any order. Versions are values with a total
 * order (time of change, author); the book keeps the newest eight versions of each rule and the
 * newest general one. So peers that heard of the same versions, in any order and however often,
 * have the same book, history included, and the newest version of a rule is in force at every peer.
 * The book knows no network, no disk and no time.
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
    RULE_VERSIONS_KEPT = 8,                      /* the newest versions of each rule */
    RULE_VERSIONS_MAX = RULE_VERSIONS_KEPT + 1,  /* and the newest general version */
    RULE_NOTE_MAX_BYTES = 127,                   /* the reason of a change */
    RULE_AUTHOR_MAX_BYTES = RULE_NAME_MAX_BYTES, /* the name of the node that made the change */
    RULE_SHARE_ONE = 1000000,                    /* the whole: of a canary's keys, or of decisions in a threshold */
};

/* The time of a change. Changes of one node have rising numbers; `author` orders changes of nodes
 * that did not know of each other. All versions of one change have the same stamp. */
struct rule_stamp {
    uint64_t lamport; /* larger than any number that the author knew; > 0 */
    uint64_t author;  /* a hash of the author's name and incarnation */
};

/* The content of a version, as stores and messages hold it. The views belong to the owner of the
 * record. */
struct rule_record {
    struct rule_stamp stamp;
    struct bytes service, id;
    struct bytes author, note; /* for people: printable, or "" */
    uint64_t wall_ms;          /* the time of the change by the author's wall clock (unix time); 0: unknown */
    bool deleted;              /* the rule ends with this version; the text is empty */
    /* The share of keys that a canary covers, below RULE_SHARE_ONE; 0: a general version. */
    uint32_t share_millionths;
    uint32_t threshold_millionths; /* canary: how far its denial rate may exceed the stable version's */
    uint64_t watch_ms;             /* canary: becomes general after this time; 0: only when an operator says so */
    uint64_t epoch;                /* a version with another epoch counts afresh */
    struct bytes text;             /* canonical (rule_print) */
};

/* Immutable. Holders of references, all in one thread, share a version. */
struct rule_version {
    struct rule_record record; /* its views point into this version and end with zeroes */
    struct rule *rule;         /* NULL if deleted */
    uint64_t digest;           /* a keyed hash of the whole record */
    uint32_t references;
};

/* Copies and checks a record, and parses its rule. Returns a reference that the caller releases.
 * NULL: memory is short or the record is invalid, see `error`. */
struct rule_version *rule_version_create(const struct rule_record *record, const struct hash_key *key,
                                         struct error *error);
/* As rule_version_create, for a rule that is already parsed: the record's text must be the rule's
 * canonical text. Takes over *rule and sets it to NULL. */
struct rule_version *rule_version_of(const struct rule_record *record, struct rule **rule,
                                     const struct hash_key *key, struct error *error);
struct rule_version *rule_version_retain(struct rule_version *version);
void rule_version_release(struct rule_version **version);
/* Compares all fields but service and id, which the caller has looked up. */
bool rule_record_equal(const struct rule_record *a, const struct rule_record *b);
/* True if the version is no canary. */
bool rule_version_is_general(const struct rule_version *version);
/* The bytes that the version counts against text_max_bytes. */
uint64_t rule_version_bytes(const struct rule_version *version);
/* The order of versions: by stamp, and by digest where two versions of a rule have one stamp. */
int rule_version_compare(const struct rule_version *a, const struct rule_version *b);

struct rulebook_limits {
    uint32_t services_max;      /* distinct services, including those of deleted rules */
    uint32_t rules_max;         /* distinct rules, including deleted ones */
    uint32_t service_rules_max; /* rules of one service, including deleted ones */
    uint64_t text_max_bytes;    /* sum over all versions */
};
extern const struct rulebook_limits RULEBOOK_LIMITS_DEFAULT;

/* One rule and its history. Valid until the book changes. */
struct rulebook_rule {
    struct bytes service, id;                        /* views of the newest version */
    uint32_t count;                                  /* >= 1 */
    struct rule_version *version[RULE_VERSIONS_MAX]; /* newest first */
};

/* The version in force for all keys, or for the keys that the candidate does not cover. NULL: there
 * is none, or the rule is deleted. */
const struct rule_version *rulebook_stable(const struct rulebook_rule *rule);
/* The newest version if it is a canary, or NULL. */
const struct rule_version *rulebook_candidate(const struct rulebook_rule *rule);

struct rulebook;

/* `key` gives the digests and must be equal at all peers. NULL: memory is short. */
struct rulebook *rulebook_create(const struct rulebook_limits *limits, const struct hash_key *key);
void rulebook_destroy(struct rulebook **book);
/* A book of the same versions. Both books share everything that neither changes, so a copy is
 * cheap. NULL: memory is short. */
struct rulebook *rulebook_copy(const struct rulebook *book);

enum rulebook_result {
    /* The book now has the version, which may be older than the newest one. */
    RULEBOOK_ADDED,
    RULEBOOK_KNOWN, /* the book has the version, or has enough newer versions of that rule */
    RULEBOOK_FULL,  /* a limit of the book is reached, or memory is short */
};
/* Takes a reference of its own. */
enum rulebook_result rulebook_add(struct rulebook *book, struct rule_version *version);

/* True if the book has exactly this version. Parses no rule. */
bool rulebook_knows(const struct rulebook *book, const struct rule_record *record);

/* Equal for equal sets of versions; 0: the book is empty. */
uint64_t rulebook_digest(const struct rulebook *book);
uint64_t rulebook_lamport(const struct rulebook *book); /* the largest number ever added; 0: none */
size_t rulebook_rules(const struct rulebook *book);     /* distinct rules, including deleted ones */
size_t rulebook_versions(const struct rulebook *book);
size_t rulebook_services(const struct rulebook *book);
uint64_t rulebook_text_bytes(const struct rulebook *book); /* the sum that text_max_bytes limits */
const struct rulebook_limits *rulebook_limits(const struct rulebook *book);

/* NULL: the book never heard of the rule. */
const struct rulebook_rule *rulebook_find(const struct rulebook *book, struct bytes service, struct bytes id);
/* Rules sorted by service, then id. `index` must be below rulebook_rules. */
const struct rulebook_rule *rulebook_at(const struct rulebook *book, size_t index);
/* The index of the first rule that comes after that name, which need not be a rule's. */
size_t rulebook_after(const struct rulebook *book, struct rule_name name);
/* The index of the first rule of a service. *count becomes the number of its rules; 0: none. */
size_t rulebook_service(const struct rulebook *book, struct bytes service, size_t *count);

/* Versions in their order, oldest first. `index` must be below rulebook_versions. */
struct rule_version *rulebook_version_at(const struct rulebook *book, size_t index);
/* The number of versions that are older than this stamp and digest. */
size_t rulebook_older(const struct rulebook *book, struct rule_stamp stamp, uint64_t digest);
/* The digest of the first `count` versions of that order. */
uint64_t rulebook_digest_of_oldest(const struct rulebook *book, size_t count);

/* Asserts every invariant. */
void rulebook_check(const struct rulebook *book);

#endif
