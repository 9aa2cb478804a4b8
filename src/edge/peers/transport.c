/*
 * transport opens the sockets between peers, and closes all of them at the end. Two sockets have a
 * port (gossip, snapshots), one socket dials the gossip ports of other peers. Other files send
 * messages (transport_send.c), hear messages (transport_hear.c), keep links alive
 * (transport_links.c), ask peers (transport_requests.c) and end connections (transport_pipes.c).
 */
#include "edge/peers/transport.h"
#include "base/host_port.h"
#include "base/metric.h"

#include "edge/peers/transport_state.h"
#include "edge/process/background.h"
#include "edge/process/clock.h"

#include <assert.h>
#include <errno.h>
#include <nng/nng.h>
#include <nng/protocol/pubsub0/pub.h>
#include <nng/protocol/pubsub0/sub.h>
#include <nng/protocol/reqrep0/rep.h>
#include <stdio.h>
#include <stdlib.h>
#include <sysexits.h>

enum {
    RECONNECT_MIN_MS = 50,
    RECONNECT_MAX_MS = 1000,
    LATE_MS = 100, /* a timer that fires this much too late: this process did not run */
    CLOSING_TICK_MS = 2,
    CLOSING_TICKS_MAX = 1500,
    QUEUE_MAX_MESSAGES = 8192, /* nng allows no more */
    QUEUE_MIN_MESSAGES = 256,
    REQUEST_MAX_BYTES = 128 << 10, /* a request carries the view of the largest cluster */
    NOTHING_BYTES = 1,             /* nng has no smaller limit: 0 means no limit */
};
/* The most bytes of the messages in one queue, if all messages have the largest size. */
#define QUEUE_MAX_BYTES ((size_t)256 << 20)

bool transport_url(char url[URL_BYTES], const char *address)
{
    int length = snprintf(url, URL_BYTES, "tcp://%s", address);
    return address[0] != '\0' && length > 0 && length < NNG_MAXADDRLEN;
}

int transport_dial(struct transport *transport, nng_socket socket, const char *name, const char *address,
                   nng_dialer *dialer)
{
    char url[URL_BYTES];
    if (!transport_url(url, address))
        return NNG_EADDRINVAL;
    const uint16_t port = transport->tunnel ? tunnel_route(transport->tunnel, name, address) : 0;
    if (transport->tunnel && port == 0)
        return NNG_ENOFILES;
    if (transport->tunnel)
        (void)snprintf(url, sizeof url, TUNNEL_URL, port);
    return nng_dial(socket, url, dialer, NNG_FLAG_NONBLOCK);
}

/* ---- opening ---- */

int transport_set_limits(nng_socket socket, size_t message_max_bytes)
{
    int status = nng_socket_set_size(socket, NNG_OPT_RECVMAXSZ, message_max_bytes);
    if (status == 0)
        status = nng_socket_set_ms(socket, NNG_OPT_RECONNMINT, RECONNECT_MIN_MS);
    if (status == 0)
        status = nng_socket_set_ms(socket, NNG_OPT_RECONNMAXT, RECONNECT_MAX_MS);
    return status;
}

static int queue_messages(size_t message_max_bytes)
{
    size_t messages = QUEUE_MAX_BYTES / message_max_bytes;
    if (messages < QUEUE_MIN_MESSAGES)
        return QUEUE_MIN_MESSAGES;
    return messages > QUEUE_MAX_MESSAGES ? QUEUE_MAX_MESSAGES : (int)messages;
}

