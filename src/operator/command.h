/*
 * command: what the subcommands of `headgate` share: where the daemon is, how to print, how to fail.
 *
 * Each subcommand is a function from its words to an exit status of sysexits(3); check and peek exit with
 * 0 for allowed and 1 for refused, so that a shell can ask.
 */
#ifndef HEADGATE_OPERATOR_COMMAND_H
#define HEADGATE_OPERATOR_COMMAND_H

#include "base/units.h"
#include "headgate/client.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    COMMAND_WORDS_MAX = 16,
    COMMAND_TIMEOUT_MS = 2000, /* --timeout, unless it is given */
};

/* What was asked on the command line; the strings are argv's. */
struct invocation {
    const char *name;                                 /* of the subcommand */
    const char *at;                                   /* "host:port" */
    const char *rule;                                 /* NULL: all that match */
    const char *service, *endpoint, *tier, *priority; /* NULL: not given */
    uint64_t cost;                                    /* tokens */
    uint32_t timeout_ms;
    bool json;
    const char *word[COMMAND_WORDS_MAX];
    uint32_t word_count;
};

int command_check(const struct invocation *invocation);
int command_peek(const struct invocation *invocation);
int command_explain(const struct invocation *invocation);
int command_nodes(const struct invocation *invocation);
int command_info(const struct invocation *invocation);
int command_forget(const struct invocation *invocation);

/* `headgate load`: argv holds what follows the word load. See load.h. */
int command_load(int argc, char **argv, const char *at);

/* `headgate rules`: likewise. See rules.h. */
int command_rules(int argc, char **argv, const char *at);

/* Connects, and gives the password of the environment (HEADGATE_PASSWORD) if there is one. NULL: told, see *status. */
struct headgate_client *command_connect(const char *name, const char *at, uint32_t timeout_ms, int *status);

/* Tells on stderr why the last call of the client failed, and returns the exit status that fits. */
int command_failed(const char *name, const struct headgate_client *client, enum headgate_client_status status);
/* The same of a reply that is none of a daemon's. */
int command_unexpected(const char *name, const char *at);

/* All of a subcommand that asks once: prints a reply of that kind. An exit status; not 0: told on stderr. */
int command_exchange(const struct invocation *invocation, const char *const *words, size_t count,
                     enum headgate_reply_kind expected,
                     void (*print)(const struct invocation *, const struct headgate_reply *));

/* The value of that name in a map (an array of names and values), or NULL; 0 and "" where there is none. */
const struct headgate_reply *command_member(const struct headgate_reply *map, const char *name);
int64_t command_member_integer(const struct headgate_reply *map, const char *name);
const char *command_member_text(const struct headgate_reply *map, const char *name);

/* A time as people read it; what is below 0 as 0. Returns `out`. */
const char *command_duration(char out[UNITS_TEXT_BYTES], int64_t ms);

#endif
