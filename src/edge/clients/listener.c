/*
 * Accepts clients of its sockets (listener_sockets.c) in turns, admits them up to connections_max or refuses them,
 * and closes everything in order.
 */
#include "edge/clients/listener.h"

#include "base/metric.h"
#include "edge/clients/connection.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

enum {
    /* slots of connections that are refused; while none is free, further clients wait unaccepted */
    SPARE_CONNECTIONS = 16,
    OTHER_DESCRIPTORS = 1024, /* descriptors of peers, files and the loop itself */
    AGAIN_MS = 100,           /* between two tries to accept without a descriptor or memory */
};

/* Raises the soft limit of descriptors to `count`, as far as the hard limit of the operator allows. */
static void want_descriptors(uint64_t count)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= count)
        return;
    limit.rlim_cur = limit.rlim_max < count ? limit.rlim_max : (rlim_t)count;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- connections' slots ---- */

static size_t slot_bytes(const struct listener *listener)
{
    return connection_bytes(listener->service.session_bytes);
}

/* A free slot. There must be one: has_slot. */
static struct connection *obtain(struct listener *listener)
{
    if (!list_empty(&listener->free_connections)) {
        struct connection *connection = LIST_OWNER(listener->free_connections.next, struct connection, link);
        list_remove(&connection->link);
        return connection;
    }
    assert(listener->slots_used < listener->slots_max);
    return (void *)(listener->slots + slot_bytes(listener) * listener->slots_used++);
}

/* False: all listeners that share the number have connections_max connections together. */
static bool admit(struct listener *listener)
{
    const struct listener_options *options = &listener->options;
    if (options->connected &&
        atomic_fetch_add_explicit(options->connected, 1, memory_order_relaxed) >= options->connections_max) {
        (void)atomic_fetch_sub_explicit(options->connected, 1, memory_order_relaxed);
        return false;
    }
    if (!options->connected && listener->stats.connected_clients >= options->connections_max)
        return false;
    metric_add(&listener->stats.connected_clients, 1);
    return true;
}

/* False: clients of handed sockets wait, as others may accept them. */
static bool accepts_now(const struct listener *listener, uint32_t index)
{
    const atomic_bool *accepts = listener->handed[index] ? listener->options.accepts_handed : NULL;
    return accepts == NULL || atomic_load_explicit(accepts, memory_order_relaxed);
}

static bool may_accept(const struct listener *listener, uint32_t index)
{
    return (listener->accepts_last || listener->accepted_count < listener->options.accepts_max) &&
           accepts_now(listener, index);
}

/* True: a slot is free; obtain has one. */
static bool has_slot(const struct listener *listener)
{
    return !list_empty(&listener->free_connections) || listener->slots_used < listener->slots_max;
}

static void take_over(struct listener *listener, uint32_t index, int fd)
{
    struct connection *connection = obtain(listener);
    listener->accepted_count++;
    if (!admit(listener) && !(listener_make_room(listener) && admit(listener))) {
        connection_refuse(connection, listener, index, fd);
        return;
    }
    connection_accept(connection, listener, index, fd, listener->next_id);
    listener->next_id += listener->options.id_step;
}

static void keep_spare(struct listener *listener)
{
    if (listener->spare_fd < 0)
        listener->spare_fd = fcntl(uv_backend_fd(listener->loop), F_DUPFD_CLOEXEC, 0);
}

/*
 * No descriptor is free. So a client is accepted with the spare one, and told so: it can ask another daemon at once.
 * False: errno says why not. EAGAIN: nobody waits; EMFILE: the spare one is gone as well, as another thread was faster.
 */
