/*
 * command: what clients may ask, and how their words become structs.
 *
 * The one idea: the commands are one table. The dispatcher, COMMAND and its kin, errors about syntax and the
 * documentation all read it, so that they cannot drift apart. Pure; nothing is executed here.
 *
 *     id := [dimension "="] value      a word without "=" means user=
 */
#ifndef HEADGATE_WIRE_COMMAND_H
#define HEADGATE_WIRE_COMMAND_H

#include "base/bytes.h"
#include "wire/resp.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    COMMAND_DIMENSION_MAX_BYTES = 32,
    COMMAND_VALUE_MAX_BYTES = 256,
    COMMAND_ERROR_BYTES = 256,
};

#define COMMAND_COST_MAX 1000000000000u

/* Flags, as client libraries know them. */
enum {
    COMMAND_WRITE = 1 << 0,   /* takes tokens, or changes something */
    COMMAND_READ = 1 << 1,    /* takes nothing */
    COMMAND_FAST = 1 << 2,    /* bounded work, whatever the cluster's size */
    COMMAND_NO_AUTH = 1 << 3, /* answered before a password was given */
    COMMAND_ADMIN = 1 << 4,
    COMMAND_KEY = 1 << 5, /* the first argument names what is limited */
};

/*
 * X(IDENTIFIER, "name", arity, flags, "group", "syntax of the arguments", "summary")
 * Arity counts the name; a negative one is the least.
 */
#define COMMANDS(X)                                                                                                \
    X(CAN_ACCESS, "can_access", -2, COMMAND_WRITE | COMMAND_FAST | COMMAND_KEY, "limits", "key [cost]",            \
      "Takes cost tokens (1) of the default limit for user=key: 1 if it was allowed, 0 if not.")                   \
    X(CHECK, "check", -2, COMMAND_WRITE | COMMAND_FAST | COMMAND_KEY, "limits", "id [COST n] [RULE name]",         \
      "Takes tokens: allowed, limit, remaining, retry_after_ms (-1: never), reset_after_ms, rule.")                \
    X(PEEK, "peek", -2, COMMAND_READ | COMMAND_FAST | COMMAND_KEY, "limits", "id [COST n] [RULE name]",            \
      "What CHECK would answer; takes nothing.")                                                                   \
    X(EXPLAIN, "explain", -2, COMMAND_READ | COMMAND_KEY, "limits", "id [RULE name]",                              \
      "Why a key is allowed or refused here, for people.")                                                         \
    X(PING, "ping", -1, COMMAND_FAST, "connection", "[message]", "PONG, or the message.")                          \
    X(ECHO, "echo", 2, COMMAND_FAST, "connection", "message", "The message.")                                      \
    X(HELLO, "hello", -1, COMMAND_FAST | COMMAND_NO_AUTH, "connection",                                            \
      "[2|3 [AUTH user password] [SETNAME name]]", "Chooses the protocol's version and says who this is.")         \
    X(AUTH, "auth", -2, COMMAND_FAST | COMMAND_NO_AUTH, "connection", "[user] password",                           \
      "Gives the password; the user is default.")                                                                  \
    X(CLIENT, "client", -2, 0, "connection", "subcommand ...", "About this connection.")                           \
    X(SELECT, "select", 2, COMMAND_FAST, "connection", "0", "There is one database, 0.")                           \
    X(RESET, "reset", 1, COMMAND_FAST | COMMAND_NO_AUTH, "connection", "",                                         \
      "Makes the connection as it was when it was new.")                                                           \
    X(QUIT, "quit", -1, COMMAND_FAST | COMMAND_NO_AUTH, "connection", "", "Says OK and closes.")                   \
    X(COMMAND, "command", -1, COMMAND_READ, "server", "[subcommand ...]", "All commands, for client libraries.")   \
    X(INFO, "info", -1, COMMAND_READ, "server", "[section ...]",                                                   \
      "Figures: server, clients, limits, table, cluster, stats.")                                                  \
    X(CONFIG, "config", -2, COMMAND_ADMIN, "server", "subcommand ...", "Only what client tools ask for.")          \
    X(NODES, "nodes", 1, COMMAND_READ, "cluster", "", "The peers of the cluster as maps.")                         \
    X(CLUSTER, "cluster", -2, COMMAND_READ, "cluster", "subcommand ...", "The peers of the cluster.")              \
    X(FORGET, "forget", 2, COMMAND_WRITE | COMMAND_ADMIN, "cluster", "node",                                       \
      "Declares a peer gone for good, so that others may have its share.")                                         \
    X(DEBUG, "debug", -2, COMMAND_ADMIN, "server", "subcommand ...",                                               \
      "Breaks links, to show partitions; only where the config says debug: true.")

