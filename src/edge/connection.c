#include "edge/connection.h"

#include "base/tally.h"

#include <arpa/inet.h>
#include <assert.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static const char too_many[] = "-ERR max number of clients reached\r\n";

size_t connection_bytes(size_t session_bytes)
{
    size_t align = _Alignof(struct connection);
    return (sizeof(struct connection) + session_bytes + align - 1) / align * align;
}

static uv_stream_t *stream_of(struct connection *connection)
{
    return (uv_stream_t *)&connection->tcp;
}

static void count_buffers(struct listener *listener)
{
    tally_set(&listener->stats.buffer_bytes, listener->pool.taken_bytes);
}

static void set_state(struct connection *connection, enum connection_state state)
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
    count_buffers(listener);
    connection->state = CONNECTION_FREE;
    listener_release(listener, connection);
}

static void close_now(struct connection *connection)
{
    struct listener *listener = connection->listener;
    if (connection->state == CONNECTION_CLOSING)
        return;
    set_state(connection, CONNECTION_CLOSING);
    list_remove(&connection->timed);
    list_remove(&connection->waiting);
    if (connection->has_session) {
        connection->has_session = false;
        listener_dismiss(listener);
        if (listener->service.close != NULL)
            listener->service.close(listener->service.context, connection->session);
    }
    uv_close((uv_handle_t *)&connection->tcp, on_closed);
}

/* ---- reading ---- */

/* What is held from earlier goes in front, so that the service sees one piece. */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct connection *connection = handle->data;
    char *input = connection->listener->input;
    if (connection->input_size > 0)
        memcpy(input, connection->input->data, connection->input_size);
    *buffer = uv_buf_init(input + connection->input_size, (unsigned)(POOL_LARGE_BYTES - connection->input_size));
}

/* Keeps unserved input until more comes. False when there is no buffer for it. */
static bool hold_input(struct connection *connection, const char *data, size_t size)
{
    struct pool *pool = &connection->listener->pool;
    assert(size <= POOL_LARGE_BYTES);
    connection->input_size = size;
    bool fits = connection->input != NULL && size > 0 && size <= connection->input->room &&
                (connection->input->room == POOL_SMALL_BYTES || size > POOL_SMALL_BYTES);
    if (!fits) {
        pool_put(pool, &connection->input);
        if (size > 0)
            connection->input = pool_take(pool, size);
    }
    if (size > 0 && connection->input == NULL)
        return false;
    if (size > 0)
        memcpy(connection->input->data, data, size);
    count_buffers(connection->listener);
    return true;
}

/* ---- writing ---- */

static void linger(struct connection *connection);
static void serve_held(struct connection *connection);

static void on_written(uv_write_t *request, int status)
{
    struct connection *connection = request->handle->data;
    if (connection->state == CONNECTION_CLOSING)
        return;
    struct listener *listener = connection->listener;
    list_remove(&connection->timed);
    pool_put(&listener->pool, &connection->output);
    count_buffers(listener);
    if (status < 0)
        close_now(connection);
    else if (connection->state == CONNECTION_LAST)
        linger(connection);
    else
        serve_held(connection);
}

/*
 * Writes what the shared output holds. What the reader does not take at once waits in a buffer; then the
 * connection is blocked. False when the connection has to be closed.
 */
static bool write_output(struct connection *connection, const struct output *output)
{
    struct listener *listener = connection->listener;
    uv_buf_t piece = uv_buf_init(output->data, (unsigned)output->size);
    int written = uv_try_write(stream_of(connection), &piece, 1);
    if (written < 0 && written != UV_EAGAIN)
        return false;
    size_t done = written > 0 ? (size_t)written : 0;
    tally_add(&listener->stats.total_writes, 1);
    tally_add(&listener->stats.total_net_output_bytes, output->size);
    if (done == output->size)
        return true;
    size_t rest = output->size - done;
    connection->output = pool_take(&listener->pool, rest);
    if (connection->output == NULL) {
        tally_add(&listener->stats.closed_no_buffer, 1);
        return false;
    }
    count_buffers(listener);
    memcpy(connection->output->data, output->data + done, rest);
    piece = uv_buf_init(connection->output->data, (unsigned)rest);
    set_state(connection, CONNECTION_BLOCKED);
    if (uv_write(&connection->write, stream_of(connection), &piece, 1, on_written) != 0)
        return false;
    connection->queued_bytes = uv_stream_get_write_queue_size(stream_of(connection));
    listener_watch(listener, connection, listener->options.stall_timeout_ms);
    return true;
}

/* ---- closing ---- */

