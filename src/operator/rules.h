/*
 * rules: what an operator does with the rules of all services: check, lint, test, apply, diff, export, list, get,
 * delete, history, rollback.
 *
 * The one idea: files are read and checked here, so that a sentence about a mistake names the
 * operator's own file and line before a request is sent. The daemon gets the canonical text of the
 * rules.
 */
#ifndef HEADGATE_OPERATOR_RULES_H
#define HEADGATE_OPERATOR_RULES_H

#include "headgate/client.h"
#include "operator/command.h"
#include "rules/rule_text.h"

#include <stdbool.h>
#include <stdint.h>

enum { RULES_WORDS_MAX = 64, RULES_DAEMONS_MAX = 64, RULES_DAEMONS = 3 };

/* The command line of an action; the strings are argv's. */
struct rules_invocation {
    const char *name; /* for sentences: "rules apply" */
    const char *at;
    uint32_t timeout_ms;
    struct command_access access;
    const char *canary, *watch, *threshold, *note, *to, *config; /* NULL: not given */
    uint32_t daemons; /* that share the limits; RULES_DAEMONS unless given */
    bool json, text, prune, end_overrides;
    const char *const *word;
    uint32_t word_count;
    struct headgate_client *client; /* connects at the first request */
};

/* "service/id", or "id" for the service "default". */
struct rules_name {
    char service[RULE_NAME_MAX_BYTES + 1], id[RULE_NAME_MAX_BYTES + 1];
    double trial_percent; /* of the keys, that have the newest version; 0: it counts for all */
};

/* Sends one request. EX_OK: *reply has the kind `expected`, or is nil if `or_nil`. Other statuses
 * were explained on stderr. */
int rules_ask(struct rules_invocation *invocation, size_t count, const char *const *words, const size_t *sizes,
              enum headgate_reply_kind expected, bool or_nil, const struct headgate_reply **reply);
/* Returns EX_OK, or EX_USAGE after a sentence on stderr. */
int rules_read_name(const struct rules_invocation *invocation, const char *word, struct rules_name *name);
/* Reads all files of the words into one list, which the caller must close; "-" is stdin. Returns
 * EX_OK, or a status that was explained on stderr. */
int rules_read_files(const struct rules_invocation *invocation, struct rule_list *list);

struct rules_names {
    size_t count, room;
    struct rules_name *name; /* in the order of service and id; the caller frees it */
};
/* Appends the names of the rules in force that the list does not name, of the services of its rules. */
int rules_find_others(struct rules_invocation *invocation, const struct rule_list *list, struct rules_names *names);
/* Appends those of these that are on trial, and are among the rules of the list. */
int rules_find_trials(struct rules_invocation *invocation, const struct rule_list *list, struct rules_names *names);
/* Asks for one rule and puts it at the end of the list, which has room. A rule that has ended meanwhile is left out. */
int rules_fetch(struct rules_invocation *invocation, const struct rules_name *name, struct rule_list *list);

/* All actions return an exit status. */
int rules_check(struct rules_invocation *invocation);
int rules_test(struct rules_invocation *invocation);
int rules_lint(struct rules_invocation *invocation);
int rules_apply(struct rules_invocation *invocation);
int rules_export(struct rules_invocation *invocation);
int rules_diff(struct rules_invocation *invocation);
int rules_list(struct rules_invocation *invocation);
int rules_get(struct rules_invocation *invocation);
int rules_delete(struct rules_invocation *invocation);
int rules_history(struct rules_invocation *invocation);
int rules_rollback(struct rules_invocation *invocation);

#endif
