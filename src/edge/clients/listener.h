/*
 * listener: TCP sockets that clients connect to, and the limits that clients live within.
 *
 * The one idea: all connections share one input and one output buffer, because a turn serves one
 * connection at a time. A connection holds a buffer of its own (from a bounded pool) only while it
 * owes bytes: a part of a frame, input that is not served yet, or a reply that its reader does not
 * take. The listener knows no protocol: each address has a struct service, which parses and answers
 * what arrived in one read. The replies leave in one write, once all connections that the loop has
 * heard of in a turn are served. Clients of all protocols share limits, turns and buffers. Answers
 * that a service puts off wait for the answers of others only where many clients are heard at once.
 * A connection that asks for little is served when it is heard. Connections that ask for much share
 * turn_work in each turn of the loop, so that all others wait for one share of work at most
 * (listener_turns.c). Silence has deadlines.
 */
#ifndef HEADGATE_EDGE_CLIENTS_LISTENER_H
#define HEADGATE_EDGE_CLIENTS_LISTENER_H

#include "base/bytes.h"
#include "base/error.h"
#include "base/list.h"
#include "edge/clients/stream_tls.h"
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
    LISTENER_LATE_BYTES = 64,    /* bytes of answers of one connection that may be put off */
    LISTENER_LATE_MAX = 16,      /* connections with such answers; with more, clients would be idle for too long */
    LISTENER_OUTPUT_BYTES = STREAM_TLS_PLAIN_MAX_BYTES, /* what a service may append at once */
    LISTENER_UNWRITTEN_BYTES = 16 << 10, /* answers that are written together: about a millisecond's work */
    LISTENER_HEARD_STEP_MS = 1000,       /* the time when a connection was heard is known to this precision */
    LISTENER_PLACES = 256,               /* lists of strangers by where they come from */
};

/* How much a connection asks for. */
enum listener_weight {
    LISTENER_NEW,   /* the connection was never served */
    LISTENER_LIGHT, /* the connection asked for less than light_work when it was served last */
    LISTENER_HEAVY,
    LISTENER_WEIGHTS,
};

enum serve_status {
    SERVE_MORE,  /* every complete command was served */
    SERVE_AGAIN, /* the output has no room for another reply: the listener must write it, then call again */
    SERVE_CLOSE, /* the listener must write the output, then close */
    /* all of the input was taken, and nothing is answered yet: the listener calls `answer` later, or at once */
    SERVE_LATER,
    /*
     * The last command that was taken is not answered yet, or the first one of the input that is left must not be
     * served yet: the listener must call `resume` before all else.
     */
    SERVE_WAIT,
    SERVE_DELAY,  /* like SERVE_WAIT, and `resume` is called, and is true, after delay_ms */
    SERVE_ENOUGH, /* the work is used up: the listener must write the output, and call again in another turn */
    /* the last answer goes on until the connection ends: the listener must read no more, and calls `feed` */
    SERVE_FEED,
};

/* What one call of `serve` may do. */
struct serve_budget {
    /* In units of the service. The last command is the one that uses up the work. Becomes the work that is left. */
    uint32_t work;
    uint32_t delay_ms; /* set if the status is SERVE_DELAY */
    bool rouses; /* set if some request waits, while the session serves others: the listener must call `rouse` */
};

