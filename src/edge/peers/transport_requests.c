/*
 * transport_requests sends requests to peers and waits for their replies. Each request has a socket
 * of its own, which is kept afterwards for the next request to the same address. A request without
 * a reply is given up at its deadline, and its socket is closed.
 */
#include "base/metric.h"
#include "edge/peers/transport_state.h"

#include "edge/process/clock.h"

#include <nng/protocol/reqrep0/req.h>
#include <stdlib.h>
#include <string.h>

/* The extra time of a request whose reply may have come while this process did not run. */
#define SPARED_NS ((uint64_t)200 * 1000000)

static void request_socket_poll_closed(uv_handle_t *handle)
{
    struct transport *transport = handle->data;
    free(handle);
    transport_count_closed(transport);
}

static void close_request_socket(struct request_socket *request_socket, struct closing *closing)
{
    if (!request_socket->address[0])
        return;
    if (request_socket->poll) {
        /* The handle now belongs to the transport alone. */
        request_socket->poll->data = request_socket->transport;
        uv_close((uv_handle_t *)request_socket->poll, request_socket_poll_closed);
        request_socket->poll = NULL;
    }
    pipes_close_dialer(request_socket->transport->pipes, request_socket->socket, request_socket->dialer);
    closing_add(closing, request_socket->socket, request_socket->sending);
    request_socket->address[0] = '\0';
    request_socket->waiting = request_socket->readable = false;
}

static void close_alone(struct request_socket *request_socket)
{
    struct closing *closing = closing_create(request_socket->transport->pipes);
    close_request_socket(request_socket, closing);
    closing_begin(closing);
    closing_forget(&closing);
}

static void request_socket_ready(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    struct request_socket *request_socket = poll->data;
    request_socket->readable = request_socket->transport->waits[INLET_ANSWERS] = true;
}

bool request_sockets_hear(struct transport *transport)
{
    for (uint32_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++) {
        struct request_socket *request_socket = &transport->request_sockets[transport->next_request_socket];
        nng_msg *message;
        transport->next_request_socket = (transport->next_request_socket + 1) % TRANSPORT_REQUESTS_MAX;
        if (!request_socket->readable)
            continue;
        request_socket->readable = false;
        if (nng_recvmsg(request_socket->socket, &message, NNG_FLAG_NONBLOCK) != 0)
            continue;
        /* before the call, because the receiver may send the next request */
        request_socket->waiting = false;
        transport_deliver(transport, transport->receiver.response, request_socket->name, message);
        return true;
    }
    return false;
}