static int open_sockets(struct transport *transport)
{
    size_t message_max = transport->message_max_bytes;
    size_t request_max = message_max < REQUEST_MAX_BYTES ? message_max : REQUEST_MAX_BYTES;
    int queue = queue_messages(message_max);
    int status = nng_pub0_open(&transport->publisher);
    if (status == 0)
        status = nng_sub0_open(&transport->subscriber);
    if (status == 0)
        status = nng_rep0_open(&transport->replier);
    if (status == 0)
        status = transport_set_limits(transport->publisher, NOTHING_BYTES);
    if (status == 0)
        status = transport_set_limits(transport->subscriber, message_max + TRANSPORT_ENVELOPE_BYTES);
    if (status == 0)
        status = transport_set_limits(transport->replier, request_max + TRANSPORT_ENVELOPE_BYTES);
    if (status == 0)
        status = pipes_watch(transport->pipes, transport->publisher, PIPE_GOSSIP);
    if (status == 0)
        status = pipes_watch(transport->pipes, transport->subscriber, PIPE_LINK);
    if (status == 0)
        status = pipes_watch(transport->pipes, transport->replier, PIPE_SNAPSHOTS);
    if (status == 0)
        status = nng_socket_set_int(transport->publisher, NNG_OPT_SENDBUF, queue);
    if (status == 0)
        status = nng_socket_set_int(transport->subscriber, NNG_OPT_RECVBUF, queue);
    if (status == 0)
        status = nng_socket_set(transport->subscriber, NNG_OPT_SUB_SUBSCRIBE, "", 0);
    return status;
}

/* Returns a status of nng. */
static int listen_through(struct transport *transport, nng_socket socket, enum pipe_kind kind, const char *address)
{
    char url[URL_BYTES];
    (void)snprintf(url, sizeof url, TUNNEL_URL, 0u);
    int status = pipes_listen(transport->pipes, socket, kind, url);
    if (status != 0)
        return status;
    const enum tunnel_port port = kind == PIPE_GOSSIP ? TUNNEL_GOSSIP : TUNNEL_SNAPSHOTS;
    switch (tunnel_listen(transport->tunnel, port, address, pipes_port(transport->pipes, kind))) {
    case 0:
        return 0;
    case EADDRINUSE:
        return NNG_EADDRINUSE;
    case EACCES:
        return NNG_EPERM;
    default:
        return NNG_EADDRINVAL;
    }
}

static bool listen_on(struct transport *transport, nng_socket socket, enum pipe_kind kind, const char *address,
                      struct error *error)
{
    char url[URL_BYTES], host[URL_BYTES], port[PORT_TEXT_BYTES];
    const char *what = kind == PIPE_GOSSIP ? "peers (gossip)" : "peers (snapshots)";
    if (!transport_url(url, address) || !host_port_split(address, host, sizeof host, port))
        return error_set(error, EX_CONFIG, "cannot listen for %s on \"%s\": expected host:port", what, address);
    const int status = transport->tunnel ? listen_through(transport, socket, kind, address)
                                         : pipes_listen(transport->pipes, socket, kind, url);
    if (status == 0)
        return true;
    if (status == NNG_EADDRINUSE)
        return error_set(
            error, EX_UNAVAILABLE,
            "cannot listen for %s on %s: the port is in use by another program; stop it or choose another port",
            what, address);
    if (status == NNG_EADDRINVAL)
        return error_set(error, EX_UNAVAILABLE, "cannot listen for %s on %s: this machine has no such address",
                         what, address);
    return error_set(error, status == NNG_EPERM ? EX_NOPERM : EX_CONFIG, "cannot listen for %s on %s: %s", what,
                     address, nng_strerror(status));
}

void transport_count_closed(struct transport *transport)
{
    assert(transport->handles_open > 0);
    if (--transport->handles_open > 0 || !transport->closed)
        return;
    void (*closed)(void *context) = transport->closed;
    void *context = transport->closed_context;
    contact_release(&transport->contact);
    tunnel_release(&transport->tunnel);
    transport_tls_release(&transport->tls);
    free(transport);
    closed(context);
}

static void handle_closed(uv_handle_t *handle)
{
    transport_count_closed(handle->data);
}

int transport_poll(struct transport *transport, uv_poll_t *poll, void *data, nng_socket socket, uv_poll_cb ready)
{
    int fd, status = nng_socket_get_int(socket, NNG_OPT_RECVFD, &fd);
    if (status != 0)
        return status;
    if (uv_poll_init(transport->loop, poll, fd) != 0)
        return NNG_ENOMEM;
    poll->data = data;
    transport->handles_open++;
    (void)uv_poll_start(poll, UV_READABLE, ready); /* fails only for a closing handle */
    return 0;
}

/* ---- deadlines ---- */

/*
 * Everything that is not due yet asks to be woken again. A message only moves the deadline of its
 * link; it does not start the timer again.
 */
