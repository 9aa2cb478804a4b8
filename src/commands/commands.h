/*
 * commands: executes what clients ask: bytes in, decisions of the node, bytes out.
 *
 * The one idea: everything that one read brought is served in one call, at one time. CAN_ACCESS,
 * CHECK and the like wait in one queue, whose keys are fetched from memory together (pending.h). It
 * does no I/O: what only the server can do (an event for the node) goes through a hook. Each thread
 * that serves has commands of its own, all over one node: what only decides, they do at the same
 * time; for the rest, a hook makes one of them alone.
 */
#ifndef HEADGATE_COMMANDS_COMMANDS_H
#define HEADGATE_COMMANDS_COMMANDS_H

#include "base/bytes.h"
#include "base/gate.h"
#include "base/hash.h"
#include "cluster/node.h"
#include "commands/guessers.h"
#include "commands/pending.h"
#include "commands/shapes.h"
#include "edge/clients/listener.h"
#include "edge/process/pool.h"
#include "edge/store/store.h"
#include "limit/named_limit.h"
#include "rules/match.h"
#include "wire/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SESSION_NAME_BYTES = 64, /* with the terminator; longer names are refused */
    SESSION_REFUSED_MAX = 5, /* wrong passwords of one connection: with the last one it is closed */
    SESSION_DELAY_MS = 250,  /* before the first one is answered; each further one takes twice as long */
};

struct transport;

/* X(name, what it counts) */
#define COMMANDS_STATS(X)                                                                                          \
    X(total_commands_processed, "commands executed")                                                               \
    X(total_error_replies, "commands answered with an error")                                                      \
    X(protocol_errors, "connections closed because of what they sent")                                             \
    X(reservations_refused, "reservations refused because too many are open")                                      \
    X(auth_barred, "passwords not looked at, of addresses that had sent too many wrong ones")                      \
    X(http_requests, "HTTP requests answered")                                                                     \
    X(http_errors, "HTTP requests answered with a status of 400 or more, but for 429")                             \
    X(auth_failures, "wrong passwords")                                                                            \
    X(grouped_decisions, "CAN_ACCESS, CHECK, PEEK, RESERVE and THROTTLE decided in batches")

#define SESSION_WAITS_REFUSED UINT64_MAX /* instead of a ticket: for the answer to a wrong password */

struct commands_stats {
#define X(name, help) uint64_t name;
    COMMANDS_STATS(X)
#undef X
};

/* What MULTI queued, see transaction.c. */
struct transaction {
    bool open;                  /* commands are queued */
    bool failed;                /* one could not be: EXEC will refuse all */
    bool runs;                  /* EXEC was asked for, and answered that so many answers follow */
    uint32_t count;             /* of queued commands */
    uint32_t size;              /* of their bytes, */
    uint32_t answer_bytes;      /* and of their answers at most */
    struct pool_buffer *queued; /* of the commands' pool; NULL: nothing is queued */
};

/* What one connection remembers between commands. Lives in the listener's memory, zeroed before session_open. */
struct session {
    uint64_t id;
    uint8_t protocol; /* 2 or 3 */
    bool authenticated;
    uint8_t waits_form;     /* enum change_form, of the answer to a change of rules */
    uint8_t refused;        /* wrong passwords, one after the other */
    uint32_t late_count;    /* answers that are put off */
    uint64_t waits_for;     /* a change of rules that is in work, by its ticket; 0: for nothing */
    uint64_t waits_kept;    /* until the store keeps what was put up to that number; 0: for nothing */
    uint64_t changed_rules; /* what is then to be answered, */
    uint64_t warned_of;     /* with the warnings of that change, by its ticket; 0: there are none */
    struct transaction transaction;
    char address[LISTENER_ADDRESS_BYTES];
    char name[SESSION_NAME_BYTES];
    char library[SESSION_NAME_BYTES];
    char library_version[SESSION_NAME_BYTES];
};

/* When something is served, by the node's clock and the world's, and how much of it. */
struct turn {
    uint64_t now_ns;
    uint64_t wall_ns;  /* since 1970 */
    uint32_t work_max; /* the command that uses it up is the last one; 0: no bound */
};

