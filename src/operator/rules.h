/*
 * rules: the rules of all services, as an operator handles them: apply, diff, list, get, delete, history,
 * rollback.
 *
 * The one idea: files are read and checked here, so that a mistake is told with the operator's own file and line
 * before anybody is asked; what goes to the daemon is their one canonical text.
 */
#ifndef HEADGATE_OPERATOR_RULES_H
#define HEADGATE_OPERATOR_RULES_H

#include "headgate/client.h"
#include "rules/rule_text.h"

#include <stdbool.h>
#include <stdint.h>

enum { RULES_WORDS_MAX = 64 };

/* What was asked on the command line; the strings are argv's. */
struct rules_invocation {
    const char *name; /* "rules apply", for sentences */
    const char *at;
    uint32_t timeout_ms;
    const char *canary, *watch, *threshold, *note, *to; /* NULL: not given */
    bool json, text;
    const char *word[RULES_WORDS_MAX];
    uint32_t word_count;
    struct headgate_client *client; /* connected when the first request is made */
};

/* "service/id", or "id" of the service `default`. */
struct rules_name {
    char service[RULE_NAME_MAX_BYTES + 1], id[RULE_NAME_MAX_BYTES + 1];
};

/* One request. EX_OK with *reply, of that kind (or nil, where `or_nil`); else a status, told. */
int rules_ask(struct rules_invocation *invocation, size_t count, const char *const *words, const size_t *sizes,
              enum headgate_reply_kind expected, bool or_nil, const struct headgate_reply **reply);
/* EX_OK, or EX_USAGE, told. */
int rules_read_name(const struct rules_invocation *invocation, const char *word, struct rules_name *name);
/* All files of the words, into one list that the caller closes; EX_OK, or a status, told. "-" is stdin. */
int rules_read_files(const struct rules_invocation *invocation, struct rule_list *list);

/* All return an exit status. */
int rules_apply(struct rules_invocation *invocation);
int rules_diff(struct rules_invocation *invocation);
int rules_list(struct rules_invocation *invocation);
int rules_get(struct rules_invocation *invocation);
int rules_delete(struct rules_invocation *invocation);
int rules_history(struct rules_invocation *invocation);
int rules_rollback(struct rules_invocation *invocation);

#endif
