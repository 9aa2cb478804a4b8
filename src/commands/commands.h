/*
 * commands: executes what clients ask: bytes in, decisions of the node, bytes out.
 *
 * The one idea: one call serves everything that one read brought, at one time. CAN_ACCESS, CHECK
 * and the other requests for decisions wait in one queue, whose keys are fetched from memory
 * together (pending.h). The commands do no I/O: a hook does what only the server can do (an event
 * for the node). Each thread that serves has commands of its own, and all threads share one node.
 * The threads decide side by side. For everything else, a hook lets one thread run alone.
 */
#ifndef HEADGATE_COMMANDS_COMMANDS_H
#define HEADGATE_COMMANDS_COMMANDS_H

#include "base/bytes.h"
#include "base/gate.h"
#include "base/hash.h"
#include "cluster/node.h"
#include "commands/guessers.h"
#include "commands/latency.h"
#include "commands/observe.h"
#include "commands/pending.h"
#include "commands/shapes.h"
#include "commands/users.h"
#include "commands/waiting.h"
#include "edge/clients/listener.h"
#include "edge/process/pool.h"
#include "edge/settings/settings_changes.h"
#include "edge/store/store.h"
#include "limit/named_limit.h"
#include "rules/match.h"
#include "wire/output.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SESSION_NAME_BYTES = 64, /* with the terminator; longer names are refused */
    SESSION_REFUSED_MAX = 5, /* wrong passwords of one connection: the last one closes the connection */
    /* delay of the answer to the first wrong password; each further delay is twice as long */
    SESSION_DELAY_MS = 250,
    SESSION_CHECK_MS = 50, /* until a client whose secret is being compared is served again */
    LIVE_READERS_MAX = 32, /* connections of a daemon that read /v1/live */
};

struct central;
struct replays;
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
    X(grpc_requests, "gRPC requests answered")                                                                     \
    X(grpc_errors, "gRPC requests answered with another status than OK")                                           \
    X(grpc_unknown_domains, "gRPC requests of a domain that is no service of rules: nothing limits them")          \
    X(grpc_unknown_rules,                                                                                          \
      "descriptors over gRPC that name a rule which their domain has not: nothing limits them")                    \
    X(grpc_unread, "gRPC requests answered with OVER_LIMIT because their message was too large to be read")        \
    X(grpc_no_memory, "gRPC connections closed because grpc.memory is used up")                                    \
    X(http_live, "connections that read /v1/live (now)")                                                           \
    X(replayed_answers, "answers given again because of an idempotency key")                                       \
    X(forgotten_answers, "such answers forgotten before their time, because others needed the place")              \
    X(auth_failures, "wrong passwords")                                                                            \
    X(hot_left_out, "refusals and samples that HOT lacks: of more rules at a time than a thread notes")            \
    X(patience_waiting, "requests that wait for this node's share, and are neither admitted nor refused (now)")    \
    X(patience_admitted, "requests that waited and were admitted")                                                 \
    X(patience_refused, "requests that waited and were refused: their patience was over, or the daemon stopped")   \
    X(patience_crowded, "requests that would have waited and were refused at once: too many waited")               \
    X(central_without, "requests decided without the central store, as when_down of their rules says")             \
    X(grouped_decisions, "CAN_ACCESS, CHECK, PEEK, RESERVE and THROTTLE decided in batches")

struct commands_stats {
#define X(name, help) uint64_t name;
    COMMANDS_STATS(X)
#undef X
};

/* A change of rules whose outcome somebody waits for. See ask_rules. All zero: nobody waits. */
struct rules_wait {
    uint64_t ticket;    /* the ticket of a change in work; 0: no change is in work */
    uint64_t kept;      /* the store must keep everything that was put up to this number; 0: nothing */
    uint64_t warned_of; /* the ticket of a change that has warnings; 0: the change has no warnings */
    uint64_t changed_rules, created_rules, removed_rules, unchanged_rules;
    struct rule_stamp newest; /* of the newest version of the rule that was read or ended last */
    bool unmet;               /* the change was refused: rules were not as it expected */
};

