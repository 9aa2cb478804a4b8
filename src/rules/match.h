/*
 * match: which rules a request falls under, and what each of them asks of it.
 *
 * The one idea: a request becomes an array of charges, which a node decides over, all or nothing; next to each
 * charge stands the rule that it comes from. What needs no counting is decided here: deny lists, allow lists,
 * unlimited amounts.
 *
 * Each identifier of a request is hashed once (keyed, 128 bits); the key of a rule is its salt and the hashes of its
 * dimensions, so another matching rule costs no other hash. Does not allocate.
 */
#ifndef HEADGATE_RULES_MATCH_H
#define HEADGATE_RULES_MATCH_H

#include "base/bytes.h"
#include "limit/charge.h"
#include "limit/verdict.h"
#include "rules/rule.h"
#include "rules/ruleset.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REQUEST_IDS_MAX = 8 };

struct request_id {
    struct bytes dimension; /* at most KEY_DIMENSION_MAX_BYTES; each once in a request */
    struct bytes value;     /* at most KEY_VALUE_MAX_BYTES */
};

struct request {
    struct bytes service;  /* size 0: "default" */
    struct bytes endpoint; /* size 0: none, which "*" alone covers */
    struct bytes tier;     /* size 0: none */
    uint8_t priority;      /* enum rule_priority */
    uint8_t lane;          /* the number of the thread that asks, less than the ruleset's lanes */
    uint32_t id_count;     /* 1..REQUEST_IDS_MAX */
    uint64_t cost;
    struct request_id id[REQUEST_IDS_MAX];
    struct bytes only_rule; /* size 0: all that match; else this rule of the service, whatever is more specific,
                               or, in the service "default", this limit of the config */
};

enum match_status {
    MATCH_CHARGES,            /* the charges decide; if there is none, nothing limits this request */
    MATCH_DENIED,             /* an enforced rule's deny list: `passed[denied_by]` */
    MATCH_UNKNOWN_SERVICE,    /* a service other than "default" that no rule is about, see ruleset_options */
    MATCH_UNKNOWN_RULE,       /* only_rule is no rule of the service */
    MATCH_RULE_NOT_CONCERNED, /* only_rule does not cover the endpoint, or counts by a dimension that is not given */
};

/* Why a rule asks for what it asks. */
enum match_why {
    WHY_RULE, /* its own amount */
    WHY_TIER, /* that of the request's tier */
    WHY_OVERRIDE,
    WHY_ALLOW_LIST,
    WHY_DENY_LIST,
    WHY_UNLIMITED, /* the tier's amount, or the rule's own */
    WHY_UNLIMITED_OVERRIDE,
    WHY_CONFIG, /* no rule matched: a limit of the config counts */
};
const char *match_why_name(enum match_why why);

struct matched {
    const struct ruled *rule;            /* good until the next commit, as are the next two */
    struct rule_tally *tally;            /* this thread's */
    const struct ruled_version *version; /* which of its versions */
    uint64_t limit_tokens;               /* of the amount; 0 if nothing is counted */
    uint8_t why;                         /* enum match_why */
    uint8_t id;                          /* overrides and lists: which of the request's ids is named */
    bool candidate;                      /* the canary's version */
    bool shadow;
};

struct match {
    enum match_status status;
    uint32_t count;        /* of charges and of `rule`, which go together; 0 unless MATCH_CHARGES */
    uint32_t passed_count; /* rules that match and count nothing: listed, or unlimited */
    uint32_t denied_by;    /* MATCH_DENIED: an index into `passed` */
    uint16_t tenant;       /* the service's; 0: it has no rule, and only limits of the config count */
    bool plain;            /* the values of its identifiers decided nothing but the ids of keys, nor did time */
    struct charge charge[CHARGES_MAX];
    struct matched rule[CHARGES_MAX];
    struct matched passed[CHARGES_MAX];
};

/*
 * Which rules apply, of those that cover the endpoint and whose dimensions the request names: of each combination
 * of dimensions (`by`) the ones with the most specific pattern. An exact pattern is more specific than a prefix, a
 * longer prefix than a shorter one. A shadow rule hides no other, an off one is as good as absent.
 *
 * Fills `match` (unused elements are left as they are). now_ns is the monotonic clock of the node, wall_ns that of
 * the world, read at the same moment. Windows are computed when one begins, and kept. Concurrency limits count
 * holders: their charge costs 1, or 0 if the request does. True: status is MATCH_CHARGES.
 */
bool ruleset_match(struct ruleset *ruleset, const struct request *request, uint64_t now_ns, uint64_t wall_ns,
                   struct match *match);

/*
 * What every request of the service "default" that names nothing but a value of RULE_DEFAULT_DIMENSION comes to, as
 * long as no rule is about that service: a limit of the config. Good until the next commit.
 */
struct direct {
    struct charge like; /* the charge of all but for its id and its cost */
    struct key_id salt; /* the id is this and the value's part, joined */
    struct hash_key dimension_key;
    struct rule_counts *counts; /* of decisions: the caller's to count */
};
/* For the thread with that number. False: there is no such limit, or there are rules. */
bool ruleset_direct(const struct ruleset *ruleset, uint8_t lane, struct direct *direct);

/* Counts what was decided: verdicts[match->count], which may be NULL if the count is 0. */
void ruleset_note(struct ruleset *ruleset, const struct match *match, const struct verdict *verdicts);
/* The same of so many requests that came to it, of which every charge was allowed. */
void ruleset_note_allowed(struct ruleset *ruleset, const struct match *match, uint64_t requests);

#endif
