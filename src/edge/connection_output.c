#include "edge/connection_parts.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

enum { FAREWELL_MAX_BYTES = 256 }; /* an error before a connection is closed for its silence */

/* ---- states ---- */

void connection_set_state(struct connection *connection, enum connection_state state)
{
    struct listener_stats *stats = &connection->listener->stats;
    if (connection->state == CONNECTION_BLOCKED)
        tally_add(&stats->blocked_clients, UINT64_MAX); /* one less */
    connection->state = state;
    if (state == CONNECTION_BLOCKED)
        tally_add(&stats->blocked_clients, 1);
}

static void on_closed(uv_handle_t *handle)
{
    struct connection *connection = handle->data;
    struct listener *listener = connection->listener;
    pool_put(&listener->pool, &connection->input);
    pool_put(&listener->pool, &connection->output);
    connection_count_buffers(listener);
    connection->state = CONNECTION_FREE;
    listener_release(listener, connection);
}

void connection_close(struct connection *connection)
{
    struct listener *listener = connection->listener;
    if (connection->state == CONNECTION_CLOSING)
        return;
    connection_set_state(connection, CONNECTION_CLOSING);
    list_remove(&connection->timed);
    list_remove(&connection->waiting);
    list_remove(&connection->backlog);
    list_remove(&connection->heard);
    assert(list_empty(&connection->unwritten));
    if (connection->has_session) {
        connection->has_session = false;
        listener_dismiss(listener);
        if (listener->service.close != NULL)
            listener->service.close(listener->service.context, connection->session);
    }
    uv_close((uv_handle_t *)&connection->tcp, on_closed);
}

void connection_close_for_want_of_room(struct connection *connection)
{
    tally_add(&connection->listener->stats.closed_no_buffer, 1);
    connection_close(connection);
}

/* ---- writing ---- */

static void on_written(uv_write_t *request, int status)
{
    struct connection *connection = request->handle->data;
    if (connection->state == CONNECTION_CLOSING)
        return;
    struct listener *listener = connection->listener;
    list_remove(&connection->timed);
    pool_put(&listener->pool, &connection->output);
    connection_count_buffers(listener);
    if (status < 0)
        connection_close(connection);
    else if (connection->state == CONNECTION_LAST)
        connection_linger(connection);
    else
        connection_serve_held(connection);
}

/*
 * How much the kernel takes at once; less than 0: the connection is broken. As uv_try_write, but by a call that is for
 * sockets only, which is a fiftieth less work: one answer at a time, nearly all of a daemon's time passes in it.
 */
static ssize_t send_at_once(struct connection *connection, const struct output *output)
{
    int fd;
    ssize_t sent;
    assert(uv_stream_get_write_queue_size(connection_stream(connection)) == 0); /* it would be overtaken */
    if (uv_fileno((const uv_handle_t *)&connection->tcp, &fd) != 0)
        return -1;
    do
        sent = send(fd, output->data, output->size, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    return sent < 0 && (errno == EAGAIN || errno == ENOBUFS) ? 0 : sent;
}

bool connection_write_now(struct connection *connection, const struct output *output)
{
    struct listener *listener = connection->listener;
    ssize_t sent = send_at_once(connection, output);
    if (sent < 0)
        return false;
    tally_add(&listener->stats.total_writes, 1);
    tally_add(&listener->stats.total_net_output_bytes, output->size);
    size_t rest = output->size - (size_t)sent;
    if (rest == 0)
        return true;
    connection->output = pool_take(&listener->pool, rest);
    if (connection->output == NULL) {
        tally_add(&listener->stats.closed_no_buffer, 1);
        return false;
    }
    connection_count_buffers(listener);
    memcpy(connection->output->data, output->data + sent, rest);
    uv_buf_t piece = uv_buf_init(connection->output->data, (unsigned)rest);
    connection_set_state(connection, CONNECTION_BLOCKED);
    if (uv_write(&connection->write, connection_stream(connection), &piece, 1, on_written) != 0)
        return false;
    connection->queued_bytes = uv_stream_get_write_queue_size(connection_stream(connection));
    listener_watch(listener, connection, listener->options.stall_timeout_ms);
    return true;
}

void connection_write_or_close(struct connection *connection, const struct output *output)
{
    if (!connection_write_now(connection, output))
        connection_close(connection);
    else if (connection->state == CONNECTION_BLOCKED)
        (void)uv_read_stop(connection_stream(connection));
}

/*
 * Writes when the loop has polled. Until then nobody is woken up for the answers of one connection, to sleep again
 * before those of the next are there; and the kernel, which has no room for itself beside the table in the nearest
 * caches, is entered so often in a row.
 */
void connection_write_soon(struct connection *connection, const struct output *output)
{
    struct listener *listener = connection->listener;
    struct output *unwritten = &listener->unwritten_output;
    assert(list_empty(&connection->unwritten));
    if (!output_has_room(unwritten, output->size))
        listener_write(listener);
    if (!output_has_room(unwritten, output->size)) {
        connection_write_or_close(connection, output);
        return;
    }
    connection->unwritten_at = unwritten->size;
    connection->unwritten_bytes = output->size;
    output_append(unwritten, output->data, output->size);
    list_insert_before(&listener->unwritten, &connection->unwritten);
}

void connection_write(struct connection *connection)
{
    struct output output = output_over(connection->listener->unwritten_output.data + connection->unwritten_at,
                                       connection->unwritten_bytes);
    output.size = output.room;
    list_remove(&connection->unwritten);
    connection_write_or_close(connection, &output);
}

/* ---- closing ---- */

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct connection *connection = request->handle->data;
    if (status < 0)
        connection_close(connection);
}

