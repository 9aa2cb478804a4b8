/*
 * connection_parts: what the two files of connection.h share, and nobody else.
 *
 * connection.c reads and serves; connection_output.c writes, and sees a connection to its end. Neither knows of the
 * other more than is declared here.
 */
#ifndef HEADGATE_EDGE_CONNECTION_PARTS_H
#define HEADGATE_EDGE_CONNECTION_PARTS_H

#include "base/tally.h"
#include "edge/connection.h"

static inline uv_stream_t *connection_stream(struct connection *connection)
{
    return (uv_stream_t *)&connection->tcp;
}

static inline void connection_count_buffers(struct listener *listener)
{
    tally_set(&listener->stats.buffer_bytes, listener->pool.taken_bytes);
}

/* ---- connection.c ---- */

/* Reads from the client, until it is stopped. False: that cannot be. */
bool connection_read(struct connection *connection);
/* Keeps unserved input until more comes, in place of what was kept. False when there is no buffer for it. */
bool connection_hold(struct connection *connection, const char *data, size_t size);
/* The reader has taken all: serves what had to wait, then reads on. */
void connection_serve_held(struct connection *connection);

/* ---- connection_output.c ---- */

void connection_set_state(struct connection *connection, enum connection_state state);
/*
 * Writes at once. What the reader does not take waits in a buffer; then the connection is blocked. False when the
 * connection has to be closed.
 */
bool connection_write_now(struct connection *connection, const struct output *output);
/* The same for one that is read: while it is blocked it is not, and it is closed if it has to be. */
void connection_write_or_close(struct connection *connection, const struct output *output);
/* The same when the loop has polled; a connection has one such piece at a time. */
void connection_write_soon(struct connection *connection, const struct output *output);
/* Says that nothing more comes, and waits for the client to say so as well. */
void connection_linger(struct connection *connection);
void connection_close(struct connection *connection);
void connection_close_for_want_of_room(struct connection *connection);

#endif
