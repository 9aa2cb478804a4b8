/*
 * command: the commands that clients may send, and the parsing of their words into structs.
 *
 * The one idea: the commands are one table. The dispatcher, COMMAND and its subcommands, syntax
 * errors and the documentation all read that table, so that they cannot drift apart. Pure: this
 * header executes nothing. command_query.h, command_rules.h and command_throttle.h parse the
 * arguments.
 */
#ifndef HEADGATE_WIRE_COMMAND_H
#define HEADGATE_WIRE_COMMAND_H

#include "base/bytes.h"
#include "wire/resp.h"
#include "wire/role.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    COMMAND_DIMENSION_MAX_BYTES = 32,
    COMMAND_VALUE_MAX_BYTES = 256,
    COMMAND_ERROR_BYTES = 320,
};

#define COMMAND_COST_MAX 1000000000000u

/* The options of every command about ids. */
#define COMMAND_SELECTORS "[SERVICE s] [ENDPOINT e] [TIER t] [PRIORITY low|normal|high|critical] [RULE name]"

/* The flags that client libraries know, and three of our own at the end. */
enum {
    COMMAND_WRITE = 1 << 0,   /* takes tokens, or changes something */
    COMMAND_READ = 1 << 1,    /* takes nothing */
    COMMAND_FAST = 1 << 2,    /* bounded work, whatever the cluster's size */
    COMMAND_NO_AUTH = 1 << 3, /* allowed before the client has given a password */
    COMMAND_ADMIN = 1 << 4,
    COMMAND_KEY = 1 << 5,      /* the first argument names a key */
    COMMAND_TOGETHER = 1 << 6, /* may run beside commands of other threads: concerns few keys, or no node */
    COMMAND_QUEUED = 1 << 7,   /* MULTI may queue the command: its answer comes at once and is short */
    COMMAND_AT_ONCE = 1 << 8,  /* MULTI never queues the command: it begins, ends or leaves a transaction */
};

/*
 * X(IDENTIFIER, "name", arity, work, flags, roles, "group", "syntax of the arguments", "summary")
 * The arity counts the name; a negative arity is the least count. Work is the cost of the command
 * apart from its bytes, in units of about a tenth of a microsecond; the listener's options say how
 * many units a turn of the loop has. A client needs one of the roles; 0: whoever has given a secret may.
 */