/* What MULTI queued. See transaction.c. */
struct transaction {
    bool open;                  /* commands are queued */
    bool failed;                /* a command could not be queued: EXEC will refuse all commands */
    bool runs;                  /* EXEC was called, and the head of its answer is written */
    uint32_t count;             /* queued commands */
    uint32_t size;              /* bytes of the queued commands */
    uint32_t answer_bytes;      /* bytes that the answers of the queued commands may have at most */
    struct pool_buffer *queued; /* a buffer of the commands' pool; NULL: nothing is queued */
};

/*
 * What one connection remembers between commands. A session lives in the listener's memory, which
 * must be zero before session_open.
 */
struct session {
    uint64_t id;
    uint8_t protocol; /* 2 or 3 */
    bool authenticated;
    const struct user *user; /* who the client is; without a meaning until `authenticated` */
    uint32_t user_edition;   /* the user's at that time: another one now, and the user is gone */
    uint8_t waits_form;      /* enum change_form: the form in which a change of rules is answered */
    uint64_t waits_number;   /* of CHANGE_NUMBER */
    uint8_t refused;         /* wrong passwords since the last right one */
    uint32_t late_count;     /* answers that are put off until commands_answer */
    uint32_t waiting;        /* the ticket of the request that waits for its share; 0: none does. See patient.h */
    bool waits_refused;      /* the session waits for the answer to a wrong password */
    bool waits_check;        /* its secret is being compared: its last command was not taken, and is served again */
    struct rules_wait waits_rules;
    struct transaction transaction;
    char address[LISTENER_ADDRESS_BYTES];
    char name[SESSION_NAME_BYTES];
    char library[SESSION_NAME_BYTES];
    char library_version[SESSION_NAME_BYTES];
};

/* The time of one call on the node's clock and on the world's clock, and how much work the call may do. */
struct turn {
    uint64_t now_ns;
    uint64_t wall_ns;  /* since 1970 */
    uint32_t work_max; /* the command that uses this work up is the last one of the call; 0: no bound */
};

/*
 * A text of rules that is too long for one request and arrives in pieces. One connection at a time
 * has such a text.
 */
struct staged {
    uint64_t session; /* the id of the session that sends the text; 0: no session does */
    uint64_t touched_ns;
    char *text;
    size_t size, room;
};

/* The commands of all threads of one node, for INFO. */
struct commands_worker_threads {
    uint32_t count;
    const struct commands
        /* a thread may read the counters of the others when all others are outside the gate */
        *member[GATE_THREADS_MAX];
    const struct gate *gate; /* NULL: there is one thread */
};

/* The memory that the process had when the system was last asked for it. */
struct resident {
    uint64_t bytes, asked_ns; /* 0: the system was never asked */
};

/* How reading the config went, at the start and again since: metrics of base/metric.h. */
struct config_reads {
    uint64_t failed;    /* 1: the last time was refused, and what was read before is in force */
    uint64_t success_s; /* the last time that it was not, since 1970 */
};

/* What the kernel refuses the process by its own wish. */
struct sandboxed {
    bool calls; /* system calls that it has no use for */
    bool files; /* files that it has no use for */
};

