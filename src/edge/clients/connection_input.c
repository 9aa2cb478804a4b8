/*
 * Reads a connection piece by piece. A piece is about as much as one or two turns can serve. Input
 * that a client sends ahead waits in its socket, not in the daemon's buffers.
 */
#include "edge/clients/connection_parts.h"

#include <assert.h>
#include <string.h>

enum {
    READ_BYTES = 16 << 10,
    MODEST_READ_BYTES = POOL_SMALL_BYTES, /* the unserved part of such a read fits a small buffer */
    PLENTY_PART = 4,                      /* reads are modest while more than 1/4 of all buffers are taken */
};

static size_t room_of(const struct connection *connection)
{
    const struct pool *pool = &connection->listener->pool;
    const size_t room = POOL_LARGE_BYTES - connection->input_size;
    const bool plenty = pool->taken_bytes <= pool->bytes_max / PLENTY_PART;
    const size_t most = connection->weight == LISTENER_LIGHT || plenty ? READ_BYTES : MODEST_READ_BYTES;
    return room < most ? room : most;
}

static void note_read(struct connection *connection, size_t size)
{
    struct listener *listener = connection->listener;
    listener->heard_count++;
    metric_add(&listener->stats.total_reads, 1);
    metric_add(&listener->stats.total_net_input_bytes, size);
    if (uv_now(listener->loop) - connection->heard_ms >= LISTENER_HEARD_STEP_MS)
        listener_note_heard(listener, connection);
}

/* Counts what has become of the handshake, once it is over. */
static void note_greeting(struct connection *connection)
{
    struct listener_stats *stats = &connection->listener->stats;
    switch (connection->stream.greeting) {
    case STREAM_GREETS:
        return;
    case STREAM_READY:
        metric_add(&stats->tls_handshakes, 1);
        metric_add(&stats->tls_resumed, connection->stream.resumed);
        list_remove(&connection->timed);
        break;
    case STREAM_NOT_TLS:
        metric_add(&stats->tls_plain, 1);
        break;
    case STREAM_REFUSED:
        metric_add(&stats->tls_failures, 1);
        break;
    }
    connection->greets = false;
}

/* Puts the bytes that were held from earlier reads in front, so that the service sees one piece. */
bool connection_read(struct connection *connection, struct bytes *whole)
{
    char *input = connection->listener->input;
    const size_t held = connection->input_size, room = room_of(connection);
    assert(room > 0);
    const ssize_t size = stream_read(&connection->stream, input + held, room);
    if (connection->greets)
        note_greeting(connection);
    if (size < 0)
        connection_close(connection);
    if (size <= 0)
        return false;
    if (held > 0)
        memcpy(input, connection->input->data + connection->input_at, held);
    connection->input_more = (size_t)size == room;
    note_read(connection, (size_t)size);
    *whole = (struct bytes){input, held + (size_t)size};
    return true;
}

void connection_discard(struct connection *connection)
{
    ssize_t size = stream_read(&connection->stream, connection->listener->input, POOL_LARGE_BYTES);
    if (size < 0)
        connection_close(connection);
}

/* ---- what is held ---- */

/* True if `data` lies in the held input. */
static bool is_held(const struct connection *connection, const char *data)
{
    const struct pool_buffer *held = connection->input;
    return held != NULL && (uintptr_t)data >= (uintptr_t)held->data &&
           (uintptr_t)data - (uintptr_t)held->data < held->room;
}

bool connection_hold(struct connection *connection, const char *data, size_t size)
{
    struct pool *pool = &connection->listener->pool;
    struct pool_buffer *old = connection->input;
    assert(size <= POOL_LARGE_BYTES);
    const bool held = size > 0 && is_held(connection, data);
    bool fits =
        old != NULL && size > 0 && size <= old->room && (old->room == POOL_SMALL_BYTES || size > POOL_SMALL_BYTES);
    connection->input_size = size;
    if (!fits && !held)
        pool_put(pool, &connection->input);
    struct pool_buffer *other = fits || size == 0 ? NULL : pool_take(pool, size);
    if (held && other == NULL) { /* the input stays where it is */
        connection->input_at = (size_t)(data - old->data);
        return true;
    }
    if (other != NULL) {
        memcpy(other->data, data, size);
        pool_put(pool, &connection->input);
        connection->input = other;
    } else if (fits) {
        memcpy(old->data, data, size);
    }
    connection->input_at = 0;
    connection_count_buffers(connection->listener);
    return size == 0 || connection->input != NULL;
}
