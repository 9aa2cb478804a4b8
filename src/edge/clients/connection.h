/*
 * connection: one client's stream, from accept to close. Internal to the listener.
 *
 * The one idea: a connection is read only while it owes nothing, and only when it is its turn. When a
 * reader does not take its replies, what is left of them and of its unserved input waits in buffers of
 * the pool, and reading stops: memory per connection is bounded, and the client's own socket pushes back
 * on it. Three things, a file each: connection_input.c reads, connection_turn.c has the service serve
 * what was read, connection_output.c writes. connection.c has the beginning and the end.
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
    CONNECTION_OPEN,      /* read from; owes no output */
    CONNECTION_BLOCKED,   /* not read; its output waits for the reader */
    CONNECTION_LAST,      /* not read; closes when its output was taken */
    CONNECTION_LINGERING, /* told the end of our output; its input is thrown away until it ends as well */
    CONNECTION_CLOSING,   /* stream_close was called */
};

struct connection {
    struct listener *listener;
    const struct service *service; /* the socket's that accepted it */
    struct list link;              /* of all connections, or of the free ones */
    struct list timed;             /* in a list of the listener's while it has a deadline */
    struct list late;              /* in the listener's list while its answers are put off, */
    struct list waiting;           /* and while it waits for one: then it is not read */
    struct list aside;     /* in the listener's list of its weight while it waits for a turn: then it is not read */
    struct list heard;     /* in the listener's list of strangers or of those that it knows */
    struct list unwritten; /* in the listener's list while it has answers there that are not written, */
    size_t unwritten_at, unwritten_bytes; /* and where they are */
    uint64_t deadline_ms;                 /* on the loop's clock */
    size_t rest_bytes;                    /* not yet taken by the reader when the deadline was set */
    uint64_t heard_ms;  /* when it was heard, within LISTENER_HEARD_STEP_MS; a stranger: accepted */
    uint64_t resume_ms; /* when it has waited with SERVE_DELAY for long enough */
    uint64_t turn;      /* of the loop in which it was served last */
    struct pool_buffer *input, *output;
    size_t input_at, input_size; /* what is held, in `input` */
    bool input_whole;            /* that may be whole requests: they are served before more is read */
    bool input_more;             /* the last read filled its room: more may be there */
    bool stranger;
    enum listener_weight weight;
    enum connection_state state;
    bool has_session;
    struct stream stream;
    _Alignas(16) char session[];
};

/* The bytes that a connection with such a session occupies. */
size_t connection_bytes(size_t session_bytes);

/* Takes over what that socket of the listener has accepted and the listener has admitted; `id` is the session's. */
void connection_accept(struct connection *connection, struct listener *listener, uint32_t socket, uint64_t id);
/* Takes over what that socket has accepted, says why it is not served, and closes. */
void connection_refuse(struct connection *connection, struct listener *listener, uint32_t socket);
/* Asks the service for the answers that the service put off, and writes the answers. */
void connection_answer(struct connection *connection);
/* Writes the connection's answers that wait in the listener's output together with answers of others. */
void connection_write(struct connection *connection);
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

/* Calls connection_write for all connections whose answers wait to be written. In connection_output.c. */
void listener_write(struct listener *listener);

/* ---- the listener's deadlines: listener_deadlines.c ---- */

void listener_deadlines_init(struct listener *listener);
/* The connection has a deadline in `timeout_ms`, in place of the one that it had. */
void listener_watch(struct listener *listener, struct connection *connection, uint64_t timeout_ms);
/* It was accepted. */
void listener_meet(struct listener *listener, struct connection *connection);
/* It was served: the service may know it now. */
void listener_ask_known(struct listener *listener, struct connection *connection);
/* It was heard after LISTENER_HEARD_STEP_MS or more. */
void listener_note_heard(struct listener *listener, struct connection *connection);
/* It begins a request that is not whole yet. */
void listener_note_begun(struct listener *listener, struct connection *connection);
/* It waits with SERVE_DELAY. */
void listener_delay(struct listener *listener, struct connection *connection, uint32_t delay_ms);
/* Closes the one that was silent for longest, a stranger first. False: none was silent for long. */
bool listener_make_room(struct listener *listener);

/* ---- the listener's turns: listener_turns.c ---- */

void listener_turns_init(struct listener *listener);
/* Whether one that has something to read is served now. Otherwise it is put aside. */
bool listener_serves_now(const struct listener *listener, const struct connection *connection);
/* It waits for another turn, behind others of its weight: it is not read. */
void listener_put_aside(struct listener *listener, struct connection *connection);
/* It was served for so much work, after which something is left or not: that makes its weight. */
void listener_weigh(struct listener *listener, struct connection *connection, uint32_t work, bool left);
/* A turn of the loop ends. */
void listener_end_turn(struct listener *listener);

#endif