#define COMMANDS(X)                                                                                                \
    X(CAN_ACCESS, "can_access", -2, 4,                                                                             \
      COMMAND_WRITE | COMMAND_FAST | COMMAND_KEY | COMMAND_TOGETHER | COMMAND_QUEUED, ROLE_CHECK, "limits",        \
      "key [cost] [PATIENCE ms]",                                                                                  \
      "Takes cost tokens (1) of the default limit for user=key: 1 if it was allowed, 0 if not.")                   \
    X(CHECK, "check", -2, 4, COMMAND_WRITE | COMMAND_FAST | COMMAND_KEY | COMMAND_TOGETHER | COMMAND_QUEUED,       \
      ROLE_CHECK, "limits",                                                                                        \
      "id [id ...] " COMMAND_SELECTORS " [COST n] [COST name=n ...] [PATIENCE ms] [DRAIN] [WAIT] [VERBOSE] "       \
      "[IDEMPOTENCY_KEY key]",                                                                                     \
      "Takes tokens of every rule, or of none: allowed, limit, remaining, retry_after_ms, reset_after_ms, rule.")  \
    X(PEEK, "peek", -2, 4, COMMAND_READ | COMMAND_FAST | COMMAND_KEY | COMMAND_TOGETHER | COMMAND_QUEUED,          \
      ROLE_CHECK | ROLE_READ, "limits",                                                                            \
      "id [id ...] " COMMAND_SELECTORS " [COST n] [COST name=n ...] [WAIT] [VERBOSE]",                             \
      "What CHECK would answer; takes nothing.")                                                                   \
    X(REFUND, "refund", -2, 6, COMMAND_WRITE | COMMAND_FAST | COMMAND_KEY | COMMAND_TOGETHER | COMMAND_QUEUED,     \
      ROLE_CHECK, "limits", "id [id ...] " COMMAND_SELECTORS " [COST n] [COST name=n ...]",                        \
      "Gives back tokens that this node admitted itself, once: 0 for those of other nodes, which is not "          \
      "forwarded.")                                                                                                \
    X(RESERVE, "reserve", -4, 8, COMMAND_WRITE | COMMAND_FAST | COMMAND_KEY | COMMAND_TOGETHER | COMMAND_QUEUED,   \
      ROLE_CHECK, "limits", "id [id ...] TTL ms " COMMAND_SELECTORS " [COST n] [COST name=n ...] [PATIENCE ms]",   \
      "Takes tokens until COMMIT, CANCEL or the end of TTL: as CHECK, then the reservation or nil.")               \
    X(COMMIT, "commit", -3, 6, COMMAND_WRITE | COMMAND_FAST | COMMAND_TOGETHER | COMMAND_QUEUED, ROLE_CHECK,       \
      "limits", "reservation cost [name=n ...]", "Says what a reservation cost: the tokens charged in the end.")   \
    X(CANCEL, "cancel", 2, 6, COMMAND_WRITE | COMMAND_FAST | COMMAND_TOGETHER | COMMAND_QUEUED, ROLE_CHECK,        \
      "limits", "reservation", "Gives back all that a reservation holds: 1, or 0 if there is none.")               \
    X(RENEW, "renew", 3, 6, COMMAND_WRITE | COMMAND_FAST | COMMAND_TOGETHER | COMMAND_QUEUED, ROLE_CHECK,          \
      "limits", "reservation ms", "A reservation ends this much after now: 1, or 0 if there is none.")             \
    X(CL_THROTTLE, "cl.throttle", -5, 4,                                                                           \
      COMMAND_WRITE | COMMAND_FAST | COMMAND_KEY | COMMAND_TOGETHER | COMMAND_QUEUED, ROLE_CHECK, "limits",        \
      "key max_burst count period [quantity]",                                                                     \
      "As redis-cell: limited, max_burst + 1, remaining, retry_after s or -1, reset_after s.")                     \
    X(THROTTLE, "throttle", -5, 4, COMMAND_WRITE | COMMAND_FAST | COMMAND_KEY | COMMAND_TOGETHER | COMMAND_QUEUED, \
      ROLE_CHECK, "limits", "key max_burst count period [quantity]",                                               \
      "As throttlecrab: allowed, max_burst, remaining, reset_after s, retry_after s.")                             \
    X(EXPLAIN, "explain", -2, 240, COMMAND_READ | COMMAND_KEY, ROLE_CHECK | ROLE_READ, "limits",                   \
      "id [id ...] " COMMAND_SELECTORS, "Why a request is allowed or refused here, for people.")                   \
    X(HOT, "hot", -1, 400, COMMAND_READ | COMMAND_TOGETHER, ROLE_READ, "limits",                                   \
      "[service [rule]] [COUNT n] [BY refused|asked] [OVER minutes|hours]",                                        \
      "The keys that were refused most, or asked most, at this node: of each rule and tier.")                      \
    X(FINGERPRINT, "fingerprint", -2, 20, COMMAND_READ | COMMAND_KEY | COMMAND_TOGETHER, ROLE_CHECK | ROLE_READ,   \
      "limits", "id [id ...] " COMMAND_SELECTORS,                                                                  \
      "By which HOT and the log of refusals know a key without its name.")                                         \
    X(RULE, "rule", -2, 100, 0, ROLE_READ | ROLE_RULES, "rules", "subcommand ...",                                 \
      "The rules of all services, in every region.")                                                               \
    X(HEALTH, "health", -2, 50, COMMAND_WRITE | COMMAND_FAST, ROLE_CHECK, "rules",                                 \
      "service [0.0..1.0 | LATENCY ms [ms ...]]",                                                                  \
      "How well a service does: its adaptive rules scale with it. Alone: the scale now.")                          \
    X(PING, "ping", -1, 2, COMMAND_FAST | COMMAND_TOGETHER | COMMAND_QUEUED, 0, "connection", "[message]",         \
      "PONG, or the message.")                                                                                     \
    X(ECHO, "echo", 2, 2, COMMAND_FAST | COMMAND_TOGETHER | COMMAND_QUEUED, 0, "connection", "message",            \
      "The message.")                                                                                              \
    X(HELLO, "hello", -1, 10, COMMAND_FAST | COMMAND_NO_AUTH | COMMAND_TOGETHER, 0, "connection",                  \
      "[2|3 [AUTH user password] [SETNAME name]]", "Chooses the protocol's version and says who this is.")         \
    X(AUTH, "auth", -2, 10, COMMAND_FAST | COMMAND_NO_AUTH | COMMAND_TOGETHER, 0, "connection", "[user] password", \
      "Gives the password; the user is default.")                                                                  \
    X(CLIENT, "client", -2, 10, COMMAND_TOGETHER, 0, "connection", "subcommand ...", "About this connection.")     \
    X(SELECT, "select", 2, 2, COMMAND_FAST | COMMAND_TOGETHER | COMMAND_QUEUED, 0, "connection", "0",              \
      "There is one database, 0.")                                                                                 \
    X(RESET, "reset", -1, 6, COMMAND_WRITE | COMMAND_FAST | COMMAND_NO_AUTH | COMMAND_TOGETHER | COMMAND_QUEUED,   \
      ROLE_RULES, "connection", "[id [id ...] " COMMAND_SELECTORS "]",                                             \
      "With ids: makes their keys full, and says how many. Alone: the connection is as new.")                      \
    X(QUIT, "quit", -1, 2, COMMAND_FAST | COMMAND_NO_AUTH | COMMAND_TOGETHER | COMMAND_AT_ONCE, 0, "connection",   \
      "", "Says OK and closes.")                                                                                   \
    X(MULTI, "multi", 1, 2, COMMAND_FAST | COMMAND_TOGETHER | COMMAND_AT_ONCE, 0, "transactions", "",              \
      "Queues the commands that follow, until EXEC or DISCARD.")                                                   \
    X(EXEC, "exec", 1, 2, COMMAND_TOGETHER | COMMAND_AT_ONCE, 0, "transactions", "",                               \
      "Executes what is queued, in order, with nothing of this thread between: an array of the answers.")          \
    X(DISCARD, "discard", 1, 2, COMMAND_FAST | COMMAND_TOGETHER | COMMAND_AT_ONCE, 0, "transactions", "",          \
      "Forgets what is queued.")                                                                                   \
    X(WATCH, "watch", -2, 4, COMMAND_FAST | COMMAND_TOGETHER | COMMAND_AT_ONCE, 0, "transactions",                 \
      "key [key ...]", "Refused: a decision checks and takes in one step.")                                        \
    X(UNWATCH, "unwatch", 1, 2, COMMAND_FAST | COMMAND_TOGETHER | COMMAND_QUEUED, 0, "transactions", "",           \
      "OK: nothing is ever watched.")                                                                              \
    X(COMMAND, "command", -1, 100, COMMAND_READ | COMMAND_TOGETHER, 0, "server", "[subcommand ...]",               \
      "All commands, for client libraries.")                                                                       \
    X(INFO, "info", -1, 270, COMMAND_READ | COMMAND_TOGETHER, ROLE_READ, "server", "[section ...]",                \
      "Figures: server, clients, limits, rules, table, cluster, stats, transport, store, central, memory, "        \
      "keyspace, "                                                                                                 \
      "refusals, decisions, latency, replication.")                                                                \
    X(DBSIZE, "dbsize", 1, 20, COMMAND_READ, ROLE_READ, "server", "", "How many keys owe something here.")         \
    X(TIME, "time", 1, 4, COMMAND_READ | COMMAND_FAST | COMMAND_TOGETHER | COMMAND_QUEUED, 0, "server", "",        \
      "This machine's clock: seconds since 1970, and microseconds.")                                               \
    X(CONFIG, "config", -2, 10, COMMAND_ADMIN | COMMAND_TOGETHER, 0, "server", "subcommand ...",                   \
      "Only what client tools ask for.")                                                                           \
    X(NODES, "nodes", 1, 100, COMMAND_READ, ROLE_READ, "cluster", "", "The peers of the cluster as maps.")         \
    X(CLUSTER, "cluster", -2, 100, COMMAND_READ, ROLE_READ, "cluster", "subcommand ...",                           \
      "The peers of the cluster.")                                                                                 \
    X(FORGET, "forget", 2, 100, COMMAND_WRITE | COMMAND_ADMIN, ROLE_ADMIN, "cluster", "node",                      \
      "Declares a peer gone for good, so that others may have its share.")                                         \
    X(WEIGHTS, "weights", -1, 200, 0, ROLE_READ | ROLE_ADMIN, "cluster", "[SET region=weight ... | HISTORY]",      \
      "The weights of regions: what is in force, what waits, and for whom.")                                       \
    X(MEMBER_KEY, "key", -2, 100, 0, ROLE_READ | ROLE_ADMIN, "cluster", "subcommand ...",                          \
      "The keys with which daemons sign what they say of themselves.")                                             \
    X(RELOAD, "reload", 1, 512, COMMAND_ADMIN, ROLE_ADMIN, "server", "",                                           \
      "Reads the config, secrets and certificates again: which keys changed, which need a restart.")               \
    X(DEBUG, "debug", -2, 100, COMMAND_ADMIN, ROLE_ADMIN, "server", "subcommand ...",                              \
      "Breaks links, to show partitions; only where the config says debug: true.")

