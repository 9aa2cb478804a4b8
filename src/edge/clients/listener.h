/*
 * listener: TCP sockets that clients connect to, and the limits that they live within.
 *
 * The one idea: all connections share one input and one output buffer, because a turn serves one of them at a
 * time; a connection holds a buffer of its own (from a bounded pool) only while it owes bytes: half a frame
 * received, what is not served yet, or a reply that its reader does not take. It knows no protocol: each address
 * has a struct service, which parses and answers what arrived in one read, and the replies leave in one write,
 * once all connections that the loop has heard of in a turn are served. Clients of all protocols share limits,
 * turns and buffers. What a service puts off waits for others' only where clients crowd. A connection that asks
 * for little is served when it is heard. Connections that ask for much share turn_work in each turn of the loop,
 * so that all others wait for one share of work at most (listener_turns.c). Silence has deadlines.
 */
#ifndef HEADGATE_EDGE_CLIENTS_LISTENER_H
#define HEADGATE_EDGE_CLIENTS_LISTENER_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/list.h"
#include "edge/process/pool.h"
#include "wire/output.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum {
    LISTENER_SOCKETS_MAX = 8,
    LISTENER_ADDRESS_BYTES = 64, /* "[ip]:port" of a client, with the terminator */
    LISTENER_LATE_BYTES = 64,    /* answers of one connection that may be put off */
    LISTENER_LATE_MAX = 16,      /* connections whose answers are: more clients would be idle for too long */
    LISTENER_UNWRITTEN_BYTES = 16 << 10, /* answers that are written together: a millisecond's work */
    LISTENER_HEARD_STEP_MS = 1000,       /* how exactly it is known when a connection was heard */
};

/* How much a connection asks for. */
enum listener_weight {
    LISTENER_NEW,   /* the connection was not served yet */
    LISTENER_LIGHT, /* it asked for less than light_work when it was served last */
    LISTENER_HEAVY,
    LISTENER_WEIGHTS,
};

enum serve_status {
    SERVE_MORE,   /* every complete command was served */
    SERVE_AGAIN,  /* the output has no room for another reply: write it, then call again */
    SERVE_CLOSE,  /* write the output, then close */
    SERVE_LATER,  /* all of the input was taken, and nothing answered yet: `answer` will be asked, or is at once */
    SERVE_WAIT,   /* the last command that was taken is not answered yet: `resume` will be asked, before all else */
    SERVE_DELAY,  /* the same, and `resume`, which then knows, is asked in delay_ms */
    SERVE_ENOUGH, /* as much as may be done was done: write the output, and call again in another turn */
};

/* What one call of `serve` may do. */
struct serve_budget {
    /* So much, in units of the service: the last command is the one that uses it up. Becomes what is left. */
    uint32_t work;
    uint32_t delay_ms; /* set with SERVE_DELAY */
};

/* What serves the bytes. All calls come from the loop's thread. */
struct service {
    void *context;
    size_t session_bytes; /* of a session's memory, owned by the listener, zeroed before `open` */
    /* A connection was accepted; `id` > 0 is never used again. `address` is valid during the call. */
    void (*open)(void *context, void *session, uint64_t id, const char *address);
    /*
     * Serves the complete commands at the front of `input` and appends their replies to `output`, which has
     * room for one reply at least. *consumed <= input.size. With SERVE_MORE and input left over, that is the
     * front of a frame, never longer than the input_max_bytes of the options: longer ones are the service's to
     * refuse with SERVE_CLOSE.
     */
    enum serve_status (*serve)(void *context, void *session, struct bytes input, struct output *output,
                               struct serve_budget *budget, size_t *consumed);
    /*
     * Appends what `serve` put off with SERVE_LATER, at most LISTENER_LATE_BYTES. Sessions are asked in the order in
     * which they put off, all of them (the connection may be closed meanwhile) before any is served again. NULL if
     * that never happens.
     */
    void (*answer)(void *context, void *session, struct output *output);
    /*
     * Appends, to an output as `serve` has it, what had to wait with SERVE_WAIT; false: it is not known yet. NULL if
     * that never happens.
     */
    bool (*resume)(void *context, void *session, struct output *output);
    /* Whether the client has shown who it is. Asked after it was served, until it has. NULL: every one has. */
    bool (*knows)(void *context, void *session);
    void (*close)(void *context, void *session); /* may be NULL */
    /* What a client is told before its connection is closed, in the protocol's form; NULL: nothing. */
    const char *too_many;    /* there are as many connections as there may be */
    const char *unfinished;  /* a request that was begun is not whole in time */
    const char *no_password; /* the client did not show in time who it is */
};