static bool turn_away(struct listener *listener, uint32_t index)
{
    const struct service *service = &listener->socket_service[index];
    keep_spare(listener);
    if (listener->spare_fd < 0)
        return false;
    (void)close(listener->spare_fd);
    listener->spare_fd = -1;
    const int fd = accept4(listener->socket_fd[index], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), failed = errno;
    if (fd >= 0) {
        if (service->tls == NULL && service->too_many != NULL)
            (void)send(fd, service->too_many, strlen(service->too_many), MSG_NOSIGNAL);
        (void)close(fd);
        metric_add(&listener->stats.accept_failures, 1);
        listener->accepted_count++;
    }
    keep_spare(listener);
    errno = failed;
    return fd >= 0;
}

static void accept_waiting(struct listener *listener);

static void on_again(uv_timer_t *timer)
{
    accept_waiting(timer->data);
}

/* Clients of the socket wait: for a slot, or until clients of handed sockets are accepted, or for a descriptor. */
static void let_wait(struct listener *listener, uint32_t index, bool comes_again)
{
    listener->waiting[index] = true;
    (void)uv_poll_stop(&listener->polls[index]);
    if (comes_again)
        (void)uv_timer_start(&listener->again, on_again, AGAIN_MS, 0);
}

/* What is to be done about a client that could not be accepted. True: further ones may be. */
static bool bear_failure(struct listener *listener, uint32_t index)
{
    if ((errno == EMFILE || errno == ENFILE) && turn_away(listener, index))
        return true;
    if (errno == EAGAIN)
        return false;
    metric_add(&listener->stats.accept_failures, 1);
    if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
        let_wait(listener, index, true);
    return false; /* of a client that has gone meanwhile: the loop comes back where others wait */
}