static void on_due(uv_timer_t *timer)
{
    struct transport *transport = timer->data;
    uint64_t now_ns = clock_monotonic_ns();
    bool late = now_ns > transport->wake_ns + LATE_MS * UINT64_C(1000000);
    transport->wake_ns = UINT64_MAX;
    request_sockets_expire(transport, now_ns, late);
    links_tell(transport);
    lanes_look(transport, now_ns);
    links_redial(transport, now_ns, late);
}

void transport_wake_by(struct transport *transport, uint64_t at_ns)
{
    if (at_ns >= transport->wake_ns)
        return;
    transport->wake_ns = at_ns;
    (void)uv_timer_start(&transport->timer, on_due, clock_timeout_ms(transport->loop, at_ns), 0);
}

/* ---- life ---- */

static bool start(struct transport *transport, const struct transport_options *options, struct error *error)
{
    bool background = background_begin();
    int status = nng_aio_alloc(&transport->at_once, NULL, NULL); /* the first call starts all of nng's threads */
    if (background)
        background_end();
    if (status == 0 && transport->tls && !(transport->tunnel = tunnel_create(transport->tls)))
        status = NNG_ENOMEM;
    if (status == 0 && !(transport->pipes = pipes_create(&transport->pipes_changed, transport->tunnel)))
        status = NNG_ENOMEM;
    if (status == 0) {
        nng_aio_set_timeout(transport->at_once, NNG_DURATION_ZERO);
        status = open_sockets(transport);
    }
    if (status != 0)
        return error_set(error, EX_OSERR, "cannot open sockets for peers: %s", nng_strerror(status));
    if (!listen_on(transport, transport->publisher, PIPE_GOSSIP, options->gossip_address, error) ||
        !listen_on(transport, transport->replier, PIPE_SNAPSHOTS, options->snapshot_address, error))
        return false;
    status = inlets_open(transport);
    if (status != 0)
        return error_set(error, EX_OSERR, "cannot watch the sockets of peers: %s", nng_strerror(status));
    return true;
}

static void on_pipes_changed(uv_async_t *async)
{
    struct transport *transport = async->data;
    const struct transport_receiver *receiver = &transport->receiver;
    if (uv_is_closing((uv_handle_t *)async))
        return;
    struct pipes_stats stats = pipes_stats(transport->pipes), before = transport->pipes_told;
    transport->pipes_told = stats;
    bool reopened = stats.reopened > before.reopened;
    if (receiver->stuck && stats.stuck > 0 && (!reopened || stats.stuck > before.stuck))
        receiver->stuck(receiver->context, stats.stuck);
    if (receiver->reopened && reopened)
        receiver->reopened(receiver->context);
}

static void use_tls(struct transport *transport, struct transport_tls *tls)
{
    transport_tls_release(&transport->tls);
    transport->tls = transport_tls_hold(tls);
    metric_set(&transport->tls_ends_s, transport_tls_span(tls).ends_s);
}

static void nothing(void *context)
{
    (void)context;
}

struct transport *transport_create(const struct transport_options *options, struct error *error)
{
    assert(options->message_max_bytes > 0 && options->redial_after_ms > 0 && options->request_timeout_ms > 0);
    struct transport *transport = calloc(1, sizeof *transport);
    if (!transport) {
        (void)error_set(error, EX_OSERR, "out of memory");
        return NULL;
    }
    transport->receiver = options->receiver;
    if (options->tls)
        use_tls(transport, options->tls);
    transport->loop = options->loop;
    transport->message_max_bytes = options->message_max_bytes;
    transport->request_timeout_ns = options->request_timeout_ms * 1000000;
    transport->redial_after_ns = options->redial_after_ms * 1000000;
    transport->look_each_ns = options->look_each_ms * 1000000;
    transport->hash_key = options->hash_key;
    for (size_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++)
        transport->request_sockets[i].transport = transport;
    (void)uv_timer_init(transport->loop, &transport->timer);
    transport->timer.data = transport;
    transport->wake_ns = UINT64_MAX;
    (void)uv_idle_init(transport->loop, &transport->later);
    transport->later.data = transport;
    (void)uv_prepare_init(transport->loop, &transport->polls);
    transport->polls.data = transport;
    (void)uv_async_init(transport->loop, &transport->pipes_changed, on_pipes_changed);
    transport->pipes_changed.data = transport;
    uv_unref((uv_handle_t *)&transport->pipes_changed);
    transport->handles_open = 4;
    if (!start(transport, options, error)) {
        transport_destroy(&transport, nothing, NULL);
        return NULL;
    }
    return transport;
}

