/*
 * ruleset: all rules of all services, compiled so that a request finds its rules at once.
 *
 * The one idea: everything that can be known before a request comes is computed when a rule changes: for
 * each endpoint pattern a plan with the few rules that may apply, for each rule its limits, lists and
 * salt. A service is compiled beside the one in use and replaces it at once (stage, commit). match.h
 * looks up. Each rule has counts for each thread: ruleset_note adds to them, ruled_counts sums them.
 *
 * Copies what it needs of the rules; has no clock and no I/O. Several threads may match and note at once,
 * each under its own number (request.thread). All other functions must run while no other thread does.
 */
#ifndef HEADGATE_RULES_RULESET_H
#define HEADGATE_RULES_RULESET_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/hash.h"
#include "limit/charge.h"
#include "limit/limit_span.h"
#include "rules/rule.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct limit_terms;
struct ruleset;

enum {
    RULESET_SERVICES_MAX = 65534,
    RULESET_NAMED_MAX = 64,
    RULESET_THREADS_MAX = 64,
    SERVICE_RULES_MAX = 10000,
    SERVICE_DIMENSIONS_MAX = 32,      /* different dimensions and named costs in the rules of one service */
    SERVICE_COSTS_MAX = 8,            /* different named costs in the rules of one service */
    SERVICE_TIERS_MAX = 64,           /* different tiers in the rules of one service */
    ENDPOINT_RULES_MAX = CHARGES_MAX, /* rules that may apply to one request */
};

/* A limit of the config. It counts where the service "default" has no rule for a request. */
struct ruleset_named {
    struct bytes name;
    uint32_t id;          /* of the name; gives the salt of its keys */
    uint16_t limit;       /* index in the limit set; the caller interned it */
    uint16_t patience_ms; /* as of a rule */
    uint64_t capacity;
};

struct ruleset_options {
    const struct hash_key *hash_key;   /* copied */
    uint32_t services_max;             /* services that have a rule, 1..RULESET_SERVICES_MAX */
    uint32_t rules_max;                /* rules of all services together */
    uint32_t service_rules_max;        /* 1..SERVICE_RULES_MAX */
    const struct ruleset_named *named; /* copied; named_count <= RULESET_NAMED_MAX */
    uint32_t named_count;
    uint32_t named_by_default; /* an index into `named`; unused if named_count is 0 */
    /* True: nothing limits a service without rules; false: it gives MATCH_UNKNOWN_SERVICE. */
    bool unknown_service_open;
    /* Of rules whose home is by_key; it outlives the ruleset. NULL: their keys have none. */
    const struct homes *homes;
    uint32_t threads; /* threads that match at the same time, at most RULESET_THREADS_MAX; 0 counts as 1 */
    /* Returns the index of these terms in the limit set, or -1 with a sentence. */
    int (*intern)(void *context, const struct limit_terms *terms, struct error *error);
    /* A rule has limits in that span, this one among them, and keys go to and fro. NULL: nobody needs to know. */
    void (*note_span)(void *context, uint16_t limit, const struct limit_span *span);
    /* A rule has that limit from now on; keys that had another one of the rule go over to it so. NULL: as note_span. */
    void (*note_inherit)(void *context, uint16_t limit, uint8_t inherit); /* enum bucket_inherit */
    /*
     * Called with the weights of a rule before its terms are interned. False, with a sentence: there are too many.
     * NULL: nobody needs to know them.
     */
    bool (*note_weights)(void *context, const struct limit_weight *weights, uint32_t count, struct error *error);
    void *context;
};

/* NULL: memory is short. */
struct ruleset *ruleset_create(const struct ruleset_options *options);
void ruleset_destroy(struct ruleset **ruleset);

/* ---- changes ---- */

/* One rule for compilation. During a canary, `candidate` applies to a share of the keys and `rule`
 * to the others. */
struct rule_use {
    const struct rule *rule;      /* NULL: the rule is new and so far only a candidate */
    const struct rule *candidate; /* NULL: no canary */
    uint32_t share_millionths;    /* the candidate's share of the keys */
    uint64_t epoch;               /* a new epoch gives new keys, of which nothing is used (inherit: reset) */
    uint64_t candidate_epoch;     /* the epoch of the candidate's keys */
    uint64_t canary;              /* the canary's number; the counts of a canary with a new number begin at 0 */
};

/*
 * Compiles all rules of `service` as they will be after the next commit; count 0 removes the
 * service. Staging a service again replaces what was staged for it. All uses must belong to that
 * service and have distinct ids; both versions of a canary must have the same id and `by`. On
 * failure returns false with a sentence that names the rule (a limit is exceeded, a zone is
 * unknown, or memory is short). Then nothing of this service is staged; other staged services stay
 * staged.
 */
bool ruleset_stage(struct ruleset *ruleset, struct bytes service, const struct rule_use *uses, size_t count,
                   struct error *error);
/*
 * Rules of a service may refer to each other (`replaces`). What refers to no rule of the service, or is part of a
 * circle, is left out; so rules fit together in whatever order peers hear of them.
 */
enum ruleset_doubt {
    RULESET_SOUND,   /* nothing is left out, or no more than before */
    RULESET_DANGLES, /* a rule refers to a rule that is not there */
    RULESET_CIRCLE,  /* rules replace each other in a circle */
};
/*
 * Holds what is staged for the service against what is in use; if nothing is staged, says what is left out of what is
 * in use. Fills the sentence unless it is sound.
 */