/*
 * X(PARENT, IDENTIFIER, "name", arity with both names, roles, "syntax of the arguments", "summary")
 * Roles 0: those of the parent suffice.
 */
#define SUBCOMMANDS(X)                                                                                             \
    X(CLIENT, CLIENT_SETNAME, "setname", 3, 0, "name", "Names this connection.")                                   \
    X(CLIENT, CLIENT_GETNAME, "getname", 2, 0, "", "The name of this connection.")                                 \
    X(CLIENT, CLIENT_SETINFO, "setinfo", 4, 0, "LIB-NAME name | LIB-VER version", "Notes the client's library.")   \
    X(CLIENT, CLIENT_ID, "id", 2, 0, "", "The number of this connection.")                                         \
    X(CLIENT, CLIENT_INFO, "info", 2, 0, "", "One line about this connection.")                                    \
    X(CLIENT, CLIENT_LIST, "list", -2, 0, "", "As INFO: a client sees itself only.")                               \
    X(CLIENT, CLIENT_NO_EVICT, "no-evict", 3, 0, "ON|OFF", "Accepted: no connection is ever evicted.")             \
    X(CLIENT, CLIENT_NO_TOUCH, "no-touch", 3, 0, "ON|OFF", "Accepted, and without effect.")                        \
    X(CLIENT, CLIENT_REPLY, "reply", 3, 0, "ON", "Accepted: every command is answered.")                           \
    X(COMMAND, COMMAND_COUNT, "count", 2, 0, "", "How many commands there are.")                                   \
    X(COMMAND, COMMAND_DOCS, "docs", -2, 0, "[name ...]", "Summary and syntax of commands.")                       \
    X(COMMAND, COMMAND_INFO, "info", -2, 0, "[name ...]", "Arity and flags of commands.")                          \
    X(COMMAND, COMMAND_LIST, "list", 2, 0, "", "The names of all commands.")                                       \
    X(CONFIG, CONFIG_GET, "get", -3, 0, "name ...", "Empty, but for what redis-benchmark asks.")                   \
    X(RULE, RULE_SET, "set", 3, ROLE_RULES, "yaml", "Adds or changes the rules in a text, all or none; as APPLY.") \
    X(RULE, RULE_APPLY, "apply", -3, ROLE_RULES,                                                                   \
      "yaml|STAGED [CANARY percent [WATCH time] [THRESHOLD percent]] [NOTE text] [PRUNE] [DRYRUN] [VERBOSE]",      \
      "Adds or changes the rules in a text, all or none: how many changed.")                                       \
    X(RULE, RULE_STAGE, "stage", 3, ROLE_RULES, "yaml",                                                            \
      "Adds to the text of this connection's APPLY STAGED: its bytes now.")                                        \
    X(RULE, RULE_GET, "get", 4, 0, "service id", "A rule's text, or nil.")                                         \
    X(RULE, RULE_LIST, "list", -2, 0, "[service] [AFTER service id]", "Rules in order, as many as fit an answer.") \
    X(RULE, RULE_DEL, "del", 4, ROLE_RULES, "service id", "Removes a rule: 1, or 0 if there is none.")             \
    X(RULE, RULE_HISTORY, "history", -2, 0, "[service id]", "Versions, newest first: of a rule, or of all.")       \
    X(RULE, RULE_ROLLBACK, "rollback", -4, ROLE_RULES, "service id [n]",                                           \
      "Makes an earlier version (HISTORY's n) the newest.")                                                        \
    X(CLUSTER, CLUSTER_NODES, "nodes", 2, 0, "", "One line per peer.")                                             \
    X(WEIGHTS, WEIGHTS_SET, "set", -3, ROLE_ADMIN, "region=weight [region=weight ...]",                            \
      "Changes weights in all regions, with no moment above the whole: the number of the version.")                \
    X(WEIGHTS, WEIGHTS_HISTORY, "history", 2, 0, "", "The versions that this daemon has heard of, newest first.")  \
    X(MEMBER_KEY, MEMBER_KEY_SHOW, "show", 2, 0, "", "The fingerprint of this daemon's key.")                      \
    X(MEMBER_KEY, MEMBER_KEY_ACCEPT, "accept", 4, ROLE_ADMIN, "node fingerprint|none",                             \
      "The peer has that key from now on; none: the next one is learnt.")                                          \
    X(MEMBER_KEY, MEMBER_KEY_ROTATE, "rotate", 2, ROLE_ADMIN, "",                                                  \
      "This daemon has another key, which its former one signs: the new fingerprint.")                             \
    X(DEBUG, DEBUG_DROP, "drop", -3, 0, "peer [in|out|both]", "Drops what comes from or goes to a peer.")          \
    X(DEBUG, DEBUG_HEAL, "heal", -2, 0, "[peer]", "Drops nothing of that peer, or of any, any more.")

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
    uint32_t work;
    unsigned flags, roles;
    const char *group, *syntax, *summary;
};