/* The functions that serve the bytes of a protocol. All calls come from the thread of the loop. */
struct service {
    void *context;
    size_t session_bytes; /* size of a session's memory, which the listener owns and zeroes before `open` */
    /* Called for each accepted connection. `id` > 0 is never used again. `address` is valid during the call. */
    void (*open)(void *context, void *session, uint64_t id, const char *address);
    /*
     * Serves the complete commands at the front of `input` and appends their replies to `output`,
     * which has room for one reply at least. *consumed must be at most input.size. With SERVE_MORE,
     * input that is left over is the front of a frame, and must be shorter than POOL_LARGE_BYTES:
     * the service must refuse longer frames with SERVE_CLOSE.
     */
    enum serve_status (*serve)(void *context, void *session, struct bytes input, struct output *output,
                               struct serve_budget *budget, size_t *consumed);
    /*
     * Appends the answers that `serve` put off with SERVE_LATER, at most LISTENER_LATE_BYTES.
     * Sessions are asked in the order in which they put off answers. All of them are asked before
     * any is served again; a connection may have been closed meanwhile. NULL: the service never
     * puts off answers.
     */
    void (*answer)(void *context, void *session, struct output *output);
    /*
     * Appends the answer that had to wait with SERVE_WAIT, to an output as `serve` gets it. Appends nothing if `serve`
     * took nothing of the request, which is then served again. False: there is no answer yet. NULL: the service never
     * lets an answer wait.
     */
    bool (*resume)(void *context, void *session, struct output *output);
    /* True: the answer that `resume` appended is the last one of its connection. NULL: none is */
    bool (*ends)(void *context, void *session);
    /*
     * Appends, to an output as for `serve`, the next piece of an answer that goes on with SERVE_FEED. False: the answer
     * is over, and the connection with it. NULL: the service never has such an answer.
     */
    bool (*feed)(void *context, void *session, struct output *output);
    /*
     * Appends, to an output as for `serve`, what can be said by now to requests that wait. False: nothing waits any
     * more, and all is said. NULL: the service never sets `rouses`.
     */
    bool (*rouse)(void *context, void *session, struct output *output);
    /*
     * True if the client has shown who it is. Asked after each time the client was served, until it
     * is true. NULL: it is true for every client.
     */
    bool (*knows)(void *context, void *session);
    void (*close)(void *context, void *session); /* may be NULL */
    struct tls *tls; /* what clients of TLS are shown; NULL: the bytes are plain. Must outlive the listener */
    /* The protocols that the service speaks, as ALPN has them: "\x02h2". NULL: whatever the client says */
    const char *alpn;
    /*
     * Appends what a client that waits for nothing is told when the listener closes. NULL, or nothing appended: its
     * connection just ends.
     */
    void (*leave)(void *context, void *session, struct output *output);
    /* The text that a client gets before its connection is closed, in the form of the protocol. NULL: no text. */
    const char *too_many;    /* as many connections are open as are allowed */
    const char *unfinished;  /* a request is not complete in time */
    const char *no_password; /* the client did not show in time who it is */
};

struct handed;

struct listener_options {
    uint32_t connections_max; /* a further client gets an error and is closed */
    /* bytes of all buffers that connections hold; a connection that needs more is closed */
    size_t buffers_max_bytes;
    /*
     * Answers wait with SERVE_LATER only if the loop had at least so many reads in its turn before
     * (0: always). Deciding and writing one answer after the other takes a tenth less work for
     * each. But the first client waits for the last one, and where there are few clients, the loop
     * has time.
     */
    uint32_t crowd_count;
    /* a connection is closed if its reader takes nothing of its replies for so long */
    uint64_t stall_timeout_ms;
    uint64_t close_timeout_ms; /* the time that a closing connection has to read its last reply */
    /*
     * When there are connections_max connections, a new one replaces the oldest stranger of an
     * address that crowds (listener_find_crowd), a stranger that was accepted newcomer_ms ago or
     * earlier, or a connection that was silent for quiet_ms.
     */
    uint64_t newcomer_ms, quiet_ms;
    uint32_t crowd_strangers;    /* fewer strangers of one address are no crowd */
    uint64_t request_timeout_ms; /* a connection is closed if a request is not complete after so long */
    /* a connection is closed if the service does not know its client after so long; 0: never */
    uint64_t stranger_timeout_ms;
    uint64_t idle_timeout_ms; /* a connection is closed if it is silent for so long; 0: never */
    /* All work is in units of the service. */
    /* a connection is light if it asks for less at a time; a light one gets so much work at once */
    uint32_t light_work;
    uint32_t turn_work;   /* the work of all other connections together in a turn of the loop, with the visits */
    uint32_t visit_work;  /* the work that one visit to such a connection costs by itself: a read and a write */
    uint32_t accepts_max; /* connections that are accepted in one turn */
    /* For several listeners, each with a loop in a thread of its own: */
    atomic_uint_least32_t
        /* the connections of all listeners, of which connections_max is the limit. NULL: there is one listener */
        *connected;
    uint64_t id_first, id_step; /* ids are id_first, id_first + id_step and so on */
    bool shares_port;           /* other listeners may share the port */
    /* sockets that listen already, used where their address is asked for; NULL: there are none */
    struct handed *handed;
    /* false: clients of such sockets wait to be accepted. Any thread may change it. NULL: nobody waits */
    const atomic_bool *accepts_handed;
    uint32_t thread; /* the number of this listener among those of the same addresses, from 0 */
};

