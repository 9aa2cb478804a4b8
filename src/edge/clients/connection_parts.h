/*
 * connection_parts: what the files of connection.h share, and nobody else.
 *
 * None of them knows more of the others than is declared here.
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
/* Has it read when something comes; closes it if that cannot be. */
void connection_listen(struct connection *connection);
/* Says that nothing more comes, and waits for the client to say so as well. */
void connection_linger(struct connection *connection);
void connection_close(struct connection *connection);
void connection_close_for_want_of_room(struct connection *connection);

/* ---- connection_input.c ---- */

/*
 * Reads what has come into the listener's input, behind what is held, a bounded piece of it. True: *whole is what there
 * is now. False: nothing has come, or the connection was closed.
 */
bool connection_read(struct connection *connection, struct bytes *whole);
/* Keeps unserved input in place of what was kept. False when there is no buffer for it. */
bool connection_hold(struct connection *connection, const char *data, size_t size);
/* Throws away what has come; closes it at the end. */
void connection_discard(struct connection *connection);

/* ---- connection_turn.c ---- */

/* Something has come to it. */
void connection_hear(struct connection *connection);
/* The reader has taken all: goes on where it had to stop. */
void connection_go_on(struct connection *connection);

/* ---- connection_output.c ---- */

/*
 * Writes at once. What the reader does not take waits in a buffer; then the connection is blocked, neither
 * read nor served. False when the connection has to be closed.
 */
bool connection_write_now(struct connection *connection, const struct output *output);
/* The same, and closes it if it has to be. */
void connection_write_or_close(struct connection *connection, const struct output *output);
/* The same when the loop has polled; a connection has one such piece at a time. */
void connection_write_soon(struct connection *connection, const struct output *output);
/* The rest was taken, or never will be. */
void connection_note_written(struct connection *connection, bool broken);

#endif
