/*
 * match: the rules that apply to a request, and the charges that they ask for.
 *
 * The one idea: a request becomes an array of charges, which the node decides all or nothing; the
 * rule of each charge stands beside it. Deny lists, allow lists and unlimited amounts need no
 * counting and are decided here. Each identifier is hashed once (keyed, 128 bits); a rule's key
 * joins the rule's salt with the hashes of its dimensions, so each further rule costs no further
 * hash. Does not allocate.
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

enum { REQUEST_IDS_MAX = 8, REQUEST_COSTS_MAX = 4 };

struct request_id {
    struct bytes dimension; /* at most KEY_DIMENSION_MAX_BYTES; a request names each dimension at most once */
    struct bytes value;     /* at most KEY_VALUE_MAX_BYTES */
};

/* What the request costs of something that rules count by its name, which it names once at most. */
struct request_cost {
    struct bytes name;
    uint64_t tokens;
};

struct request {
    struct bytes service;  /* size 0: "default" */
    struct bytes endpoint; /* size 0: none; only the pattern "*" covers it */
    struct bytes tier;     /* size 0: none */
    uint8_t priority;      /* enum rule_priority */
    uint8_t thread;        /* the number of the calling thread, below the ruleset's threads */
    uint32_t id_count;     /* 1..REQUEST_IDS_MAX */
    bool any_cost;         /* the request names each cost that a rule counts, as its named_cost[0] */
    uint32_t cost_count;   /* 0..REQUEST_COSTS_MAX, of `named_cost`; 0 if any_cost */
    uint64_t cost;         /* for rules that count requests */
    struct request_id id[REQUEST_IDS_MAX];
    struct request_cost named_cost[REQUEST_COSTS_MAX];
    /* Size 0: all rules that match; else only this rule of the service, even if others are more
     * specific, or only this limit of the config in the service "default". */
    struct bytes only_rule;
};

enum match_status {
    MATCH_CHARGES,         /* the charges decide; without charges nothing limits the request */
    MATCH_DENIED,          /* an enforced rule denies for good (match_why_denies): `passed[denied_by]` */
    MATCH_UNKNOWN_SERVICE, /* no rule is about the service, which is not "default"; see ruleset_options */
    MATCH_UNKNOWN_RULE,    /* only_rule is no rule of the service */
    /* `only_rule` does not cover the endpoint, counts by a dimension that the request does not name, or
     * has conditions that the request does not meet. */
    MATCH_RULE_NOT_CONCERNED,
};

/* The source of the amount that a rule applies. */
enum match_why {
    WHY_RULE, /* the rule's own amount */
    WHY_TIER, /* the amount of the request's tier */
    WHY_OVERRIDE,
    WHY_ALLOW_LIST,
    WHY_DENY_LIST,
    WHY_ZERO,      /* the amount that applies admits nothing */
    WHY_UNLIMITED, /* the tier's amount or the rule's own is unlimited */
    WHY_UNLIMITED_OVERRIDE,
    WHY_CONFIG, /* no rule matched; a limit of the config counts */
};
const char *match_why_name(enum match_why why);
/* True if a rule denies the request for good, without counting it: by its deny list, or by an amount of 0. */
static inline bool match_why_denies(uint8_t why)
{
    return why == WHY_DENY_LIST || why == WHY_ZERO;
}
/* The same as a reason. Requires match_why_denies. */
enum verdict_reason match_denial(uint8_t why);

struct matched {
    const struct ruled *rule;            /* valid until the next commit, as are `counter` and `version` */
    struct rule_counter *counter;        /* the calling thread's */
    const struct ruled_version *version; /* the version of the rule that applies */
    uint64_t limit_tokens;               /* the limit of the amount; 0 if the rule counts nothing */
    uint8_t why;                         /* enum match_why */
    uint8_t
        id; /* overrides and lists: the index of the request's id that the entry names; WHY_TIER: see match_tier */
    bool candidate;         /* `version` is the canary's */
    bool shadow;            /* the rule never denies: its mode is shadow or soft */
    bool soft;              /* its mode is soft */
    bool has_canary;        /* the rule has a canary now */
    struct key_id identity; /* see match_identity; set for rules with windows and in `passed` */
};

struct match {
    enum match_status status;
    uint32_t count;        /* of the charges and of `rule`, in the same order; 0 unless MATCH_CHARGES */
    uint32_t passed_count; /* rules that match and count nothing: listed or unlimited */
    uint32_t denied_by;    /* MATCH_DENIED: an index into `passed` */
    uint16_t tenant;       /* the service's; 0: the service has no rule, and only limits of the config count */
    bool plain;            /* neither time nor the values of identifiers decided anything but the ids of keys */
    struct charge charge[CHARGES_MAX];
    struct matched rule[CHARGES_MAX];
    struct matched passed[CHARGES_MAX];
};

/*
 * Finds the rules that apply. A rule may apply if it covers the endpoint, the request names all of
 * its dimensions and the cost that it counts, and the request meets its conditions (`when`). Among rules with the same
 * dimensions (`by`) that count the same, only the ones with the most specific pattern apply. An exact pattern is more
 * specific than a prefix, and a longer prefix is more specific than a shorter one. A shadow rule
 * hides no other rule, but a soft one does. A rule that is off, or whose conditions the request
 * does not meet, counts as absent.
 *
 * Fills `match` and leaves unused elements as they are. now_ns is the node's monotonic clock,
 * wall_ns the wall clock at the same moment. A window is computed when it begins, and kept. A
 * concurrency limit counts holders: its charge costs 1, or 0 if the request costs 0. Returns true
 * if the status is MATCH_CHARGES.
 */
bool ruleset_match(struct ruleset *ruleset, const struct request *request, uint64_t now_ns, uint64_t wall_ns,
                   struct match *match);

/*
 * The hash of the identifiers that charge number `charge` counts by, joined in any order: the same under all rules,
 * versions and windows. `id` is the id of the charge's key.
 */
struct key_id match_identity(const struct match *match, uint32_t charge, struct key_id id);
/* The tier of the amount that applies; empty: it is no tier's. */
struct bytes match_tier(const struct ruleset *ruleset, const struct matched *matched);

/* Rules that never deny, and would have denied: a set. */
enum { NOTED_SHADOW = 1, NOTED_SOFT = 2 };
/*
 * Counts the decisions: verdicts[match->count]. `verdicts` may be NULL if the count is 0. Returns which of the modes
 * would have denied the request.
 */
unsigned ruleset_note(const struct match *match, const struct verdict *verdicts);
/*
 * Counts many requests that all matched as `match` says: `allowed_count` requests had every charge allowed, and
 * `denied_count` requests had every charge denied. No charge may be of a rule that never denies. Returns as
 * ruleset_note, for all of the requests.
 */
unsigned ruleset_note_many(const struct match *match, uint64_t allowed_count, uint64_t denied_count);

#endif
