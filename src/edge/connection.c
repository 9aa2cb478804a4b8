#include "edge/connection_parts.h"

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

/* ---- reading ---- */

/* What is held from earlier goes in front, so that the service sees one piece. */
static void on_alloc(uv_handle_t *handle, size_t suggested, uv_buf_t *buffer)
{
    (void)suggested;
    struct connection *connection = handle->data;
    char *input = connection->listener->input;
    if (connection->input_size > 0)
        memcpy(input, connection->input->data + connection->input_at, connection->input_size);
    *buffer = uv_buf_init(input + connection->input_size, (unsigned)(POOL_LARGE_BYTES - connection->input_size));
}

/* Whether `data` lies in what is held. */
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
    if (held && other == NULL) { /* it stays where it is */
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

/* ---- serving ---- */

/* Every command at the front was served: half a one may be left, which has its time to become whole. */
static void note_served(struct connection *connection, size_t consumed, size_t left)
{
    struct listener *listener = connection->listener;
    if (connection->stranger && consumed > 0)
        listener_ask_known(listener, connection);
    if (left == 0 && list_empty(&connection->timed))
        return; /* nearly always */
    if (left == 0)
        list_remove(&connection->timed);
    else if (consumed > 0 || list_empty(&connection->timed))
        listener_note_begun(listener, connection);
}

/* Waits as `status` says, or goes. `data` is what was not served. */
static void leave(struct connection *connection, enum serve_status status, uint32_t delay_ms, const char *data,
                  size_t size)
{
    struct listener *listener = connection->listener;
    const bool blocked = connection->state == CONNECTION_BLOCKED;
    (void)uv_read_stop(connection_stream(connection));
    if (status == SERVE_CLOSE) {
        tally_add(&listener->stats.closed_by_error, 1);
        if (blocked)
            connection_set_state(connection, CONNECTION_LAST);
        else
            connection_linger(connection);
        return;
    }
    if (!blocked)
        list_remove(&connection->timed);
    if (!connection_hold(connection, data, size)) {
        connection_close_for_want_of_room(connection);
        return;
    }
    if (status == SERVE_WAIT)
        list_insert_before(&listener->waiters, &connection->waiting);
    else if (status == SERVE_DELAY)
        listener_delay(listener, connection, delay_ms);
    else if (!blocked)
        listener_put_aside(listener, connection);
}

/*
 * Serves `size` bytes at `data` (of the shared input, or held) as far as `*work` allows, which becomes what is left of
 * it. Afterwards the connection is open, blocked, in the backlog or on its way out.
 */
static void serve(struct connection *connection, const char *data, size_t size, uint32_t *work)
{
    struct listener *listener = connection->listener;
    const struct service *service = &listener->service;
    struct serve_budget budget = {.work = *work};
    size_t offset = 0;
    enum serve_status status;
    struct output output;
    connection->turn = listener->turn;
    do {
        output = output_over(listener->output, POOL_LARGE_BYTES);
        struct bytes input = {data + offset, size - offset};
        size_t consumed = 0;
        status = service->serve(service->context, connection->session, input, &output, &budget, &consumed);
        assert(consumed <= input.size && !output.overflowed);
        assert(status != SERVE_AGAIN || output.size > 0);
        offset += consumed;
        if (status != SERVE_MORE && output.size > 0 && !connection_write_now(connection, &output)) {
            connection_close(connection);
            return;
        }
    } while (status == SERVE_AGAIN && connection->state == CONNECTION_OPEN);
    *work = budget.work;

    if (status == SERVE_LATER) {
        assert(offset == size && connection->state == CONNECTION_OPEN);
        list_insert_before(&listener->late, &connection->late);
        note_served(connection, offset, 0);
        (void)connection_hold(connection, NULL, 0);
        if (++listener->late_count == LISTENER_LATE_MAX || !listener->crowded)
            listener_answer(listener);
        return;
    }
    connection->heavy = status == SERVE_ENOUGH;
    if (status != SERVE_MORE || connection->state == CONNECTION_BLOCKED) {
        if (connection->heavy)
            tally_add(&listener->stats.turns_put_off, 1);
        leave(connection, status, budget.delay_ms, data + offset, size - offset);
        return;
    }
    assert(size - offset < POOL_LARGE_BYTES); /* or there would be no room to read more */
    note_served(connection, offset, size - offset);
    if (!connection_hold(connection, data + offset, size - offset))
        connection_close_for_want_of_room(connection);
    else if (output.size > 0)
        connection_write_soon(connection, &output);
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
    connection_write_or_close(connection, &output);
}

static void on_read(uv_stream_t *stream, ssize_t size, const uv_buf_t *buffer)
{
    struct connection *connection = stream->data;
    struct listener *listener = connection->listener;
    (void)buffer;
    if (size == 0)
        return;
    if (!list_empty(&connection->unwritten)) /* this may be its end */
        listener_write(listener);
    if (size < 0) {
        connection_close(connection);
        return;
    }
    listener->heard_count++;
    tally_add(&listener->stats.total_reads, 1);
    tally_add(&listener->stats.total_net_input_bytes, (uint64_t)size);
    if (!list_empty(&connection->late)) /* what it puts off it asks for once a turn */
        listener_answer(listener);
    if (uv_now(listener->loop) - connection->heard_ms >= LISTENER_HEARD_STEP_MS)
        listener_note_heard(listener, connection);
    uint32_t work = listener->options.turn_work;
    size_t whole = connection->input_size + (size_t)size;
    bool aside = connection->heavy || connection->turn == listener->turn;
    if (connection->state == CONNECTION_OPEN && !aside)
        serve(connection, listener->input, whole, &work);
    else if (connection->state != CONNECTION_OPEN && connection->state != CONNECTION_BLOCKED)
        return;
    else if (!connection_hold(connection, listener->input, whole))
        connection_close_for_want_of_room(connection);
    else if (connection->state == CONNECTION_OPEN)
        listener_put_aside(listener, connection);
}

bool connection_read(struct connection *connection)
{
    int failed = uv_read_start(connection_stream(connection), on_alloc, on_read);
    return failed == 0 || failed == UV_EALREADY;
}

void connection_serve_held(struct connection *connection)
{
    assert(connection->state == CONNECTION_BLOCKED || connection->state == CONNECTION_OPEN);
    connection_set_state(connection, CONNECTION_OPEN);
    if (!list_empty(&connection->waiting))
        return;
    if (connection->input_size > 0)
        listener_put_aside(connection->listener, connection);
    else if (!connection_read(connection))
        connection_close(connection);
}

void connection_take_turn(struct connection *connection, uint32_t *work)
{
    struct listener *listener = connection->listener;
    assert(connection->state == CONNECTION_OPEN && list_empty(&connection->waiting) && connection->input_size > 0);
    serve(connection, connection->input->data + connection->input_at, connection->input_size, work);
    if (!list_empty(&listener->late)) /* the loop may be about to wait */
        listener_answer(listener);
    if (connection->state == CONNECTION_OPEN && list_empty(&connection->waiting) &&
        list_empty(&connection->backlog) && !connection_read(connection))
        connection_close(connection);
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
    if (!connection_write_now(connection, &output))
        connection_close(connection);
    else if (listener->closing && connection->state == CONNECTION_BLOCKED)
        connection_finish(connection);
    else if (listener->closing)
        connection_linger(connection);
    else if (connection->state == CONNECTION_OPEN)
        connection_serve_held(connection);
}

/* ---- accepting ---- */

static void start(struct connection *connection, struct listener *listener)
{
    *connection = (struct connection){.listener = listener, .state = CONNECTION_OPEN};
    list_insert_before(&listener->connections, &connection->link);
    list_init(&connection->timed);
    list_init(&connection->late);
    list_init(&connection->waiting);
    list_init(&connection->unwritten);
    list_init(&connection->backlog);
    list_init(&connection->heard);
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
    if (uv_accept((uv_stream_t *)socket, connection_stream(connection)) != 0) {
        tally_add(&listener->stats.accept_failures, 1);
        listener_dismiss(listener);
        connection_close(connection);
        return;
    }
    (void)uv_tcp_nodelay(&connection->tcp, 1);
    (void)uv_tcp_keepalive(&connection->tcp, 1, 60);
    tally_add(&listener->stats.total_connections_received, 1);
    connection->has_session = true;
    listener_meet(listener, connection);
    char address[LISTENER_ADDRESS_BYTES];
    describe_peer(&connection->tcp, address, sizeof address);
    listener->service.open(listener->service.context, connection->session, id, address);
    if (!connection_read(connection))
        connection_close(connection);
}

void connection_refuse(struct connection *connection, struct listener *listener, uv_tcp_t *socket)
{
    start(connection, listener);
    if (uv_accept((uv_stream_t *)socket, connection_stream(connection)) == 0) {
        char text[sizeof too_many];
        memcpy(text, too_many, sizeof too_many);
        uv_buf_t piece = uv_buf_init(text, sizeof too_many - 1);
        (void)uv_try_write(connection_stream(connection), &piece, 1);
        tally_add(&listener->stats.rejected_connections, 1);
    } else {
        tally_add(&listener->stats.accept_failures, 1);
    }
    connection_close(connection);
}