/* X(PARENT, IDENTIFIER, "name", arity with both names, "syntax of the arguments", "summary") */
#define SUBCOMMANDS(X)                                                                                             \
    X(CLIENT, CLIENT_SETNAME, "setname", 3, "name", "Names this connection.")                                      \
    X(CLIENT, CLIENT_GETNAME, "getname", 2, "", "The name of this connection.")                                    \
    X(CLIENT, CLIENT_SETINFO, "setinfo", 4, "LIB-NAME name | LIB-VER version", "Notes the client's library.")      \
    X(CLIENT, CLIENT_ID, "id", 2, "", "The number of this connection.")                                            \
    X(CLIENT, CLIENT_INFO, "info", 2, "", "One line about this connection.")                                       \
    X(CLIENT, CLIENT_LIST, "list", -2, "", "As INFO: a client sees itself only.")                                  \
    X(CLIENT, CLIENT_NO_EVICT, "no-evict", 3, "ON|OFF", "Accepted: no connection is ever evicted.")                \
    X(CLIENT, CLIENT_NO_TOUCH, "no-touch", 3, "ON|OFF", "Accepted, and without effect.")                           \
    X(CLIENT, CLIENT_REPLY, "reply", 3, "ON", "Accepted: every command is answered.")                              \
    X(COMMAND, COMMAND_COUNT, "count", 2, "", "How many commands there are.")                                      \
    X(COMMAND, COMMAND_DOCS, "docs", -2, "[name ...]", "Summary and syntax of commands.")                          \
    X(COMMAND, COMMAND_INFO, "info", -2, "[name ...]", "Arity and flags of commands.")                             \
    X(COMMAND, COMMAND_LIST, "list", 2, "", "The names of all commands.")                                          \
    X(CONFIG, CONFIG_GET, "get", -3, "name ...", "Empty, but for what redis-benchmark asks.")                      \
    X(CLUSTER, CLUSTER_NODES, "nodes", 2, "", "One line per peer.")                                                \
    X(DEBUG, DEBUG_DROP, "drop", -3, "peer [in|out|both]", "Drops what comes from or goes to a peer.")             \
    X(DEBUG, DEBUG_HEAL, "heal", -2, "[peer]", "Drops nothing of that peer, or of any, any more.")

enum command_id {
#define X(id, ...) COMMAND_##id,
    COMMANDS(X)
#undef X
        COMMAND_ID_COUNT,
};

enum subcommand_id {
#define X(parent, id, ...) SUBCOMMAND_##id,
    SUBCOMMANDS(X)
#undef X
        SUBCOMMAND_ID_COUNT,
};

struct command_spec {
    const char *name; /* lower case, as client libraries list it */
    size_t name_size;
    int arity;
    unsigned flags;
    const char *group, *syntax, *summary;
};

struct subcommand_spec {
    enum command_id parent;
    struct command_spec spec;
};

/* By id. */
extern const struct command_spec command_table[COMMAND_ID_COUNT];
extern const struct subcommand_spec subcommand_table[SUBCOMMAND_ID_COUNT];

/* The command or the parent's subcommand of that name, in any case; the COUNT when there is none. */
enum command_id command_find(struct bytes name);
enum subcommand_id subcommand_find(enum command_id parent, struct bytes name);

static inline bool command_arity_fits(int arity, uint32_t count)
{
    return arity >= 0 ? count == (uint32_t)arity : count >= (uint32_t)-arity;
}

/* Equal but for the case of ASCII letters; `lower` is in lower case. */
bool word_is(struct bytes word, const char *lower);

/* A decimal number without sign, up to `max`. */
bool word_number(struct bytes word, uint64_t max, uint64_t *number);

struct command_id_words {
    struct bytes dimension, value; /* within their limits, not empty */
};

struct command_check {
    struct command_id_words id;
    uint64_t cost;     /* 1 unless said otherwise */
    struct bytes rule; /* empty: the default */
};

/* CAN_ACCESS, arity checked. False, with a sentence for the client in `error` (COMMAND_ERROR_BYTES). */
bool command_parse_can_access(const struct resp_command *command, struct bytes *key, uint64_t *cost, char *error);
/* CHECK, PEEK and EXPLAIN (without COST), arity checked. As above. */
bool command_parse_check(const struct resp_command *command, bool takes_cost, struct command_check *check,
                         char *error);

#endif