enum ruleset_doubt ruleset_find_doubt(const struct ruleset *ruleset, struct bytes service, struct error *error);
/* Puts all staged services into use. Rules that stay keep their counts. */
void ruleset_commit(struct ruleset *ruleset);
/* Drops all staged services. */
void ruleset_abandon(struct ruleset *ruleset);

/* Stages and commits one service; nothing else may be staged. */
bool ruleset_compile_service(struct ruleset *ruleset, struct bytes service, const struct rule_use *uses,
                             size_t count, struct error *error);

/*
 * Puts these limits of the config into use, in the place of all that were. One that keeps its name keeps its keys and
 * its counts. False: memory is short, and nothing has changed.
 */
bool ruleset_set_named(struct ruleset *ruleset, const struct ruleset_named *named, uint32_t count,
                       uint32_t by_default);

/*
 * Scales the amounts of the service's adaptive rules to scale / RULE_SCALE_ONE, but not below a
 * rule's own floor. The scale stays in force when the service is compiled again. Returns true if an
 * amount changed. An amount whose limit cannot be interned stays unchanged.
 */
bool ruleset_set_scale(struct ruleset *ruleset, struct bytes service, uint32_t scale);

/* The smallest latency target of the service's adaptive rules; 0: none has a target. */
uint64_t ruleset_latency_target_ns(const struct ruleset *ruleset, struct bytes service);

/* Visits the index of every limit that a rule (in use or staged) or a named limit refers to; an
 * index may come more than once. */
void ruleset_visit_limits(const struct ruleset *ruleset, void (*visit)(void *context, uint16_t limit),
                          void *context);

/* ---- queries ---- */

/* One version of a rule, as replies and reports show it. */
struct ruled_version {
    struct bytes endpoint; /* the pattern */
    struct bytes by;       /* "api_key,user" */
    struct bytes counts;   /* the named cost; "": requests */
    struct bytes home;     /* as in struct rule */
    struct bytes weights;  /* "us-east 0.9, eu-west 0.1"; "": as the cluster's weights say */
    enum rule_algorithm algorithm;
    enum rule_mode mode;
    bool adaptive;
    bool central;    /* a central store decides, and no share of a daemon */
    bool from_first; /* its windows begin with the first request */
    bool sheet;      /* it only holds overrides of another rule, and never counts anything */
};

struct rule_counts {
    uint64_t allowed, denied; /* decisions of this rule, whatever other rules decided */
    uint64_t shadow_denied;   /* requests that a shadow rule would have denied */
    uint64_t over_limit;      /* requests that a soft rule would have denied */
    /* Decisions of both versions since the canary began; what a shadow or soft rule would have denied is denied. */
    uint64_t canary_allowed, canary_denied, stable_allowed, stable_denied;
};

/* One thread's counts of a rule. The alignment gives each thread a cache line of its own. */
struct rule_counter {
    _Alignas(64) struct rule_counts counts;
};
_Static_assert(sizeof(struct rule_counter) == 64, "a further count costs each rule a second line for each thread");

/* A rule in use. Views and pointers are valid until the next commit. */
struct ruled {
    const struct ruled_version *candidate; /* NULL: no canary */
    const struct ruled_version *stable;    /* NULL: the rule has only a candidate */
    struct rule_counter *counter;          /* the first thread's counter; see ruled_counts */
    /* The number of threads, and the distance from one thread's counter to the next thread's. */
    uint32_t threads, counter_stride;
    struct bytes service, id; /* service "" marks a limit of the config */
    uint32_t share_millionths;
    uint64_t epoch, candidate_epoch;
};

/* Such a rule has no counts, and no trial. */
static inline bool ruled_is_sheet(const struct ruled *rule)
{
    return rule->stable && rule->stable->sheet;
}

/* The sum of all threads' counts. Threads may count meanwhile: see base/metric.h. */
struct rule_counts ruled_counts(const struct ruled *rule);

struct ruled_service {
    struct bytes name;
    uint16_t tenant; /* the number of the service in its keys, from 1 */
    uint32_t rule_count;
    uint32_t scale; /* the scale of its adaptive rules, in 1/RULE_SCALE_ONE */
    bool adaptive;  /* the service has adaptive rules */
};

void ruleset_visit_services(const struct ruleset *ruleset,
                            void (*visit)(void *context, const struct ruled_service *service), void *context);
/* Visits the rules of one service, sorted by id; the service "" has the named limits of the config. */
void ruleset_visit_rules(const struct ruleset *ruleset, struct bytes service,
                         void (*visit)(void *context, const struct ruled *rule), void *context);
/* Visits the limits of all amounts that may deny a request, the config's first; the limits of one
 * rule come in a row. */
void ruleset_visit_amounts(const struct ruleset *ruleset,
                           void (*visit)(void *context, const struct ruled *rule, uint16_t limit), void *context);
/* The limit of the config's named limit of that number, of `named_count`. */
uint16_t ruleset_named_limit(const struct ruleset *ruleset, uint32_t index);
/* NULL: there is no such rule. */
const struct ruled *ruleset_find(const struct ruleset *ruleset, struct bytes service, struct bytes id);

/* True if rules of the service are in use. */
bool ruleset_has_service(const struct ruleset *ruleset, struct bytes service);

struct ruleset_stats {
    uint32_t services, rules;
    uint32_t windows; /* different kinds of windows in use */
    uint64_t bytes;
};
void ruleset_stats(const struct ruleset *ruleset, struct ruleset_stats *stats);

#endif