/* A long text of rules on its way in, in pieces: of one connection at a time. */
struct staged {
    uint64_t session; /* whose; 0: nobody's */
    uint64_t touched_ns;
    char *text;
    size_t size, room;
};

/* All that serve over one node, for INFO. */
struct commands_worker_threads {
    uint32_t count;
    const struct commands
        *member[GATE_THREADS_MAX]; /* what they count is read when all others are outside the gate */
    const struct gate *gate;       /* NULL: there is one */
};

/* The memory that the process had when the system was asked last. */
struct resident {
    uint64_t bytes, asked_ns; /* 0: never */
};

struct commands {
    /* Set by the composition before the first call; all pointers are its own and outlive this. */
    struct node *node;
    const struct named_limits *limits; /* for INFO */
    struct hash_key hash_key;
    const char *name, *region;
    const char *version;                                  /* of the program: "1.2.3" */
    const char *config_path;                              /* for INFO; may be NULL */
    const char *password;                                 /* NULL: none is asked for */
    uint32_t reservation_ttl_max_ms;                      /* of RESERVE and RENEW; 0: COMMAND_TTL_MAX_MS */
    bool debug;                                           /* DEBUG DROP and HEAL are allowed */
    bool puts_off;                                        /* commands_answer will be called: see SERVE_LATER */
    uint8_t thread;                                       /* the number of this thread: see node_use_thread */
    uint64_t started_ns;                                  /* monotonic, for the uptime */
    uint16_t port;                                        /* where clients connect, for INFO and CLIENT */
    const struct listener_stats *listener;                /* for INFO; may be NULL */
    const struct commands_worker_threads *worker_threads; /* for INFO; NULL: these are alone */
    struct store *store;                                  /* keeps changes of rules; NULL: nothing is kept */
    struct transport *transport;                          /* for INFO; NULL: there is none */
    /*
     * Hands an event to the node (filling in the times) and carries out its effects, before it returns. `event`
     * and what it points to are valid during the call. What the node says of rules is copied to `result`, unless
     * NULL.
     */
    void (*submit)(void *context, const struct event *event, struct rules_result *result);
    /*
     * Called with true before what no other thread may decide during, and with false after it; more such pairs and
     * `submit` come in between. What was put off is answered before; what was found of the node before may have
     * changed. NULL: there are no other threads.
     */
    void (*alone)(void *context, bool alone);
    /* A wrong password came from that client; `barred`: its address is barred for it. May be NULL. */
    void (*refused)(void *context, const char *address, bool barred);
    void *context;

    /* The commands' own: */
    uint32_t worked; /* in the last call of commands_serve */
    struct commands_stats stats;
    struct resident resident;
    struct pool queues; /* of transactions */
    struct staged staged;
    struct request access_request; /* CAN_ACCESS, but for its key and cost */
    struct key_id throttle_salt[THROTTLE_DIALECTS];
    struct shapes shapes;
    struct pending pending;
    struct late late;
    struct guessers guessers; /* addresses that send wrong passwords */
};

/* `commands` is filled as above. */
void commands_init(struct commands *commands);
void commands_close(struct commands *commands);

void session_open(struct session *session, struct commands *commands, uint64_t id, const char *address);
void session_close(struct session *session, struct commands *commands);

/* As struct service asks of `serve` and `answer`, with the time of this turn. Afterwards see node_wants_step, and for
 * SERVE_DELAY session_delay_ms. */
enum serve_status commands_serve(struct commands *commands, struct session *session, struct bytes input,
                                 struct output *output, struct turn turn, size_t *consumed);
/* Some answers are put off: what they were asked under must stay until commands_answer. */
static inline bool commands_have_late(const struct commands *commands)
{
    return commands->late.count > 0;
}
void commands_answer(struct commands *commands, struct session *session, struct output *output, struct turn turn);
/* For how long the answer to a wrong password waits. */
uint32_t session_delay_ms(const struct session *session);
/* As struct service asks of `knows`: it has asked something, after the password if there is one. */
bool session_is_known(const struct session *session);
/* As struct service asks of `resume`: what became of a change of rules, once that is known. */
bool commands_resume(struct commands *commands, struct session *session, struct output *output);

#endif