struct commands {
    /*
     * The composition sets these before the first call. It owns everything that the pointers point
     * to, which must outlive the commands.
     */
    struct node *node;
    const struct named_limits *limits; /* in force, for INFO: steps change them */
    struct hash_key hash_key;
    const char *name, *region;
    const char *version;                     /* of the program: "1.2.3" */
    const char *config_path;                 /* for INFO; may be NULL */
    const struct config_reads *config_reads; /* for INFO and /metrics; may be NULL */
    const struct sandboxed *sandbox;         /* for INFO; may be NULL */
    const char *password;                    /* of user_default; NULL: there is none */
    const struct users *users;               /* NULL: there are none. Without both, every client is user_default */
    uint32_t reservation_ttl_max_ms;         /* the longest time of RESERVE and RENEW; 0: COMMAND_TTL_MAX_MS */
    bool debug;                              /* DEBUG DROP and HEAL are allowed */
    bool puts_off;       /* the caller of commands_serve will call commands_answer: see SERVE_LATER */
    uint8_t thread;      /* the number of this thread: see node_use_thread */
    uint64_t started_ns; /* monotonic, for the uptime */
    uint16_t port;       /* the port that clients connect to, for INFO and CLIENT */
    const struct listener_stats *listener;                /* for INFO; may be NULL */
    const struct commands_worker_threads *worker_threads; /* for INFO; NULL: this is the only thread */
    struct store *store;                                  /* keeps changes of rules; NULL: nothing is kept */
    struct replays *replays;                              /* of all threads; NULL: idempotency keys are not known */
    struct transport *transport;                          /* for INFO; NULL: there is none */
    struct tls *tls;                                      /* for INFO; NULL: no port speaks TLS */
    struct central *central;        /* what this thread asks the central store; NULL: the config has none */
    struct central *central_before; /* the store before, for requests that wait for it; NULL: there are none */
    bool central_turn;              /* changes with the store: tickets have it */
    struct observer observer;       /* its `hot` is the thread's own */
    /*
     * Hands an event to the node and carries out its effects, before it returns. The hook fills in
     * the times of `event`. `event` and everything that it points to are valid during the call. The
     * hook copies the node's result about rules to `result`, unless `result` is NULL.
     */
    void (*submit)(void *context, const struct event *event, struct rules_result *result);
    /*
     * Reads the config again. Called while no other thread decides. False: nothing has changed, and `error` says why.
     */
    bool (*reload)(void *context, struct reload_report *report, struct error *error);
    /*
     * Called with true before work during which no other thread may decide, and with false after
     * that work. More such pairs, and calls of `submit`, may come in between. The hook answers all
     * requests that were put off before it lets this thread run alone; a fact that was read from
     * the node before the call may have changed after it. NULL: there are no other threads.
     */
    void (*alone)(void *context, bool alone);
    /* Called when the client at `address` sends a wrong password. `barred`: this bars its address. May be NULL. */
    void (*refused)(void *context, const char *address, bool barred);
    void *context;

    /* Private to the commands: */
    const struct user *caller; /* whose request is served now; NULL: user_default's */
    uint32_t worked;           /* work that the last call of commands_serve did */
    struct commands_stats stats;
    struct latencies latencies; /* the owner of the loop writes them */
    struct resident resident;
    struct pool queues; /* queued commands of transactions */
    struct staged staged;
    struct request access_request; /* the request of a CAN_ACCESS, without its key and its cost */
    struct key_id throttle_salt[THROTTLE_DIALECTS];
    struct shapes shapes;
    struct pending pending;
    struct late late;
    struct waiting_room waiting;
    struct guessers guessers;                /* addresses that send wrong passwords */
    uint64_t live_readers[LIVE_READERS_MAX]; /* hashes of addresses, the first `stats.http_live` of them */
};

/* The caller must have filled the fields of `commands` that the composition sets. */
void commands_init(struct commands *commands);
void commands_close(struct commands *commands);

void session_open(struct session *session, struct commands *commands, uint64_t id, const char *address);
void session_close(struct session *session, struct commands *commands);

/*
 * Implements `serve` of struct service at the time of `turn`. Afterwards the caller must ask
 * node_wants_step, and, for SERVE_DELAY, session_delay_ms.
 */
enum serve_status commands_serve(struct commands *commands, struct session *session, struct bytes input,
                                 struct output *output, struct turn turn, size_t *consumed);
/* Some answers are put off: the rules and the node under which they were asked must stay until commands_answer. */
static inline bool commands_have_late(const struct commands *commands)
{
    return commands->late.count > 0;
}
void commands_answer(struct commands *commands, struct session *session, struct output *output, struct turn turn);
/*
 * After SERVE_WAIT: true if a request of the session waits for its share. It is the first of the input that is left,
 * and commands_serve must be called with that input when commands_is_due.
 */
static inline bool commands_holds(const struct session *session)
{
    return session->waiting > 0;
}
bool commands_is_due(struct commands *commands, const struct session *session, struct turn turn);
/* For SERVE_DELAY: how long the answer to a wrong password must wait, or until a secret was compared. */
uint32_t session_delay_ms(const struct session *session);
/*
 * Implements `knows` of struct service: true once the client has sent the right password, or if
 * there is no password.
 */
bool session_is_known(const struct session *session);
/* Implements `resume` of struct service: answers a change of rules once its result is known and kept. */
bool commands_resume(struct commands *commands, struct session *session, struct output *output);

#endif
