/*
 * node_rules: what an operator's change of rules says, and what became of it; and the health of a
 * service.
 *
 * The one idea: a change is a whole: it names what it sets, what it ends, and in which state it must
 * find the rules. The plane (cluster/plane/) carries it out.
 */
#ifndef HEADGATE_CLUSTER_NODE_RULES_H
#define HEADGATE_CLUSTER_NODE_RULES_H

#include "base/bytes.h"
#include "base/error.h"
#include "rules/rulebook.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state in which a change must find the rules when its turn comes. */
enum rules_condition {
    RULES_IF_ANY,
    RULES_IF_ABSENT,  /* the rule `name` is not in force */
    RULES_IF_PRESENT, /* it is */
    RULES_IF_VERSION, /* the newest version of the rule `name` is in force and has this `stamp` */
    RULES_IF_BOOK,    /* the rulebook has this `digest` */
};
struct rules_expectation {
    enum rules_condition condition;
    struct rule_name name;
    struct rule_stamp stamp;
    uint64_t digest;
};

/* A change of rules. It is applied as a whole or not at all, and needs no other peer. */
struct rule_changes {
    struct bytes text;               /* rules to set, a document (rule_text.h); "": none */
    const char *file;                /* the name of the text in errors */
    const struct rule_name *deleted; /* rules to end */
    size_t deleted_count;
    struct bytes author;           /* who makes the change, for the history; "": this node */
    struct bytes note;             /* why, for the history */
    uint32_t share_millionths;     /* a canary: part of the keys; 0: all. Deleted rules: 0 */
    uint64_t watch_ms;             /* a canary: becomes general after this; 0: never by itself */
    uint32_t threshold_millionths; /* a canary: how much the denial rate may rise */
    struct rules_expectation expects;
    bool prune;   /* rules of the services that `text` names end, if it does not name them */
    bool dry_run; /* everything is checked, and nothing changes: the result says what would */
};

/*
 * A rule that is already as asked for, and is not in a canary, stays as it is and does not count as
 * changed.
 */
struct rules_result {
    bool asked;   /* by an EVENT_RULES; an EVENT_HEALTH sets only `refused` and `error` */
    bool in_work; /* no result yet: ask node_rules_result with this ticket */
    bool refused; /* nothing changed: `error` says which field of which rule, and why */
    bool unmet;   /* refused: the rules were not as `expects` says */
    uint64_t ticket;
    struct error error;
    size_t changed_rules, unchanged_rules;
    size_t created_rules;    /* of the changed ones: those that were not in force, */
    size_t removed_rules;    /* and those that ended */
    size_t warnings;         /* of changed rules: one admits nothing at some daemon, or was given a home */
    struct error warning;    /* names the first of them and what to write instead */
    struct rule_stamp stamp; /* of the change; 0 if nothing changed */
    /* Of the newest version, after the change, of the rule that was read or ended last. */
    struct rule_stamp newest;
};

/*
 * The health of a service: a number, or the latencies of its answers. All peers scale the service's
 * adaptive rules by it.
 */
struct health_report {
    struct bytes service;
    uint32_t health_millionths; /* without samples: 1,000,000 is healthy */
    const uint64_t *latency_ns; /* samples, oldest first */
    size_t latency_count;
};

#endif
