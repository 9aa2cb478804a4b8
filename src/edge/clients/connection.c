/*
 * The beginning and the end of a connection: accepts or refuses a client, changes states, lets the
 * client take the last answers, and closes the connection at its deadline.
 */
#include "edge/clients/connection_parts.h"

#include <assert.h>
#include <string.h>

/* bytes of the error that a client gets before its connection is closed for its silence */
enum { FAREWELL_MAX_BYTES = 256 };

size_t connection_bytes(size_t session_bytes)
{
    size_t align = _Alignof(struct connection);
    return (sizeof(struct connection) + session_bytes + align - 1) / align * align;
}

/* ---- states ---- */

void connection_set_state(struct connection *connection, enum connection_state state)
{
    struct listener_stats *stats = &connection->listener->stats;
    if (connection->state == CONNECTION_BLOCKED)
        metric_add(&stats->blocked_clients, UINT64_MAX); /* subtracts one */
    connection->state = state;
    if (state == CONNECTION_BLOCKED)
        metric_add(&stats->blocked_clients, 1);
}

void connection_listen(struct connection *connection)
{
    if (!stream_watch(&connection->stream))
        connection_close(connection);
}

/* Takes an admitted connection off the count of connections. */
static void dismiss(struct listener *listener)
{
    if (listener->options.connected)
        (void)atomic_fetch_sub_explicit(listener->options.connected, 1, memory_order_relaxed);
    metric_set(&listener->stats.connected_clients, listener->stats.connected_clients - 1);
}

void connection_close(struct connection *connection)
{
    struct listener *listener = connection->listener;
    if (connection->state == CONNECTION_CLOSING)
        return;
    connection_set_state(connection, CONNECTION_CLOSING);
    list_remove(&connection->timed);
    list_remove(&connection->waiting);
    list_remove(&connection->roused);
    list_remove(&connection->aside);
    list_remove(&connection->heard);
    listener_leave_place(connection);
    assert(list_empty(&connection->unwritten));
    if (connection->has_session) {
        connection->has_session = false;
        dismiss(listener);
        if (connection->service->close != NULL)
            connection->service->close(connection->service->context, connection->session);
    }
    stream_close(&connection->stream);
}

void connection_close_for_want_of_room(struct connection *connection)
{
    metric_add(&connection->listener->stats.closed_no_buffer, 1);
    connection_close(connection);
}

/* ---- what the stream tells ---- */

static void on_readable(struct stream *stream)
{
    connection_hear(connection_of(stream));
}

static void on_written(struct stream *stream, bool broken)
{
    connection_note_written(connection_of(stream), broken);
}

static void on_broken(struct stream *stream)
{
    connection_close(connection_of(stream));
}

static void on_closed(struct stream *stream)
{
    struct connection *connection = connection_of(stream);
    struct listener *listener = connection->listener;
    pool_put(&listener->pool, &connection->input);
    pool_put(&listener->pool, &connection->output);
    connection_count_buffers(listener);
    connection->state = CONNECTION_FREE;
    listener->released(listener, connection);
}

static const struct stream_events stream_events = {on_readable, on_written, on_broken, on_closed};

/* ---- accepting ---- */

static void start(struct connection *connection, struct listener *listener, uint32_t socket)
{
    *connection = (struct connection){.listener = listener,
                                      .service = &listener->socket_service[socket],
                                      .state = CONNECTION_OPEN,
                                      .weight = LISTENER_NEW};
    list_insert_before(&listener->connections, &connection->link);
    list_init(&connection->timed);
    list_init(&connection->late);
    list_init(&connection->waiting);
    list_init(&connection->roused);
    list_init(&connection->unwritten);
    list_init(&connection->aside);
    list_init(&connection->heard);
    list_init(&connection->at_place);
    memset(connection->session, 0, connection->service->session_bytes);
    stream_init(&connection->stream, listener->loop, &stream_events);
    listener->handles_open++;
}

static struct stream_port port_of(const struct connection *connection)
{
    const struct service *service = connection->service;
    return (struct stream_port){service->tls, service->alpn, &connection->listener->sealed};
}