void transport_renew(struct transport *transport, struct transport_tls *tls)
{
    assert(transport->tls && tls);
    use_tls(transport, tls);
    tunnel_renew(transport->tunnel, tls);
}

static void close_poll(uv_poll_t *poll)
{
    if (poll->data && !uv_is_closing((uv_handle_t *)poll))
        uv_close((uv_handle_t *)poll, handle_closed);
}

static void await_closed(uv_timer_t *timer)
{
    struct transport *transport = timer->data;
    if (!closing_is_done(transport->closing) && ++transport->closing_ticks < CLOSING_TICKS_MAX)
        return;
    closing_forget(&transport->closing);
    if (transport->tunnel) /* nothing may use OpenSSL any more when the process ends */
        tunnel_stop(transport->tunnel);
    uv_close((uv_handle_t *)timer, handle_closed);
}

static void close_sockets(struct transport *transport)
{
    pipes_quit(transport->pipes);
    links_close(transport);
    transport->closing = closing_create(transport->pipes);
    request_sockets_close(transport, transport->closing);
    /* libuv must forget a descriptor before nng closes it. */
    close_poll(&transport->subscriber_poll);
    close_poll(&transport->replier_poll);
    closing_add(transport->closing, transport->replier, NULL);
    closing_add(transport->closing, transport->subscriber, NULL);
    closing_add(transport->closing, transport->publisher, NULL);
    closing_begin(transport->closing);
    if (transport->closing)
        pipes_release(&transport->pipes);
}

void transport_destroy(struct transport **transport, void (*closed)(void *context), void *context)
{
    struct transport *t = *transport;
    *transport = NULL;
    assert(!t->in_call && !t->closed);
    t->closed = closed;
    t->closed_context = context;
    transport_flush(t);
    uv_close((uv_handle_t *)&t->later, handle_closed);
    uv_close((uv_handle_t *)&t->polls, handle_closed);
    uv_close((uv_handle_t *)&t->pipes_changed, handle_closed);
    if (t->pipes)
        close_sockets(t);
    nng_aio_free(t->at_once);
    (void)uv_timer_start(&t->timer, await_closed, CLOSING_TICK_MS, CLOSING_TICK_MS);
}

struct transport_stats transport_stats(const struct transport *transport)
{
    struct pipes_stats pipes = pipes_stats(transport->pipes);
    struct tunnel_stats tunnel = transport->tunnel ? tunnel_stats(transport->tunnel) : (struct tunnel_stats){0};
    const struct transport_stats *counts = &transport->stats;
    return (struct transport_stats){
        .published_messages = metric_get(&counts->published_messages),
        .received_messages = metric_get(&counts->received_messages),
        .requests_sent = metric_get(&counts->requests_sent),
        .requests_refused = metric_get(&counts->requests_refused),
        .requests_expired = metric_get(&counts->requests_expired),
        .requests_received = metric_get(&counts->requests_received),
        .send_failures = metric_get(&counts->send_failures),
        .messages_too_large = metric_get(&counts->messages_too_large),
        .links = metric_get(&counts->links),
        .spare_connections = metric_get(&counts->spare_connections),
        .spares_opened = metric_get(&counts->spares_opened),
        .copies = metric_get(&counts->copies),
        .redials = metric_get(&counts->redials),
        .connections = pipes.open,
        .connections_stuck = pipes.stuck,
        .connections_refused = pipes.refused + tunnel.refused,
        .connections_cut = pipes.cut + tunnel.cut,
        .ports_reopened = pipes.reopened,
    };
}

uint64_t transport_certificate_ends_s(const struct transport *transport)
{
    return metric_get(&transport->tls_ends_s);
}