struct subcommand_spec {
    enum command_id parent;
    struct command_spec spec;
};

/* Of a request, in milliseconds. NONE: it says nothing of its patience. */
enum { COMMAND_PATIENCE_NONE = -1, COMMAND_PATIENCE_MAX_MS = 5000 };

/* Indexed by id. */
extern const struct command_spec command_table[COMMAND_ID_COUNT];
extern const struct subcommand_spec subcommand_table[SUBCOMMAND_ID_COUNT];

/* The command, or the parent's subcommand, of that name in any case; the COUNT if there is none. */
enum command_id command_find(struct bytes name);
enum subcommand_id subcommand_find(enum command_id parent, struct bytes name);

static inline bool command_arity_fits(int arity, uint32_t count)
{
    return arity >= 0 ? count == (uint32_t)arity : count >= (uint32_t)-arity;
}

/* True if the words are equal but for the case of ASCII letters; `lower` must be in lower case. */
bool word_is(struct bytes word, const char *lower);

/* Parses a decimal number without sign, at most `max`. */
bool word_number(struct bytes word, uint64_t max, uint64_t *number);

/* The words of a CAN_ACCESS. */
struct command_access {
    struct bytes key;
    uint64_t cost;       /* 1 unless given */
    int32_t patience_ms; /* COMMAND_PATIENCE_NONE unless given */
};
/* Parses CAN_ACCESS; the arity must be checked. On failure returns false, with a sentence for the
 * client in `error` (COMMAND_ERROR_BYTES). */
bool command_parse_can_access(const struct resp_command *command, struct command_access *access, char *error);

#endif
