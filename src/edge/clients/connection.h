/*
 * connection: one client's stream, from accept to close. Internal to the listener.
 *
 * The one idea: a connection is read only while it owes nothing, and only when it is its turn. When
 * a reader does not take its replies, the rest of the replies and of the unserved input waits in
 * buffers of the pool, and reading stops. So memory per connection is bounded, and the client's own
 * socket holds back what the client sends. Each part has a file: connection_input.c reads,
 * connection_turn.c has the service serve what was read, connection_output.c writes, connection.c
 * has the beginning and the end.
 */
#ifndef HEADGATE_EDGE_CLIENTS_CONNECTION_H
#define HEADGATE_EDGE_CLIENTS_CONNECTION_H

#include "base/list.h"
#include "edge/clients/listener.h"
#include "edge/clients/stream.h"
#include "edge/process/pool.h"

#include <stddef.h>
#include <stdint.h>

enum connection_state {
    CONNECTION_FREE,
    CONNECTION_OPEN,    /* read from; owes no output */
    CONNECTION_BLOCKED, /* not read; its output waits for the reader */
    CONNECTION_LAST,    /* not read; closes when the reader has taken its output */
    /* the client knows that no more output comes; its input is thrown away until the client closes as well */
    CONNECTION_LINGERING,
    CONNECTION_CLOSING, /* stream_close was called */
};

struct connection {
    struct listener *listener;
    const struct service *service; /* the service of the socket that accepted the connection */
    struct list link;              /* in the listener's list of all connections, or of free ones */
    struct list timed;             /* in a list of the listener while the connection has a deadline */
    struct list late;              /* in the listener's list of connections whose answers are put off */
    /* in the listener's list of connections that wait for an answer, or of those that are fed: they are not read */
    struct list waiting;
    /* in the listener's list of connections of one weight that wait for a turn, and are not read */
    struct list aside;
    struct list roused;   /* in the listener's list of connections some of whose requests wait */
    struct list heard;    /* in the listener's list of strangers, or of connections that the service knows */
    struct list at_place; /* in the list of `place` */
    struct listener_place *place;         /* of a stranger; NULL: the connection is none */
    struct list unwritten;                /* in the listener's list of connections with unwritten answers */
    size_t unwritten_at, unwritten_bytes; /* where the unwritten answers stand in the listener's output */
    uint64_t deadline_ms;                 /* on the clock of the loop */
    size_t rest_bytes;                    /* bytes that the reader had not taken when the deadline was set */
    /* when the connection was heard, within LISTENER_HEARD_STEP_MS; for a stranger: when it was accepted */
    uint64_t heard_ms;
    uint64_t resume_ms; /* when the wait of SERVE_DELAY is over */
    uint64_t turn;      /* the turn of the loop in which the connection was served last */
    struct pool_buffer *input, *output;
    size_t input_at, input_size; /* the part of `input` that holds unserved bytes */
    bool input_whole; /* the held input may have whole requests: they must be served before more is read */
    bool input_more;  /* the last read filled its room: there may be more to read */
    bool greets;      /* the handshake of TLS is not over; until then `timed` has its deadline */
    bool fed;         /* the answer goes on until the connection ends: `waiting` is in the listener's list `fed` */
    bool retries; /* it waits with SERVE_WAIT: without an answer, what is left is served if the client is there */
    bool stranger;
    enum listener_weight weight;
    enum connection_state state;
    bool has_session;
    struct stream stream;
    _Alignas(16) char session[];
};

/* The bytes that a connection with such a session occupies. */
size_t connection_bytes(size_t session_bytes);

/*
 * Takes over a client `fd` that socket number `socket` has accepted and the listener has admitted. `id`
 * is the session's.
 */
void connection_accept(struct connection *connection, struct listener *listener, uint32_t socket, int fd,
                       uint64_t id);
/*
 * Takes over a client `fd` that socket number `socket` has accepted, tells the client why it is not
 * served, and closes.
 */
void connection_refuse(struct connection *connection, struct listener *listener, uint32_t socket, int fd);
/* Asks the service for the answer that the connection waits for, and serves on if the service has it. */
void connection_resume(struct connection *connection);
/* Lets the client take all answers, then closes the connection. */
void connection_finish(struct connection *connection);
/*
 * Serves the requests that have come, as far as `work` allows, and leaves the rest of the work in `work`. If requests
 * are left, the connection waits for another turn; otherwise it is read when something comes.
 */
void connection_take_turn(struct connection *connection, uint32_t *work);
/* The deadline of the connection has come. */
void connection_expire(struct connection *connection);
/* Closes the connection and counts that in `count`. The client is told `text`, unless `text` is NULL or the client does
 * not take its answers. */
void connection_turn_out(struct connection *connection, uint64_t *count, const char *text);
/* True if no request of the connection is being served, and no answer is being written or waited for. */
bool connection_is_quiet(const struct connection *connection);

/* Writes the answers of all connections that wait in the output of the listener. In connection_output.c. */
void listener_write(struct listener *listener);

/* Accepts clients of the socket when they come. In listener.c. */
void listener_await_clients(struct listener *listener, uint32_t index);

/* ---- the listener's deadlines: listener_deadlines.c ---- */

void listener_deadlines_init(struct listener *listener);
/* Gives the connection a deadline in `timeout_ms`. The deadline replaces an earlier one. */
void listener_watch(struct listener *listener, struct connection *connection, uint64_t timeout_ms);
/* Must be called when the connection was accepted. */
void listener_meet(struct listener *listener, struct connection *connection);
/* Must be called when the connection was served: the service may know its client from then on. */
void listener_ask_known(struct listener *listener, struct connection *connection);
/* Must be called when the connection was heard, LISTENER_HEARD_STEP_MS or more after the time before. */
void listener_note_heard(struct listener *listener, struct connection *connection);
/* Must be called when the connection begins a request that is not complete yet. */
void listener_note_begun(struct listener *listener, struct connection *connection);
/* Has the connection resumed in `delay_ms`, for SERVE_DELAY. */
void listener_delay(struct listener *listener, struct connection *connection, uint32_t delay_ms);
/*
 * Closes the connection that was silent for longest, a stranger first. False: no connection was
 * silent for long enough.
 */
bool listener_make_room(struct listener *listener);
/*
 * Closes connections whose clients do not take their answers, until enough buffers are spare for a turn of the loop:
 * otherwise a connection that needs one would be closed. Must be called when nothing goes through lists of connections.
 */
void listener_spare_buffers(struct listener *listener);

/* ---- strangers by where they come from: listener_places.c ---- */

void listener_places_init(struct listener *listener);
void listener_enter_place(struct listener *listener, struct connection *connection);
/* The connection is no stranger any more, or closes. */
void listener_leave_place(struct connection *connection);
/*
 * The oldest stranger of the address that has most, if it has a quarter of all connections: slow handshakes of others
 * need not leave for its connections. NULL: no address has so many.
 */
struct connection *listener_find_crowd(const struct listener *listener);

/* ---- the listener's turns: listener_turns.c ---- */

void listener_turns_init(struct listener *listener);
/* True if a connection that has something to read is served now. Otherwise it must be put aside. */
bool listener_serves_now(const struct listener *listener, const struct connection *connection);
/* Lets the connection wait for another turn, behind others of its weight. It is not read meanwhile. */
void listener_put_aside(struct listener *listener, struct connection *connection);
/* Sets the weight of the connection. The connection was served for `work` units; `left`: unserved input is left. */
void listener_weigh(struct listener *listener, struct connection *connection, uint32_t work, bool left);
/* Must be called when a turn of the loop ends. */
void listener_end_turn(struct listener *listener);

#endif