static int open_request_socket(struct request_socket *request_socket, const char *name, const char *address)
{
    char url[URL_BYTES];
    struct transport *transport = request_socket->transport;
    if (strlen(name) >= NAME_BYTES || strlen(address) >= ADDRESS_BYTES || !transport_url(url, address))
        return NNG_EADDRINVAL;
    int status = nng_aio_alloc(&request_socket->sending, NULL, NULL);
    if (status != 0)
        return status;
    status = nng_req0_open(&request_socket->socket);
    if (status != 0) {
        nng_aio_free(request_socket->sending);
        return status;
    }
    memcpy(request_socket->name, name, strlen(name) + 1);
    memcpy(request_socket->address, address, strlen(address) + 1);
    request_socket->dialer = (nng_dialer)NNG_DIALER_INITIALIZER;
    status = transport_set_limits(request_socket->socket, transport->message_max_bytes + TRANSPORT_ENVELOPE_BYTES);
    if (status == 0)
        status = pipes_watch(transport->pipes, request_socket->socket, PIPE_REQUESTS);
    /*
     * Only the node repeats a request; if the socket repeated it too, the request would be answered
     * twice.
     */
    if (status == 0)
        status = nng_socket_set_ms(request_socket->socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
    if (status == 0)
        status = transport_dial(transport, request_socket->socket, name, address, &request_socket->dialer);
    if (status == 0) {
        request_socket->poll = malloc(sizeof *request_socket->poll);
        status = request_socket->poll ? transport_poll(transport, request_socket->poll, request_socket,
                                                       request_socket->socket, request_socket_ready)
                                      : NNG_ENOMEM;
        if (status != 0) {
            free(request_socket->poll);
            request_socket->poll = NULL;
        }
    }
    if (status != 0)
        close_alone(request_socket);
    return status;
}

/*
 * The idle request socket of that member and address; or a closed one; or the idle one that was unused for
 * longest, which is closed now. NULL: too many requests wait.
 */
static struct request_socket *find_request_socket(struct transport *transport, const char *name,
                                                  const char *address)
{
    struct request_socket *free_request_socket = NULL, *same = NULL;
    int waiting = 0;
    for (size_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++) {
        struct request_socket *request_socket = &transport->request_sockets[i];
        bool is_same = request_socket->address[0] && strcmp(request_socket->address, address) == 0 &&
                       strcmp(request_socket->name, name) == 0;
        waiting += is_same && request_socket->waiting;
        if (request_socket->waiting)
            continue;
        if (is_same)
            same = request_socket;
        if (!free_request_socket ||
            (free_request_socket->address[0] &&
             (!request_socket->address[0] || request_socket->used_ns < free_request_socket->used_ns)))
            free_request_socket = request_socket;
    }
    if (waiting >= TRANSPORT_REQUESTS_EACH)
        return NULL;
    if (!same && free_request_socket)
        close_alone(free_request_socket);
    return same ? same : free_request_socket;
}

void transport_request(struct transport *transport, const char *name, const char *address, struct bytes bytes)
{
    struct request_socket *request_socket = find_request_socket(transport, name, address);
    if (!request_socket ||
        (!request_socket->address[0] && open_request_socket(request_socket, name, address) != 0)) {
        metric_add(&transport->stats.requests_refused, 1);
        return;
    }
    nng_msg *message = transport_message(transport, bytes, name);
    if (!message)
        return;
    request_socket->used_ns = clock_monotonic_ns();
    request_socket->deadline_ns = request_socket->used_ns + transport->request_timeout_ns;
    request_socket->waiting = true;
    request_socket->spared = false;
    nng_aio_wait(request_socket->sending);
    nng_aio_set_timeout(request_socket->sending, NNG_DURATION_INFINITE);
    nng_aio_set_msg(request_socket->sending, message);
    nng_send_aio(request_socket->socket, request_socket->sending);
    transport_wake_by(transport, request_socket->deadline_ns);
    metric_add(&transport->stats.requests_sent, 1);
}

/*
 * The reply may already be here: the loop hears it in the extra time, or else the request is given
 * up.
 */
static void spare(struct request_socket *request_socket, uint64_t now_ns)
{
    request_socket->spared = true;
    request_socket->deadline_ns = now_ns + SPARED_NS;
}

void request_sockets_expire(struct transport *transport, uint64_t now_ns, bool late)
{
    for (size_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++) {
        struct request_socket *request_socket = &transport->request_sockets[i];
        if (!request_socket->waiting)
            continue;
        if (now_ns >= request_socket->deadline_ns && !request_socket->spared && (late || request_socket->readable))
            spare(request_socket, now_ns);
        if (now_ns < request_socket->deadline_ns) {
            transport_wake_by(transport, request_socket->deadline_ns);
            continue;
        }
        metric_add(&transport->stats.requests_expired, 1);
        close_alone(request_socket);
    }
}

void request_sockets_hold(struct transport *transport, bool held)
{
    for (size_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++) {
        struct request_socket *request_socket = &transport->request_sockets[i];
        request_socket->readable = false;
        if (!request_socket->poll)
            continue;
        if (held)
            (void)uv_poll_stop(request_socket->poll);
        else
            (void)uv_poll_start(request_socket->poll, UV_READABLE, request_socket_ready);
    }
}

void request_sockets_close(struct transport *transport, struct closing *closing)
{
    for (size_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++)
        close_request_socket(&transport->request_sockets[i], closing);
}
