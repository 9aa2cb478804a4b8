/*
 * connection: one client's socket, from accept to close. Internal to the listener.
 *
 * The one idea: a connection is read only while it owes nothing. When a reader does not take its replies,
 * what is left of them and of its unserved input waits in buffers of the pool, and reading stops: memory per
 * connection is bounded, and the client's own socket pushes back on it.
 */
#ifndef HEADGATE_EDGE_CONNECTION_H
#define HEADGATE_EDGE_CONNECTION_H

#include "base/list.h"
#include "edge/listener.h"
#include "edge/pool.h"

#include <stddef.h>
#include <stdint.h>
#include <uv.h>

enum connection_state {
    CONNECTION_FREE,
    CONNECTION_OPEN,      /* read from; owes no output */
    CONNECTION_BLOCKED,   /* not read; its output waits for the reader */
    CONNECTION_LAST,      /* not read; closes when its output was taken */
    CONNECTION_LINGERING, /* told the end of our output; its input is thrown away until it ends as well */
    CONNECTION_CLOSING,   /* uv_close was called */
};

struct connection {
    struct listener *listener;
    struct list link;      /* of all connections, or of the free ones */
    struct list timed;     /* in the listener's list while it has a deadline */
    struct list late;      /* in the listener's list while its answers are put off, */
    struct list waiting;   /* and while it waits for one: then it is not read */
    struct list unwritten; /* in the listener's list while it has answers there that are not written, */
    size_t unwritten_at, unwritten_bytes; /* and where they are */
    uint64_t deadline_ms;                 /* on the loop's clock */
    size_t queued_bytes;                  /* not yet taken by the reader when the deadline was set */
    struct pool_buffer *input, *output;
    size_t input_size;
    enum connection_state state;
    bool has_session;
    uv_tcp_t tcp;
    uv_write_t write;
    uv_shutdown_t shutdown;
    _Alignas(16) char session[];
};

/* The bytes that a connection with such a session occupies. */
size_t connection_bytes(size_t session_bytes);

/* Takes over what `socket` has accepted and the listener has admitted; `id` is the session's. */
void connection_accept(struct connection *connection, struct listener *listener, uv_tcp_t *socket, uint64_t id);
/* Takes over what `socket` has accepted, says why it is not served, and closes. */
void connection_refuse(struct connection *connection, struct listener *listener, uv_tcp_t *socket);
/* Asks the service for what it put off, and writes it. */
void connection_answer(struct connection *connection);
/* Writes those of its answers that wait with others'. */
void connection_write(struct connection *connection);
/* Asks the service for what it waits for, and goes on if that is known. */
void connection_resume(struct connection *connection);
/* Lets the reader take what was answered, then closes. */
void connection_finish(struct connection *connection);
/* Its deadline has come. */
void connection_expire(struct connection *connection);

/* The listener's: has connection_write called for all that wait. */
void listener_write(struct listener *listener);
/* The listener's: an admitted connection is one no more. */
void listener_dismiss(struct listener *listener);
/* The listener's: gives the slot of a closed connection back, and (re)starts the timer of deadlines. */
void listener_release(struct listener *listener, struct connection *connection);
void listener_watch(struct listener *listener, struct connection *connection, uint64_t timeout_ms);

#endif
