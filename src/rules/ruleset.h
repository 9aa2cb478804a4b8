/*
 * ruleset: all rules of all services, compiled so that a request finds its own at once.
 *
 * The one idea: whatever can be known before a request comes is worked out when a rule changes: for each endpoint
 * pattern of a service a plan, the few rules that may apply there; for each rule its limits' indices, its lists as hash
 * tables, its key's salt. A service is compiled whole, beside the one in use, and takes its place at once (stage,
 * commit). match.h looks requests up, and says which rules apply.
 *
 * Copies what it needs of the rules. Has no clock and no I/O. Several threads may match and note at the same time, each
 * with a number of its own (request.lane): what they write, each has for itself. The rest is for one that is alone.
 */
#ifndef HEADGATE_RULES_RULESET_H
#define HEADGATE_RULES_RULESET_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "limit/charge.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limit_terms;
struct ruleset;

enum {
    RULESET_SERVICES_MAX = 65534,
    RULESET_NAMED_MAX = 64,
    RULESET_LANES_MAX = 64,
    SERVICE_RULES_MAX = 10000,
    SERVICE_DIMENSIONS_MAX = 32,      /* different ones in the rules of one service */
    SERVICE_TIERS_MAX = 64,           /* likewise */
    ENDPOINT_RULES_MAX = CHARGES_MAX, /* that may apply to one request */
};

/* A limit of the config, which counts where the service `default` has no rule for a request. */
struct ruleset_named {
    struct bytes name;
    uint32_t id;    /* of the name: its keys have a salt made of it */
    uint16_t limit; /* index, interned by the caller */
    uint64_t capacity;
};

struct ruleset_options {
    const struct hash_key *hash_key;   /* copied */
    uint32_t services_max;             /* 1..RULESET_SERVICES_MAX; of services that have a rule */
    uint32_t rules_max;                /* of all services together */
    uint32_t service_rules_max;        /* 1..SERVICE_RULES_MAX */
    const struct ruleset_named *named; /* copied; named_count <= RULESET_NAMED_MAX */
    uint32_t named_count;
    uint32_t named_by_default; /* an index into `named`; not used if there is none */
    bool unknown_service_open; /* nothing limits a service without rules; else it is MATCH_UNKNOWN_SERVICE */
    uint32_t lanes;            /* threads that match at the same time, up to RULESET_LANES_MAX; 0: one */
    /* The index of these terms in the limit set, or -1 with a sentence. */
    int (*intern)(void *context, const struct limit_terms *terms, struct error *error);
    void *context;
};

/* NULL when memory is short. */
struct ruleset *ruleset_create(const struct ruleset_options *options);
void ruleset_destroy(struct ruleset **ruleset);

/* ---- changing it ---- */

/* One rule as it is to be used. During a canary `candidate` is for a share of the keys, `rule` for the others. */
struct rule_use {
    const struct rule *rule;      /* NULL: the rule is new, and so far a candidate only */
    const struct rule *candidate; /* NULL: no canary */
    uint32_t share_millionths;    /* of the keys, for the candidate */
    uint64_t epoch;               /* another epoch: other keys, so nothing is used (inherit: reset) */
    uint64_t candidate_epoch;     /* likewise of the candidate's keys */
    uint64_t canary;              /* tells canaries apart: with another number its counts begin anew */
};

/*
 * Compiles all rules of `service`, as it shall be after the next commit; count 0: the service goes. Staging a
 * service again replaces what was staged. All uses are of that service, each id once (both versions of a canary have
 * the same id and `by`). False, with a sentence that names the rule: a limit is exceeded, a zone unknown, or
 * memory short; then nothing of this service is staged, and what was staged of others still is.
 */
bool ruleset_stage(struct ruleset *ruleset, struct bytes service, const struct rule_use *uses, size_t count,
                   struct error *error);