static void accept_clients(struct listener *listener, uint32_t index)
{
    bool more = true;
    while (more && may_accept(listener, index) && has_slot(listener)) {
        const int fd = accept4(listener->socket_fd[index], NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            take_over(listener, index, fd);
        else
            more = bear_failure(listener, index);
    }
    if (more && (!has_slot(listener) || !accepts_now(listener, index)))
        let_wait(listener, index, false); /* otherwise the loop comes back in its next turn */
}

static void on_client(uv_poll_t *poll, int status, int events)
{
    struct listener *listener = poll->data;
    const uint32_t index = (uint32_t)(poll - listener->polls);
    (void)events;
    if (status < 0)
        let_wait(listener, index, true); /* libuv has stopped to poll */
    else
        accept_clients(listener, index);
}

void listener_await_clients(struct listener *listener, uint32_t index)
{
    listener->waiting[index] = false;
    (void)uv_poll_start(&listener->polls[index], UV_READABLE, on_client);
}

/* Accepts clients that had to wait. */
static void accept_waiting(struct listener *listener)
{
    for (uint32_t i = 0; i < listener->socket_count && !listener->accepts_no_more && has_slot(listener); i++)
        if (listener->waiting[i] && accepts_now(listener, i)) {
            listener_await_clients(listener, i);
            accept_clients(listener, i);
        }
}

static void free_memory(struct listener *listener)
{
    free(listener->slots);
    free(listener->input);
    free(listener->output);
    free(listener->sealed.data);
    free(listener->unwritten_output.data);
    listener->slots = listener->input = listener->output = NULL;
}

static void handle_closed(struct listener *listener)
{
    assert(listener->handles_open > 0);
    if (--listener->handles_open > 0 || !listener->closing)
        return;
    pool_close(&listener->pool);
    free_memory(listener);
    if (listener->closed != NULL)
        listener->closed(listener->closed_context);
}

static void on_handle_closed(uv_handle_t *handle)
{
    handle_closed(handle->data);
}

/*
 * Closes the listener's own handles after all connections: connections that linger need the timer
 * for their deadlines.
 */
static void close_after_connections(struct listener *listener)
{
    if (!listener->closing || !list_empty(&listener->connections) || uv_is_closing((uv_handle_t *)&listener->timer))
        return;
    uv_close((uv_handle_t *)&listener->timer, on_handle_closed);
    uv_close((uv_handle_t *)&listener->polled, on_handle_closed);
    uv_close((uv_handle_t *)&listener->busy, on_handle_closed);
    uv_close((uv_handle_t *)&listener->again, on_handle_closed);
    if (listener->spare_fd >= 0)
        (void)close(listener->spare_fd);
}

/* Gives the slot of a closed connection back. */
static void release(struct listener *listener, struct connection *connection)
{
    list_remove(&connection->link);
    list_insert_before(&listener->free_connections, &connection->link);
    close_after_connections(listener);
    accept_waiting(listener);
    handle_closed(listener);
}

/* ---- turns of the loop ---- */

static void on_polled(uv_check_t *handle)
{
    struct listener *listener = handle->data;
    listener_write(listener);
    listener_spare_buffers(listener);
    listener_end_turn(listener);
    if (!uv_is_active((const uv_handle_t *)&listener->again)) /* without descriptors a try now and then is enough */
        accept_waiting(listener);
}

/* ---- opening ---- */

bool listener_init(struct listener *listener, uv_loop_t *loop, const struct service *service,
                   const struct listener_options *options, struct error *error)
{
    *listener = (struct listener){.loop = loop,
                                  .service = *service,
                                  .options = *options,
                                  .next_id = options->id_first,
                                  .spare_fd = -1,
                                  .released = release};
    list_init(&listener->connections);
    list_init(&listener->free_connections);
    list_init(&listener->late);
    list_init(&listener->waiters);
    list_init(&listener->fed);
    list_init(&listener->roused);
    list_init(&listener->unwritten);
    listener->crowded = options->crowd_count == 0;
    pool_init(&listener->pool, options->buffers_max_bytes);
    assert(options->connections_max > 0 && options->id_first > 0 && options->id_step > 0);
    want_descriptors((uint64_t)options->connections_max + OTHER_DESCRIPTORS);
    listener->slots_max = options->connections_max + SPARE_CONNECTIONS;
    listener->slots = calloc(listener->slots_max, slot_bytes(listener));
    listener->input = malloc(POOL_LARGE_BYTES);
    listener->output = malloc(LISTENER_OUTPUT_BYTES);
    listener->sealed = output_over(malloc(POOL_LARGE_BYTES), POOL_LARGE_BYTES);
    listener->unwritten_output = output_over(malloc(LISTENER_UNWRITTEN_BYTES), LISTENER_UNWRITTEN_BYTES);
    if (!listener->slots || !listener->input || !listener->output || !listener->sealed.data ||
        !listener->unwritten_output.data) {
        free_memory(listener);
        return error_set(error, EX_OSERR, "not enough memory for %u connections", options->connections_max);
    }
    listener_deadlines_init(listener);
    listener_turns_init(listener);
    (void)uv_check_init(loop, &listener->polled);
    listener->polled.data = listener;
    (void)uv_check_start(&listener->polled, on_polled);
    (void)uv_timer_init(loop, &listener->again);
    listener->again.data = listener;
    listener->handles_open = 4;
    keep_spare(listener);
    return true;
}

/* ---- closing ---- */

void listener_stop_accepting(struct listener *listener)
{
    if (listener->accepts_no_more)
        return;
    listener->accepts_last = true;
    for (uint32_t i = 0; i < listener->socket_count; i++) {
        if (!listener->handed[i]) /* whoever has connected to such a socket is a client of the next daemon */
            accept_clients(listener, i);
        uv_close((uv_handle_t *)&listener->polls[i], on_handle_closed);
        (void)close(listener->socket_fd[i]);
    }
    listener->accepts_no_more = true;
}

void listener_close(struct listener *listener, void (*closed)(void *context), void *context)
{
    if (listener->closing)
        return;
    listener_answer(listener);
    listener_resume(listener);
    listener_rouse(listener);
    listener->closing = true;
    listener->closed = closed;
    listener->closed_context = context;
    listener_stop_accepting(listener);
    struct list *next;
    for (struct list *link = listener->connections.next; link != &listener->connections; link = next) {
        next = link->next;
        connection_finish(LIST_OWNER(link, struct connection, link));
    }
    close_after_connections(listener);
}