/*
 * Closing a socket with unread input resets it, and a reset overtakes the last reply. So: say that nothing
 * more comes, and throw input away until the client closes too or the deadline comes.
 */
void connection_linger(struct connection *connection)
{
    struct listener *listener = connection->listener;
    connection_set_state(connection, CONNECTION_LINGERING);
    (void)connection_hold(connection, NULL, 0);
    if (uv_shutdown(&connection->shutdown, connection_stream(connection), on_shutdown) != 0 ||
        !connection_read(connection)) {
        connection_close(connection);
        return;
    }
    listener_watch(listener, connection, listener->options.close_timeout_ms);
}

void connection_finish(struct connection *connection)
{
    uint64_t timeout_ms = connection->listener->options.close_timeout_ms;
    switch (connection->state) {
    case CONNECTION_OPEN:
        if (list_empty(&connection->waiting))
            connection_close(connection);
        else
            listener_watch(connection->listener, connection, timeout_ms);
        break;
    case CONNECTION_BLOCKED:
        connection_set_state(connection, CONNECTION_LAST);
        listener_watch(connection->listener, connection, timeout_ms);
        break;
    case CONNECTION_LAST:
    case CONNECTION_LINGERING:
        listener_watch(connection->listener, connection, timeout_ms);
        break;
    case CONNECTION_FREE:
    case CONNECTION_CLOSING:
        break;
    }
}

void connection_turn_out(struct connection *connection, uint64_t *count, const char *text)
{
    char farewell[FAREWELL_MAX_BYTES];
    struct output output = output_over(farewell, sizeof farewell);
    output_append(&output, text, strlen(text));
    tally_add(count, 1);
    if (output.size > 0 && connection->state == CONNECTION_OPEN && list_empty(&connection->unwritten))
        (void)send_at_once(connection, &output);
    connection_close(connection);
}

bool connection_is_quiet(const struct connection *connection)
{
    return connection->state == CONNECTION_OPEN && list_empty(&connection->waiting) &&
           list_empty(&connection->backlog) && list_empty(&connection->late) && list_empty(&connection->unwritten);
}

void connection_expire(struct connection *connection)
{
    struct listener *listener = connection->listener;
    size_t queued = uv_stream_get_write_queue_size(connection_stream(connection));
    bool moves = connection->state == CONNECTION_BLOCKED && queued < connection->queued_bytes;
    if (moves) {
        connection->queued_bytes = queued;
        listener_watch(listener, connection, listener->options.stall_timeout_ms);
        return;
    }
    if (connection->state == CONNECTION_BLOCKED || connection->state == CONNECTION_LAST)
        tally_add(&listener->stats.closed_stalled, 1);
    connection_close(connection);
}