struct listener_options {
    uint32_t connections_max; /* beyond: an error, and closed */
    size_t buffers_max_bytes; /* of all buffers that connections hold; who needs more is closed */
    /*
     * Answers wait with SERVE_LATER only where the loop's turn before had so many reads (0: in any case). Decided and
     * written one after the other, each takes a tenth less work; but who came first waits for who came last, and where
     * there are few, the loop has time.
     */
    uint32_t crowd_count;
    uint64_t stall_timeout_ms; /* a reader that takes nothing of its replies for this long is closed */
    uint64_t close_timeout_ms; /* how long a closing connection may take to read its last reply */
    /* Beyond connections_max, a newcomer gets the place of an older stranger, or of one silent for so long. */
    uint64_t newcomer_ms, quiet_ms;
    uint64_t request_timeout_ms;  /* a request that is not whole after this long ends its connection */
    uint64_t stranger_timeout_ms; /* a client that the service does not know after this long is closed; 0: never */
    uint64_t idle_timeout_ms;     /* one that says nothing for this long is closed; 0: never */
    /* Work is counted in units of the service. */
    uint32_t light_work;  /* a connection that asks for less at a time is light; a light one gets so much at once */
    uint32_t turn_work;   /* all other connections together get so much in a turn of the loop, visits included */
    uint32_t visit_work;  /* what a visit to one of them counts by itself: a read and a write */
    uint32_t accepts_max; /* connections that are accepted in a turn */
    /* Several listeners, each on a loop and in a thread of its own: */
    atomic_uint_least32_t
        *connected;             /* connections of all: connections_max is of them together. NULL: it is alone */
    uint64_t id_first, id_step; /* ids are id_first, id_first + id_step and so on */
    bool shares_port;           /* others may join it */
};

#define LISTENER_OPTIONS_DEFAULT                                                                                   \
    ((struct listener_options){.connections_max = 10000,                                                           \
                               .buffers_max_bytes = (size_t)256 << 20,                                             \
                               .crowd_count = 6,                                                                   \
                               .stall_timeout_ms = 30000,                                                          \
                               .close_timeout_ms = 1000,                                                           \
                               .newcomer_ms = 1000,                                                                \
                               .quiet_ms = 10000,                                                                  \
                               .request_timeout_ms = 10000,                                                        \
                               .visit_work = 50,                                                                   \
                               .light_work = 128,                                                                  \
                               .turn_work = 384,                                                                   \
                               .accepts_max = 4,                                                                   \
                               .id_first = 1,                                                                      \
                               .id_step = 1})

/* X(name, what it counts). The listener's loop writes them as base/metric.h does: any thread may read them. */
#define LISTENER_STATS(X)                                                                                          \
    X(connected_clients, "connections (now)")                                                                      \
    X(blocked_clients, "connections that are not read because they do not take their replies (now)")               \
    X(buffer_bytes, "held for half frames and untaken replies (now)")                                              \
    X(total_connections_received, "connections accepted")                                                          \
    X(rejected_connections, "connections closed at once: too many")                                                \
    X(closed_for_room, "silent connections closed because others came while there were too many")                  \
    X(closed_unfinished, "connections closed: a request was begun and did not become whole in time")               \
    X(closed_strangers, "connections closed: no password in time")                                                 \
    X(closed_idle, "connections closed: silent for too long")                                                      \
    X(turns_put_off, "turns of the loop in which a connection had to leave the rest of its requests for another")  \
    X(accept_failures, "connections that could not be accepted: no descriptors or memory")                         \
    X(closed_by_error, "connections closed after a protocol error or QUIT")                                        \
    X(closed_stalled, "connections closed: replies not taken in time")                                             \
    X(closed_no_buffer, "connections closed: no buffer left for them")                                             \
    X(total_net_input_bytes, "bytes read")                                                                         \
    X(total_net_output_bytes, "bytes written")                                                                     \
    X(total_reads, "reads that brought bytes")                                                                     \
    X(total_writes, "writes that were handed to the kernel")