#define LISTENER_OPTIONS_DEFAULT                                                                                   \
    ((struct listener_options){.connections_max = 10000,                                                           \
                               .buffers_max_bytes = (size_t)256 << 20,                                             \
                               .crowd_count = 6,                                                                   \
                               .stall_timeout_ms = 30000,                                                          \
                               .close_timeout_ms = 1000,                                                           \
                               .newcomer_ms = 1000,                                                                \
                               .quiet_ms = 10000,                                                                  \
                               .crowd_strangers = 16,                                                              \
                               .request_timeout_ms = 10000,                                                        \
                               .visit_work = 50,                                                                   \
                               .light_work = 128,                                                                  \
                               .turn_work = 384,                                                                   \
                               .accepts_max = 4,                                                                   \
                               .id_first = 1,                                                                      \
                               .id_step = 1})

/*
 * X(name, what it counts). The listener's loop writes the counters as base/metric.h does: any
 * thread may read them.
 */
#define LISTENER_STATS(X)                                                                                          \
    X(connected_clients, "connections (now)")                                                                      \
    X(blocked_clients, "connections that are not read because they do not take their replies (now)")               \
    X(buffer_bytes, "held for half frames and untaken replies (now)")                                              \
    X(total_connections_received, "connections accepted")                                                          \
    X(rejected_connections, "connections closed at once: too many")                                                \
    X(closed_for_room, "silent connections closed because others came while there were too many")                  \
    X(closed_crowds, "of these, connections of an address with very many that had not asked anything yet")         \
    X(closed_unfinished, "connections closed: a request was begun and did not become whole in time")               \
    X(closed_strangers, "connections closed: no password in time")                                                 \
    X(closed_idle, "connections closed: silent for too long")                                                      \
    X(turns_put_off, "turns of the loop in which a connection had to leave the rest of its requests for another")  \
    X(accept_failures, "connections that could not be accepted: no descriptors or memory")                         \
    X(closed_by_error, "connections closed after a protocol error or QUIT")                                        \
    X(closed_stalled, "connections closed: replies not taken in time")                                             \
    X(closed_no_buffer, "connections closed: no buffer left for them")                                             \
    X(tls_handshakes, "handshakes of TLS that were completed")                                                     \
    X(tls_resumed, "of these, handshakes that resumed an earlier session")                                         \
    X(tls_failures, "connections closed: the handshake of TLS failed")                                             \
    X(tls_plain, "connections closed: they did not begin with TLS on a port for it")                               \
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

/* Strangers of some addresses, the oldest first. */
struct listener_place {
    struct list strangers;
    uint32_t count;
};

struct listener {
    uv_loop_t *loop;
    struct service service; /* for addresses without a service of their own */
    struct listener_options options;
    struct listener_stats stats;
    uv_poll_t polls[LISTENER_SOCKETS_MAX]; /* say when clients of a socket are there */
    int socket_fd[LISTENER_SOCKETS_MAX];
    struct service socket_service[LISTENER_SOCKETS_MAX]; /* for the connections of each socket */
    bool handed[LISTENER_SOCKETS_MAX];                   /* the socket listened already */
    /* the socket is not polled: its clients wait for a slot, for a descriptor, or as clients of handed sockets do */
    bool waiting[LISTENER_SOCKETS_MAX];
    uint32_t socket_count;
    uint32_t slots_used;
    uint32_t slots_max;
    char *slots; /* room for all connections; memory is touched when a connection first uses it */
    struct list connections, free_connections;
    struct list timed; /* connections with a deadline */
    struct list begun; /* connections that hold half a request, by deadline */
    /* all connections by whether the service knows the client; the longest silent connection first */
    struct list strangers, known;
    struct listener_place place[LISTENER_PLACES]; /* the strangers by where they come from: listener_places.c */
    uint8_t places_key[16];
    struct list delayed; /* connections that wait with SERVE_DELAY */
    /* connections that wait for a turn; the one that waits for longest is the first */
    struct list aside[LISTENER_WEIGHTS];
    uint64_t turn;           /* number of the loop's turn, from 1 on */
    bool is_over;            /* connections that are heard from now on must wait for the next turn */
    uint32_t accepted_count; /* connections that were accepted in this turn */
    struct list late; /* connections whose answers are put off; the one that waits for longest is the first */
    uint32_t late_count;
    uint32_t heard_count;           /* reads in this turn of the loop */
    bool crowded;                   /* the turn before had crowd_count reads */
    struct list waiters;            /* connections that wait with SERVE_WAIT */
    struct list fed;                /* connections whose answer goes on with SERVE_FEED */
    struct list roused;             /* connections that are served while some of their requests wait */
    struct list unwritten;          /* connections whose answers wait to be written */
    struct output unwritten_output; /* the answers that wait to be written */
    uv_timer_t timer;
    uv_check_t polled;
    uv_timer_t again; /* accepts clients that wait for a descriptor */
    int spare_fd;     /* what clients are turned away with where no descriptor is free; -1: there is none */
    uv_idle_t busy;   /* runs while connections are aside: serves them, and keeps the loop from sleeping */
    struct pool pool;
    char *input, *output; /* shared by all connections */
    struct output sealed; /* likewise: what TLS has made of an output; see struct stream_port */
    uint64_t next_id;
    uint32_t handles_open; /* handles of sockets and connections, and the listener's own four */
    bool accepts_last;     /* all clients that wait are accepted, since the sockets close now */
    bool accepts_no_more;  /* the sockets are closed */
    bool closing;
    /* Private to the listener: a connection calls it when nothing of the connection is in use any more. */
    void (*released)(struct listener *listener, struct connection *connection);
    void (*closed)(void *context);
    void *closed_context;
};