void connection_accept(struct connection *connection, struct listener *listener, uint32_t socket, int fd,
                       uint64_t id)
{
    start(connection, listener, socket);
    const struct stream_port port = port_of(connection);
    if (!stream_accept(&connection->stream, fd, &port)) {
        metric_add(&listener->stats.accept_failures, 1);
        dismiss(listener);
        connection_close(connection);
        return;
    }
    metric_add(&listener->stats.total_connections_received, 1);
    connection->has_session = true;
    listener_meet(listener, connection);
    connection->greets = connection->stream.greeting == STREAM_GREETS;
    if (connection->greets) /* it is a request that has begun: its deadline is the same */
        listener_note_begun(listener, connection);
    char address[LISTENER_ADDRESS_BYTES];
    stream_describe_peer(&connection->stream, address, sizeof address);
    connection->service->open(connection->service->context, connection->session, id, address);
    connection_listen(connection);
}

void connection_refuse(struct connection *connection, struct listener *listener, uint32_t socket, int fd)
{
    start(connection, listener, socket);
    const struct stream_port plain = {0}; /* a handshake would be work for nothing */
    if (stream_accept(&connection->stream, fd, &plain)) {
        const char *text = connection->service->tls == NULL ? connection->service->too_many : NULL;
        struct bytes rest;
        if (text != NULL)
            (void)stream_write(&connection->stream, text, strlen(text), &rest);
        metric_add(&listener->stats.rejected_connections, 1);
    } else {
        metric_add(&listener->stats.accept_failures, 1);
    }
    connection_close(connection);
}

/* ---- closing ---- */

/*
 * Closing a socket that has unread input resets the connection, and the reset overtakes the last
 * reply. So the daemon says that no more output comes, and throws input away until the client
 * closes as well or the deadline comes.
 */
void connection_linger(struct connection *connection)
{
    struct listener *listener = connection->listener;
    connection_set_state(connection, CONNECTION_LINGERING);
    list_remove(&connection->aside); /* what waits there has no turn any more */
    (void)connection_hold(connection, NULL, 0);
    if (!stream_shut(&connection->stream) || !stream_watch(&connection->stream)) {
        connection_close(connection);
        return;
    }
    listener_watch(listener, connection, listener->options.close_timeout_ms);
}

/* The client waits for nothing. */
static void take_leave(struct connection *connection)
{
    const struct service *service = connection->service;
    struct output output = output_over(connection->listener->output, POOL_LARGE_BYTES);
    if (service->leave != NULL && connection->has_session)
        service->leave(service->context, connection->session, &output);
    if (output.size == 0 || !connection_write_now(connection, &output))
        connection_close(connection);
    else if (connection->state == CONNECTION_BLOCKED)
        connection_finish(connection);
    else
        connection_linger(connection);
}

void connection_finish(struct connection *connection)
{
    uint64_t timeout_ms = connection->listener->options.close_timeout_ms;
    switch (connection->state) {
    case CONNECTION_OPEN:
        if (connection->fed)
            connection_close(connection);
        else if (list_empty(&connection->waiting))
            take_leave(connection);
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
    struct bytes rest;
    if (text != NULL)
        output_append(&output, text, strlen(text));
    metric_add(count, 1);
    if (output.size > 0 && connection->state == CONNECTION_OPEN && list_empty(&connection->unwritten))
        (void)stream_write(&connection->stream, output.data, output.size, &rest);
    connection_close(connection);
}

bool connection_is_quiet(const struct connection *connection)
{
    return connection->state == CONNECTION_OPEN && list_empty(&connection->waiting) &&
           list_empty(&connection->aside) && list_empty(&connection->late) && list_empty(&connection->unwritten);
}

void connection_expire(struct connection *connection)
{
    struct listener *listener = connection->listener;
    const size_t rest_bytes = stream_rest_bytes(&connection->stream);
    if (connection->state == CONNECTION_BLOCKED && rest_bytes < connection->rest_bytes) {
        connection->rest_bytes = rest_bytes; /* the reader took some bytes since the last deadline */
        listener_watch(listener, connection, listener->options.stall_timeout_ms);
        return;
    }
    if (connection->state == CONNECTION_BLOCKED || connection->state == CONNECTION_LAST)
        metric_add(&listener->stats.closed_stalled, 1);
    connection_close(connection);
}