struct listener_stats {
#define X(name, help) uint64_t name;
    LISTENER_STATS(X)
#undef X
};

struct connection;

struct listener {
    uv_loop_t *loop;
    struct service service; /* of the addresses that have none of their own */
    struct listener_options options;
    struct listener_stats stats;
    uv_tcp_t sockets[LISTENER_SOCKETS_MAX];
    struct service socket_service[LISTENER_SOCKETS_MAX]; /* of the connections that come there */
    bool waiting[LISTENER_SOCKETS_MAX]; /* a client waits there for a free slot, or for another turn */
    uint32_t socket_count;
    uint32_t slots_used;
    char *slots; /* room for all connections, touched as they come */
    struct list connections, free_connections;
    struct list timed;            /* connections with a deadline */
    struct list begun;            /* connections that hold half a request, by deadline */
    struct list strangers, known; /* all connections by what the service knows, the longest silent one first */
    struct list delayed;          /* connections that wait with SERVE_DELAY */
    struct list aside[LISTENER_WEIGHTS]; /* connections that wait for a turn, the first one first */
    uint64_t turn;                       /* of the loop, from 1, */
    bool is_over;                        /* connections that are heard from now on wait for the next turn */
    uint32_t accepted_count;             /* in this turn */
    struct list late;                    /* connections whose answers are put off, the first one first */
    uint32_t late_count;
    uint32_t heard_count;           /* reads in this turn of the loop, */
    bool crowded;                   /* and whether the one before had crowd_count */
    struct list waiters;            /* connections that wait with SERVE_WAIT */
    struct list unwritten;          /* connections whose answers wait to be written, */
    struct output unwritten_output; /* in here */
    uv_timer_t timer;
    uv_check_t polled;
    uv_idle_t busy; /* while connections are aside: serves them, and the loop does not sleep */
    struct pool pool;
    char *input, *output; /* shared by all connections */
    uint64_t next_id;
    uint32_t handles_open; /* of sockets, connections and its own three */
    bool closing;
    /* The listener's own: a connection calls it when nothing of the connection is in use any more. */
    void (*released)(struct listener *listener, struct connection *connection);
    void (*closed)(void *context);
    void *closed_context;
};

/* No sockets yet. `loop` and what `service` points at outlive the listener. False only without memory. */
bool listener_init(struct listener *listener, uv_loop_t *loop, const struct service *service,
                   const struct listener_options *options, struct error *error);

/*
 * Listens for clients of `service`, whose sessions must be no larger than those of listener_init's, on `address`:
 * "host:port", "[v6]:port", "*:port" (all interfaces, v6 and v4); port 0 takes a free one. May be called for several
 * addresses. False with EX_UNAVAILABLE (69) for a busy port, EX_CONFIG (78) for an address that makes no sense,
 * EX_NOHOST (68) for an unknown host, EX_NOPERM (77) for a port that needs root.
 */
bool listener_bind(struct listener *listener, const char *address, const struct service *service,
                   struct error *error);

/*
 * Listens where the next socket of `first` does, a listener of another thread that shares its ports: the system deals
 * out connections between them. Called once for each socket of `first`, in their order.
 */
bool listener_join(struct listener *listener, const struct listener *first, const struct service *service,
                   struct error *error);

/*
 * Has everything answered that was put off, and written. The owner calls it whenever the loop has polled, and before it
 * changes what answers depend on; during `serve` as well.
 */
void listener_answer(struct listener *listener);

/* Asks after all that wait. The owner calls it now and then while some do. */
void listener_resume(struct listener *listener);
static inline bool listener_waits(const struct listener *listener)
{
    return !list_empty(&listener->waiters);
}

/* The port of the socket `index` in the order of binding: for tests that bind port 0. */
uint16_t listener_port(const struct listener *listener, uint32_t index);

/*
 * Stops accepting and reading, lets readers take what was answered, or is about to be (close_timeout_ms at most),
 * closes all.
 * `closed` is called from the loop when nothing is left: then the listener's memory is free to go.
 */
void listener_close(struct listener *listener, void (*closed)(void *context), void *context);

#endif