static void on_shutdown(uv_shutdown_t *request, int status)
{
    struct connection *connection = request->handle->data;
    if (status < 0)
        close_now(connection);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer);

/*
 * Closing a socket with unread input resets it, and a reset overtakes the last reply. So: say that nothing
 * more comes, and throw input away until the client closes too or the deadline comes.
 */
static void linger(struct connection *connection)
{
    struct listener *listener = connection->listener;
    set_state(connection, CONNECTION_LINGERING);
    (void)hold_input(connection, NULL, 0);
    if (uv_shutdown(&connection->shutdown, stream_of(connection), on_shutdown) != 0) {
        close_now(connection);
        return;
    }
    int failed = uv_read_start(stream_of(connection), on_alloc, on_read);
    if (failed != 0 && failed != UV_EALREADY) {
        close_now(connection);
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
            close_now(connection);
        else
            listener_watch(connection->listener, connection, timeout_ms);
        break;
    case CONNECTION_BLOCKED:
        set_state(connection, CONNECTION_LAST);
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

void connection_expire(struct connection *connection)
{
    struct listener *listener = connection->listener;
    size_t queued = uv_stream_get_write_queue_size(stream_of(connection));
    bool moves = connection->state == CONNECTION_BLOCKED && queued < connection->queued_bytes;
    if (moves) {
        connection->queued_bytes = queued;
        listener_watch(listener, connection, listener->options.stall_timeout_ms);
        return;
    }
    if (connection->state == CONNECTION_BLOCKED || connection->state == CONNECTION_LAST)
        tally_add(&listener->stats.closed_stalled, 1);
    close_now(connection);
}

/* ---- serving ---- */

/* Serves the first `size` bytes of the shared input. Afterwards the connection is open, blocked or on its way out. */
static void serve(struct connection *connection, size_t size)
{
    struct listener *listener = connection->listener;
    const struct service *service = &listener->service;
    size_t offset = 0;
    enum serve_status status;
    do {
        struct output output = output_over(listener->output, POOL_LARGE_BYTES);
        struct bytes input = {listener->input + offset, size - offset};
        size_t consumed = 0;
        status = service->serve(service->context, connection->session, input, &output, &consumed);
        assert(consumed <= input.size && !output.overflowed);
        assert(status != SERVE_AGAIN || output.size > 0);
        offset += consumed;
        if (output.size > 0 && !write_output(connection, &output)) {
            close_now(connection);
            return;
        }
    } while (status == SERVE_AGAIN && connection->state == CONNECTION_OPEN);

    if (status == SERVE_LATER) {
        assert(offset == size && connection->state == CONNECTION_OPEN);
        list_insert_before(&listener->late, &connection->late);
        (void)hold_input(connection, NULL, 0);
        if (++listener->late_count == LISTENER_LATE_MAX)
            listener_answer(listener);
        return;
    }
    bool blocked = connection->state == CONNECTION_BLOCKED;
    if (status == SERVE_WAIT)
        list_insert_before(&listener->waiters, &connection->waiting);
    if (status == SERVE_CLOSE) {
        tally_add(&listener->stats.closed_by_error, 1);
        (void)uv_read_stop(stream_of(connection));
        if (blocked)
            set_state(connection, CONNECTION_LAST);
        else
            linger(connection);
        return;
    }
    blocked |= status == SERVE_WAIT;
    if (blocked)
        (void)uv_read_stop(stream_of(connection));
    assert(blocked || size - offset < POOL_LARGE_BYTES); /* or there would be no room to read more */
    if (!hold_input(connection, listener->input + offset, size - offset)) {
        tally_add(&listener->stats.closed_no_buffer, 1);
        close_now(connection);
    }
}

void connection_answer(struct connection *connection)
{
    struct listener *listener = connection->listener;
    char answers[LISTENER_LATE_BYTES]; /* the shared output may be in use */
    struct output output = output_over(answers, sizeof answers);
    list_remove(&connection->late);
    listener->service.answer(listener->service.context, connection->session, &output);
    assert(!output.overflowed);
    if (connection->state != CONNECTION_OPEN)
        return;
    if (!write_output(connection, &output))
        close_now(connection);
    else if (connection->state == CONNECTION_BLOCKED)
        (void)uv_read_stop(stream_of(connection));
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct connection *connection = stream->data;
    struct listener *listener = connection->listener;
    (void)buffer;
    if (size == 0)
        return;
    if (size < 0) {
        close_now(connection);
        return;
    }
    tally_add(&listener->stats.total_reads, 1);
    tally_add(&listener->stats.total_net_input_bytes, (uint64_t)size);
    if (!list_empty(&connection->late)) /* what it puts off it asks for once a turn */
        listener_answer(listener);
    if (connection->state == CONNECTION_OPEN)
        serve(connection, connection->input_size + (size_t)size);
    else
        assert(connection->state == CONNECTION_LINGERING);
}

/* The reader has taken all: serves what had to wait, then reads on. */
static void serve_held(struct connection *connection)
{
    assert(connection->state == CONNECTION_BLOCKED || connection->state == CONNECTION_OPEN);
    set_state(connection, CONNECTION_OPEN);
    if (!list_empty(&connection->waiting))
        return;
    if (connection->input_size > 0) {
        memcpy(connection->listener->input, connection->input->data, connection->input_size);
        serve(connection, connection->input_size);
        listener_answer(connection->listener); /* the loop may be about to wait */
    }
    if (connection->state == CONNECTION_OPEN && list_empty(&connection->waiting) &&
        uv_read_start(stream_of(connection), on_alloc, on_read) != 0)
        close_now(connection);
}

/* While earlier answers wait for the reader, this one waits as well. */
void connection_resume(struct connection *connection)
{
    struct listener *listener = connection->listener;
    struct output output = output_over(listener->output, POOL_LARGE_BYTES);
    if (connection->state != CONNECTION_OPEN ||
        !listener->service.resume(listener->service.context, connection->session, &output))
        return;
    assert(output.size > 0 && !output.overflowed);
    list_remove(&connection->waiting);
    if (!write_output(connection, &output))
        close_now(connection);
    else if (listener->closing && connection->state == CONNECTION_BLOCKED)
        connection_finish(connection);
    else if (listener->closing)
        linger(connection);
    else if (connection->state == CONNECTION_OPEN)
        serve_held(connection);
}

/* ---- accepting ---- */

static void start(struct connection *connection, struct listener *listener)
{
    *connection = (struct connection){.listener = listener, .state = CONNECTION_OPEN};
    list_insert_before(&listener->connections, &connection->link);
    list_init(&connection->timed);
    list_init(&connection->late);
    list_init(&connection->waiting);
    memset(connection->session, 0, listener->service.session_bytes);
    (void)uv_tcp_init(listener->loop, &connection->tcp);
    connection->tcp.data = connection;
    listener->handles_open++;
}

static void describe_peer(const uv_tcp_t *tcp, char *text, size_t room)
{
    struct sockaddr_storage address;
    int size = sizeof address;
    char host[INET6_ADDRSTRLEN] = "?";
    unsigned port = 0;
    if (uv_tcp_getpeername(tcp, (struct sockaddr *)&address, &size) == 0) {
        if (address.ss_family == AF_INET) {
            const struct sockaddr_in *v4 = (const void *)&address;
            (void)uv_ip4_name(v4, host, sizeof host);
            port = ntohs(v4->sin_port);
        } else if (address.ss_family == AF_INET6) {
            const struct sockaddr_in6 *v6 = (const void *)&address;
            (void)uv_ip6_name(v6, host, sizeof host);
            port = ntohs(v6->sin6_port);
        }
    }
    bool is_v6 = strchr(host, ':') != NULL;
    (void)snprintf(text, room, is_v6 ? "[%s]:%u" : "%s:%u", host, port);
}

void connection_accept(struct connection *connection, struct listener *listener, uv_tcp_t *socket, uint64_t id)
{
    start(connection, listener);
    if (uv_accept((uv_stream_t *)socket, stream_of(connection)) != 0) {
        tally_add(&listener->stats.accept_failures, 1);
        listener_dismiss(listener);
        close_now(connection);
        return;
    }
    (void)uv_tcp_nodelay(&connection->tcp, 1);
    (void)uv_tcp_keepalive(&connection->tcp, 1, 60);
    tally_add(&listener->stats.total_connections_received, 1);
    connection->has_session = true;
    char address[LISTENER_ADDRESS_BYTES];
    describe_peer(&connection->tcp, address, sizeof address);
    listener->service.open(listener->service.context, connection->session, id, address);
    if (uv_read_start(stream_of(connection), on_alloc, on_read) != 0)
        close_now(connection);
}

void connection_refuse(struct connection *connection, struct listener *listener, uv_tcp_t *socket)
{
    start(connection, listener);
    if (uv_accept((uv_stream_t *)socket, stream_of(connection)) == 0) {
        char text[sizeof too_many];
        memcpy(text, too_many, sizeof too_many);
        uv_buf_t piece = uv_buf_init(text, sizeof too_many - 1);
        (void)uv_try_write(stream_of(connection), &piece, 1);
        tally_add(&listener->stats.rejected_connections, 1);
    } else {
        tally_add(&listener->stats.accept_failures, 1);
    }
    close_now(connection);
}
