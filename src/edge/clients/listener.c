/*
 * Sockets: binds them, accepts clients in turns, admits them up to connections_max or refuses them,
 * and closes everything in order.
 */
#include "edge/clients/listener.h"

#include "base/host_port.h"
#include "base/metric.h"
#include "edge/clients/connection.h"
#include "edge/clients/handed.h"

#include <arpa/inet.h>
#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sysexits.h>
#include <unistd.h>

enum {
    BACKLOG = 511,
    HANDED_BACKLOG = 65535, /* a queue that lives on while no daemon runs; the system cuts it to its own bound */
    /* slots of connections that are refused; while none is free, further clients wait unaccepted */
    SPARE_CONNECTIONS = 16,
    OTHER_DESCRIPTORS = 1024, /* descriptors of peers, files and the loop itself */
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

/* A free slot. NULL: those of all connections that there may be, and the spare ones, are taken. */
static struct connection *obtain(struct listener *listener)
{
    if (!list_empty(&listener->free_connections)) {
        struct connection *connection = LIST_OWNER(listener->free_connections.next, struct connection, link);
        list_remove(&connection->link);
        return connection;
    }
    if (listener->slots_used == listener->slots_max)
        return NULL;
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

static bool may_accept(const struct listener *listener, uint32_t index)
{
    const atomic_bool *accepts = listener->handed[index] ? listener->options.accepts_handed : NULL;
    return listener->accepts_last || (listener->accepted_count < listener->options.accepts_max &&
                                      (accepts == NULL || atomic_load_explicit(accepts, memory_order_relaxed)));
}

static void on_connection(uv_stream_t *stream, int status)
{
    struct listener *listener = stream->data;
    uint32_t index = (uint32_t)((uv_tcp_t *)(void *)stream - listener->sockets);
    if (status < 0) {
        metric_add(&listener->stats.accept_failures, 1);
        return;
    }
    struct connection *connection = may_accept(listener, index) ? obtain(listener) : NULL;
    listener->waiting[index] = connection == NULL;
    if (connection == NULL)
        return; /* libuv waits until the client is accepted, in accept_waiting */
    listener->accepted_count++;
    if (!admit(listener) && !(listener_make_room(listener) && admit(listener))) {
        connection_refuse(connection, listener, index);
        return;
    }
    connection_accept(connection, listener, index, listener->next_id);
    listener->next_id += listener->options.id_step;
}

/* Accepts clients that had to wait for another turn, for a slot, or until clients of handed sockets are accepted. */
static void accept_waiting(struct listener *listener)
{
    for (uint32_t i = 0; i < listener->socket_count && !listener->accepts_no_more; i++)
        if (listener->waiting[i])
            on_connection((uv_stream_t *)&listener->sockets[i], 0);
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
    listener->handles_open = 3;
    return true;
}

/* Lets other sockets of this program listen on the same address and get a part of its connections. */
static int share_port(const uv_tcp_t *socket)
{
    const int yes = 1;
    uv_os_fd_t fd;
    int failed = uv_fileno((const uv_handle_t *)socket, &fd);
    if (failed == 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &yes, sizeof yes) != 0)
        failed = uv_translate_sys_error(errno);
    return failed;
}

/* A socket in the next place of the listener, which listens already if it was handed over. */
static int make_socket(struct listener *listener, const struct sockaddr *address, const struct service *service,
                       bool *was_handed)
{
    uv_tcp_t *socket = &listener->sockets[listener->socket_count];
    const int fd = listener->options.handed != NULL
                       ? handed_take(listener->options.handed, address, listener->options.thread)
                       : -1;
    if (fd == -2)
        return uv_translate_sys_error(errno);
    *was_handed = fd >= 0;
    int failed = *was_handed ? uv_tcp_init(listener->loop, socket)
                             : uv_tcp_init_ex(listener->loop, socket, address->sa_family);
    if (failed == 0) {
        socket->data = listener;
        listener->handles_open++;
        listener->handed[listener->socket_count] = *was_handed;
        listener->socket_service[listener->socket_count++] = *service;
        failed = *was_handed ? uv_tcp_open(socket, fd) : 0;
    }
    if (failed != 0 && *was_handed)
        (void)close(fd);
    return failed;
}

/*
 * Binds and listens, or returns libuv's error. A socket that failed is closed, and its place is
 * lost. The first socket of an address permits others only once it listens: so it fails if another
 * program listens there.
 */
static int listen_on(struct listener *listener, const struct sockaddr *address, const struct service *service,
                     bool first)
{
    uv_tcp_t *socket = &listener->sockets[listener->socket_count];
    bool was_handed = false;
    int failed = make_socket(listener, address, service, &was_handed);
    if (failed != 0)
        return failed;
    if (was_handed)
        return uv_listen((uv_stream_t *)socket, HANDED_BACKLOG, on_connection);
    if (!first)
        failed = share_port(socket);
    if (failed == 0)
        failed = uv_tcp_bind(socket, address, 0);
    if (failed == 0)
        failed = uv_listen((uv_stream_t *)socket, BACKLOG, on_connection);
    if (failed == 0 && first && listener->options.shares_port)
        failed = share_port(socket);
    return failed;
}

static bool listen_error(struct error *error, const char *address, int failed)
{
    if (failed == UV_EADDRINUSE)
        return error_set(
            error, EX_UNAVAILABLE,
            "cannot listen on %s: the port is in use by another program; stop it or choose another port", address);
    if (failed == UV_EACCES)
        return error_set(error, EX_NOPERM,
                         "cannot listen on %s: ports below 1024 need root or CAP_NET_BIND_SERVICE", address);
    if (failed == UV_EADDRNOTAVAIL)
        return error_set(error, EX_UNAVAILABLE, "cannot listen on %s: this machine has no such address", address);
    return error_set(error, EX_UNAVAILABLE, "cannot listen on %s: %s", address, uv_strerror(failed));
}

bool listener_bind(struct listener *listener, const char *address, const struct service *service,
                   struct error *error)
{
    char host[256], port[PORT_TEXT_BYTES];
    assert(service->session_bytes <= listener->service.session_bytes);
    if (!host_port_split(address, host, sizeof host, port))
        return error_set(
            error, EX_CONFIG,
            "cannot listen on \"%s\": expected host:port, [v6 address]:port or *:port, port up to 65535", address);
    if (listener->socket_count == LISTENER_SOCKETS_MAX)
        return error_set(error, EX_CONFIG, "cannot listen on %s: at most %d addresses", address,
                         LISTENER_SOCKETS_MAX);
    bool everywhere = host[0] == '\0' || strcmp(host, "*") == 0;
    if (everywhere) {
        struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)strtoul(port, NULL, 10))};
        int failed = listen_on(listener, (const struct sockaddr *)&any, service, true);
        if (failed == 0)
            return true;
        if (failed != UV_EAFNOSUPPORT || listener->socket_count == LISTENER_SOCKETS_MAX)
            return listen_error(error, address, failed);
    }
    uv_getaddrinfo_t request;
    struct addrinfo hints = {.ai_family = everywhere ? AF_INET : AF_UNSPEC,
                             .ai_socktype = SOCK_STREAM,
                             .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
    int failed = uv_getaddrinfo(listener->loop, &request, NULL, everywhere ? "0.0.0.0" : host, port, &hints);
    if (failed != 0)
        return error_set(error, EX_NOHOST, "cannot listen on %s: %s", address, uv_strerror(failed));
    failed = listen_on(listener, request.addrinfo->ai_addr, service, true);
    uv_freeaddrinfo(request.addrinfo);
    return failed == 0 || listen_error(error, address, failed);
}

