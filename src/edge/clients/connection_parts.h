/*
 * connection_parts: what the files of connection.h share. No other file may include it.
 *
 * The one idea: each of these files knows only what is declared here of the others.
 */
#ifndef HEADGATE_EDGE_CLIENTS_CONNECTION_PARTS_H
#define HEADGATE_EDGE_CLIENTS_CONNECTION_PARTS_H

#include "base/metric.h"
#include "edge/clients/connection.h"

static inline struct connection *connection_of(struct stream *stream)
{
    return LIST_OWNER(stream, struct connection, stream);
}

static inline void connection_count_buffers(struct listener *listener)
{
    metric_set(&listener->stats.buffer_bytes, listener->pool.taken_bytes);
}

/* ---- connection.c ---- */

void connection_set_state(struct connection *connection, enum connection_state state);
/* Has the connection read when something comes. Closes the connection if the loop cannot watch it. */
void connection_listen(struct connection *connection);
/* Says that no more output comes, and waits until the client says the same. */
void connection_linger(struct connection *connection);
void connection_close(struct connection *connection);
void connection_close_for_want_of_room(struct connection *connection);

/* ---- connection_input.c ---- */

/*
 * Reads what has come into the listener's input, behind the held input, up to a bound. True: *whole
 * is all unserved input. False: nothing has come, or the connection was closed.
 */
bool connection_read(struct connection *connection, struct bytes *whole);
/* Holds unserved input in place of the input that was held before. False: there is no buffer for it. */
bool connection_hold(struct connection *connection, const char *data, size_t size);
/* Throws away what has come. Closes the connection at the end of the stream. */
void connection_discard(struct connection *connection);

/* ---- connection_turn.c ---- */

/* Must be called when the connection has something to read. */
void connection_hear(struct connection *connection);
/* Must be called when the reader has taken all output: serves and reads on. */
void connection_go_on(struct connection *connection);

/* ---- connection_output.c ---- */

/*
 * Writes at once. The part that the reader does not take waits in a buffer; then the connection is
 * blocked and is neither read nor served. False: the connection must be closed.
 */
bool connection_write_now(struct connection *connection, const struct output *output);
/* Does the same, and closes the connection if it must be closed. */
void connection_write_or_close(struct connection *connection, const struct output *output);
/* Does the same when the loop has polled. A connection has at most one such piece at a time. */
void connection_write_soon(struct connection *connection, const struct output *output);
/* Must be called when the reader has taken the rest, or never will (`broken`). */
void connection_note_written(struct connection *connection, bool broken);

#endif
