/*
 * commands: executes what clients ask: bytes in, decisions of the node, bytes out.
 *
 * The one idea: everything that one read brought is served in one call, at one time; runs of CAN_ACCESS
 * are decided in groups whose keys are fetched from memory together. It does no I/O: what only the server
 * can do (an event for the node) goes through a hook. Not thread-safe, as the node is not.
 */
#ifndef HEADGATE_COMMANDS_H
#define HEADGATE_COMMANDS_H

#include "base/bytes.h"
#include "base/hash.h"
#include "cluster/node.h"
#include "edge/listener.h"
#include "edge/store.h"
#include "limit/named_limit.h"
#include "wire/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SESSION_NAME_BYTES = 64, /* with the terminator; longer names are refused */
};

/* X(name, what it counts) */
#define COMMANDS_STATS(X)                                                                                          \
    X(total_commands_processed, "commands executed")                                                               \
    X(total_error_replies, "commands answered with an error")                                                      \
    X(protocol_errors, "connections closed because of what they sent")                                             \
    X(auth_failures, "wrong passwords")                                                                            \
    X(grouped_decisions, "CAN_ACCESS decided in groups")

struct commands_stats {
#define X(name, help) uint64_t name;
    COMMANDS_STATS(X)
#undef X
};

/* What one connection remembers between commands. Lives in the listener's memory, zeroed before session_open. */
struct session {
    uint64_t id;
    uint8_t protocol; /* 2 or 3 */
    bool authenticated;
    char address[LISTENER_ADDRESS_BYTES];
    char name[SESSION_NAME_BYTES];
    char library[SESSION_NAME_BYTES];
    char library_version[SESSION_NAME_BYTES];
};

struct commands {
    /* Set by the composition before the first call; all pointers are its own and outlive this. */
    struct node *node;
    const struct named_limits *limits;
    uint16_t limit_index[NAMED_LIMITS_MAX]; /* of each of them, as the node knows it */
    struct hash_key hash_key;
    const char *name, *region;
    const char *version;                   /* of the program: "1.2.3" */
    const char *config_path;               /* for INFO; may be NULL */
    const char *password;                  /* NULL: none is asked for */
    bool debug;                            /* DEBUG DROP and HEAL are allowed */
    uint64_t started_ns;                   /* monotonic, for the uptime */
    uint16_t port;                         /* where clients connect, for INFO and CLIENT */
    const struct listener_stats *listener; /* for INFO; may be NULL */
    struct store *store;                   /* for INFO; NULL: nothing is kept */
    /*
     * Hands an EVENT_FORGET or EVENT_MUTE to the node (filling in now_ns) and carries out its effects, before it
     * returns. `event->name` is the name of a peer that exists, valid during the call.
     */
    void (*submit)(void *context, const struct event *event);
    void *context;

    struct commands_stats stats; /* the commands' own */
};

/* `commands` is filled as above; it needs no close. */
void commands_init(struct commands *commands);

void session_open(struct session *session, const struct commands *commands, uint64_t id, const char *address);

/* As struct service asks of `serve`, with the time of this turn. Afterwards see node_wants_step. */
enum serve_status commands_serve(struct commands *commands, struct session *session, struct bytes input,
                                 struct output *output, uint64_t now_ns, size_t *consumed);

#endif
