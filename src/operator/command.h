/*
 * command: the parts that all subcommands of `headgate` share: finding the daemon, printing,
 * failing.
 *
 * The one idea: each subcommand is a function from its words to an exit status of sysexits(3).
 * check and peek exit with 0 for allowed and 1 for refused, so that a shell can ask.
 */
#ifndef HEADGATE_OPERATOR_COMMAND_H
#define HEADGATE_OPERATOR_COMMAND_H

#include "base/units.h"
#include "headgate/client.h"

#include <stdbool.h>
#include <stdint.h>

/* Of INFO, as people are told. */
#define COMMAND_INFO_SECTIONS                                                                                      \
    "server, clients, limits, rules, table, cluster, stats, transport, store, central, memory, keyspace, "         \
    "refusals, decisions, latency, replication"

enum {
    COMMAND_WORDS_MAX = 33,                                 /* set, and a weight for each region */
    COMMAND_TIMEOUT_MS = 2000,                              /* the default of --timeout */
    COMMAND_REQUEST_WORDS_MAX = 1 + COMMAND_WORDS_MAX + 12, /* ids, and six options with their values */
};

/* How a daemon is reached, and who asks; the strings are argv's. All zero: in clear, and nobody by name. */
struct command_access {
    bool tls;
    const char *ca, *certificate, *key; /* files; NULL: not given */
    const char *user;                   /* NULL: not given */
};

/* The indices of these options in a command's table, and their rows there. */
#define COMMAND_ACCESS_INDICES USER, TLS, CACERT, CERT, KEY
#define COMMAND_ACCESS_OPTIONS                                                                                     \
    [USER] = {"user", "name", "who asks; the secret is $HEADGATE_PASSWORD"},                                       \
    [TLS] = {"tls", NULL, "asks over TLS"},                                                                        \
    [CACERT] = {"cacert", "file", "... of a daemon that these authorities sign; default: those of the system"},    \
    [CERT] = {"cert", "file", "... with this certificate, where the daemon wants one"},                            \
    [KEY] = {"key", "file", "... and its key"}

/* The command line of a subcommand; the strings are argv's. */
struct invocation {
    const char *name;                                 /* the subcommand's name */
    const char *at;                                   /* "host:port" */
    const char *rule;                                 /* NULL: all rules that match */
    const char *service, *endpoint, *tier, *priority; /* NULL: not given */
    uint64_t cost;                                    /* tokens */
    uint32_t timeout_ms;
    struct command_access access;
    bool json;
    const char *const *word;
    uint32_t word_count;
};

int command_check(const struct invocation *invocation);
int command_peek(const struct invocation *invocation);
int command_explain(const struct invocation *invocation);
int command_nodes(const struct invocation *invocation);
int command_info(const struct invocation *invocation);
int command_hot(const struct invocation *invocation);
int command_fingerprint(const struct invocation *invocation);
int command_top(const struct invocation *invocation);
int command_forget(const struct invocation *invocation);
int command_key(const struct invocation *invocation);
int command_weights(const struct invocation *invocation);
int command_reload(const struct invocation *invocation);
int command_hash_password(const struct invocation *invocation);

/* Runs `headgate load`; argv holds the words behind "load". See load.h. */
int command_load(int argc, char **argv, const char *at);

/* Runs `headgate certs`; argv holds the words behind "certs". It asks no daemon. */
int command_certs(int argc, char **argv);

/* Runs `headgate rules`; argv holds the words behind "rules". See rules.h. */
int command_rules(int argc, char **argv, const char *at);

/* Takes the values of COMMAND_ACCESS_OPTIONS, in this order; NULL: not given. */
struct command_access command_access_of(const char *const *values);
/* True: the options fit together. False: stderr says which does not; `key` is how the option of the key is called. */
bool command_access_fits(const char *name, const struct command_access *access, const char *key);

/* Connects, and authenticates with the password in HEADGATE_PASSWORD if there is one. NULL: the
 * mistake is on stderr and the exit status in *status. */
struct headgate_client *command_connect(const char *name, const char *at, uint32_t timeout_ms,
                                        const struct command_access *access, int *status);

/* Writes to stderr why the client's last call failed; returns the fitting exit status. */
int command_failed(const char *name, const struct headgate_client *client, enum headgate_client_status status);
/* Says that there is too little memory; returns the exit status. */
int command_no_memory(const char *name);
/* As command_failed, for a reply that no daemon gives. */
int command_unexpected(const char *name, const char *at);

/* Collects the words of a request: the command, the ids and the options that were given. The cost
 * is left out if `digits` is NULL. */
size_t command_request_words(const struct invocation *invocation, const char *command, const char *digits,
                             const char *words[COMMAND_REQUEST_WORDS_MAX]);

/* Runs a subcommand that asks once: sends `words` and prints a reply of the kind `expected`.
 * Returns an exit status; a status other than 0 was explained on stderr. */
int command_exchange(const struct invocation *invocation, const char *const *words, size_t count,
                     enum headgate_reply_kind expected,
                     void (*print)(const struct invocation *, const struct headgate_reply *));
/* The same, where `check` may find that the reply is of no use: it has said so, and returns the exit status. */
int command_exchange_checked(const struct invocation *invocation, const char *const *words, size_t count,
                             enum headgate_reply_kind expected,
                             int (*check)(const struct invocation *, const struct headgate_reply *),
                             void (*print)(const struct invocation *, const struct headgate_reply *));

/* The value of a name in a map (an array of names and values), or NULL; the other functions give 0
 * and "" if the name is absent. */
const struct headgate_reply *command_member(const struct headgate_reply *map, const char *name);
int64_t command_member_integer(const struct headgate_reply *map, const char *name);
const char *command_member_text(const struct headgate_reply *map, const char *name);

/* A duration as people read it; a negative one counts as 0. Returns `out`. */
const char *command_duration(char out[UNITS_TEXT_BYTES], int64_t ms);

/* --timeout of `headgate NAME`; NULL: not given. False, and stderr says so: it is no duration from 1ms to 1h. */
bool command_take_timeout(const char *name, const char *value, uint32_t *timeout_ms);

#endif