/*
 * Initialises a listener without sockets. `loop` and everything that `service` points to must
 * outlive the listener. False only without memory.
 */
bool listener_init(struct listener *listener, uv_loop_t *loop, const struct service *service,
                   const struct listener_options *options, struct error *error);

/* What may change while the listener serves; see struct listener_options. */
struct listener_limits {
    uint32_t connections_max; /* at most what listener_init was given: no room is made for more */
    uint64_t request_timeout_ms, stranger_timeout_ms, idle_timeout_ms;
};
/*
 * Connections that are there stay, even if there are more than connections_max now. A request that has begun keeps the
 * deadline that it had, and delays no other's by more than that.
 */
void listener_change(struct listener *listener, const struct listener_limits *limits);

/*
 * Listens for clients of `service` on `address`: "host:port", "[v6]:port", "*:port" (all
 * interfaces, v6 and v4). Port 0 takes a free port. The sessions of `service` must not be larger
 * than those of listener_init's service. May be called for several addresses. False with
 * EX_UNAVAILABLE (69) for a busy port, EX_CONFIG (78) for an address of no known form, EX_NOHOST
 * (68) for an unknown host, EX_NOPERM (77) for a port that needs root.
 */
bool listener_bind(struct listener *listener, const char *address, const struct service *service,
                   struct error *error);

/*
 * Listens on the address of the next socket of `first`, a listener of another thread that shares
 * its ports: the system deals out connections between the two. Must be called once for each socket
 * of `first`, in their order.
 */
bool listener_join(struct listener *listener, const struct listener *first, const struct service *service,
                   struct error *error);

/*
 * Has all answers that were put off appended and written. The owner must call it whenever the loop
 * has polled, and, also during `serve`, before it changes anything that the answers depend on.
 */
void listener_answer(struct listener *listener);

/*
 * Asks the services for the answers of all connections that wait. The owner must call it now and
 * then while some wait.
 */
void listener_resume(struct listener *listener);
static inline bool listener_waits(const struct listener *listener)
{
    return !list_empty(&listener->waiters);
}

/* Does the same for single requests that wait, of connections that are served meanwhile. */
void listener_rouse(struct listener *listener);
static inline bool listener_rouses(const struct listener *listener)
{
    return !list_empty(&listener->roused);
}

/*
 * Asks for the next piece of each answer that goes on. The owner calls it now and then while there are some. A reader
 * that has not taken the piece before gets none this time; one that takes nothing is closed as any stalled reader is.
 */
void listener_feed(struct listener *listener);
static inline bool listener_feeds(const struct listener *listener)
{
    return !list_empty(&listener->fed);
}

/* The port of the socket `index` in the order of binding: for tests that bind port 0. */
uint16_t listener_port(const struct listener *listener, uint32_t index);

/* Closes the sockets. Connections that are there go on. */
void listener_stop_accepting(struct listener *listener);
/*
 * Stops accepting and reading, lets readers take all answers that are given or about to be given
 * (for close_timeout_ms at most), and closes everything. `closed` is called from the loop when
 * nothing is left: from then on the listener's memory may be freed.
 */
void listener_close(struct listener *listener, void (*closed)(void *context), void *context);

#endif