bool listener_join(struct listener *listener, const struct listener *first, const struct service *service,
                   struct error *error)
{
    const uint32_t next = listener->socket_count;
    assert(first->options.shares_port && next < first->socket_count);
    assert(service->session_bytes <= listener->service.session_bytes);
    struct sockaddr_storage address;
    int size = sizeof address;
    int failed = uv_tcp_getsockname(&first->sockets[next], (struct sockaddr *)&address, &size);
    if (failed == 0)
        failed = listen_on(listener, (const struct sockaddr *)&address, service, false);
    return failed == 0 ||
           error_set(error, EX_UNAVAILABLE, "cannot listen in several threads: %s", uv_strerror(failed));
}

uint16_t listener_port(const struct listener *listener, uint32_t index)
{
    struct sockaddr_storage address;
    int size = sizeof address;
    if (index >= listener->socket_count ||
        uv_tcp_getsockname(&listener->sockets[index], (struct sockaddr *)&address, &size) != 0)
        return 0;
    if (address.ss_family == AF_INET6)
        return ntohs(((const struct sockaddr_in6 *)(const void *)&address)->sin6_port);
    return ntohs(((const struct sockaddr_in *)(const void *)&address)->sin_port);
}

/* ---- closing ---- */

void listener_stop_accepting(struct listener *listener)
{
    if (listener->accepts_no_more)
        return;
    listener->accepts_last = true;
    accept_waiting(listener);
    listener->accepts_no_more = true;
    for (uint32_t i = 0; i < listener->socket_count; i++)
        uv_close((uv_handle_t *)&listener->sockets[i], on_handle_closed);
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