/* Puts everything staged into use. Counts of rules that stay, stay. */
void ruleset_commit(struct ruleset *ruleset);
/* Forgets everything staged. */
void ruleset_abandon(struct ruleset *ruleset);

/* Stage and commit of one service; nothing else may be staged. */
bool ruleset_compile_service(struct ruleset *ruleset, struct bytes service, const struct rule_use *uses,
                             size_t count, struct error *error);

/*
 * Adaptive rules of the service from now on let through scale / RULE_SCALE_ONE of what they say, yet no less than
 * their own floor. Kept when the service is compiled again. True if anything changed; false also when a limit
 * cannot be interned: that amount stays as it was.
 */
bool ruleset_set_scale(struct ruleset *ruleset, struct bytes service, uint32_t scale);

/* The least target for latency samples among the service's adaptive rules; 0: none has one. */
uint64_t ruleset_latency_target_ns(const struct ruleset *ruleset, struct bytes service);

/* Every index of the limit set that a rule (in use or staged) or a named limit refers to, some more than once. */
void ruleset_visit_limits(const struct ruleset *ruleset, void (*visit)(void *context, uint16_t limit),
                          void *context);

/* ---- looking at it ---- */

/* One version of a rule, as far as replies and reports show it. */
struct ruled_version {
    struct bytes endpoint; /* the pattern */
    struct bytes by;       /* "api_key,user" */
    enum rule_algorithm algorithm;
    enum rule_mode mode;
    bool adaptive;
};

struct rule_counts {
    uint64_t allowed, denied; /* decisions of this rule alone, whatever others said */
    uint64_t shadow_denied;   /* what it would have denied */
    /* Since its canary began, of both versions; shadow denials count as denials. */
    uint64_t canary_allowed, canary_denied, stable_allowed, stable_denied;
};

/* What one thread has counted of a rule: one line of memory. */
struct rule_tally {
    _Alignas(64) struct rule_counts counts;
    bool has_canary; /* the rule, at present */
};

/* A rule in use. Views and pointers are good until the next commit. */
struct ruled {
    const struct ruled_version *candidate; /* NULL: no canary */
    const struct ruled_version *stable;    /* NULL: there is only a candidate */
    struct rule_tally *tally;              /* the first thread's; see ruled_counts */
    uint32_t lanes, tally_stride;          /* so many threads have one, each so far behind the one before */
    struct bytes service, id;              /* service "": a limit of the config */
    uint32_t share_millionths;
    uint64_t epoch, candidate_epoch;
};

/* What all threads have counted. */
struct rule_counts ruled_counts(const struct ruled *rule);

struct ruled_service {
    struct bytes name;
    uint16_t tenant; /* its keys': 1 and up */
    uint32_t rule_count;
    uint32_t scale; /* of its adaptive rules, in 1/RULE_SCALE_ONE */
    bool adaptive;  /* has such rules */
};

void ruleset_visit_services(const struct ruleset *ruleset,
                            void (*visit)(void *context, const struct ruled_service *service), void *context);
/* The rules of one service, sorted by id; none if it has none. "" are the config's named limits. */
void ruleset_visit_rules(const struct ruleset *ruleset, struct bytes service,
                         void (*visit)(void *context, const struct ruled *rule), void *context);
/* The limits of all amounts by which a request may be denied, the config's first; those of one rule in a row. */
void ruleset_visit_amounts(const struct ruleset *ruleset,
                           void (*visit)(void *context, const struct ruled *rule, uint16_t limit), void *context);
/* NULL if there is no such rule. */
const struct ruled *ruleset_find(const struct ruleset *ruleset, struct bytes service, struct bytes id);

/* Whether it has rules that are in use. */
bool ruleset_has_service(const struct ruleset *ruleset, struct bytes service);

struct ruleset_stats {
    uint32_t services, rules;
    uint32_t windows; /* different kinds of windows in use */
    uint64_t bytes;
};
void ruleset_stats(const struct ruleset *ruleset, struct ruleset_stats *stats);

#endif
