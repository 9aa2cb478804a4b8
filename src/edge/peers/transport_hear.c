/*
 * transport_hear takes messages from nng, one in each call, in turns among published messages,
 * requests and replies. The loop's poll says which inlets have messages.
 */
#include "base/metric.h"
#include "edge/peers/transport_state.h"
#include "edge/process/clock.h"

#include <string.h>

void transport_deliver(struct transport *transport,
                       void (*function)(void *context, const char *from, struct bytes bytes), const char *from,
                       nng_msg *message)
{
    struct bytes bytes = {nng_msg_body(message), nng_msg_len(message)};
    transport->in_call = true;
    function(transport->receiver.context, transport->tunnel ? from : NULL, bytes);
    transport->in_call = false;
    nng_msg_free(message);
}

/* nng_recvmsg and nng_sendmsg without waiting do the same, but make a new aio in each call. */
static nng_msg *receive_now(struct transport *transport, nng_socket socket)
{
    nng_recv_aio(socket, transport->at_once);
    nng_aio_wait(transport->at_once);
    return nng_aio_result(transport->at_once) == 0 ? nng_aio_get_msg(transport->at_once) : NULL;
}

/* The last message of a peer is often heard after its connection has ended. */
static nng_dialer dialer_of(const struct transport *transport, nng_msg *message)
{
    nng_pipe pipe = nng_msg_get_pipe(message);
    nng_dialer dialer = nng_pipe_dialer(pipe);
    return transport->tunnel && nng_dialer_id(dialer) <= 0 ? pipes_former_dialer(transport->pipes, pipe) : dialer;
}

static bool hear_published(struct transport *transport)
{
    nng_msg *message = receive_now(transport, transport->subscriber);
    if (!message)
        return false;
    const struct bytes bytes = {nng_msg_body(message), nng_msg_len(message)};
    struct link *link = links_hear(transport, dialer_of(transport, message), clock_monotonic_ns());
    metric_add(&transport->stats.received_messages, 1);
    if (link && lanes_have_brought(transport, link, bytes)) {
        metric_add(&transport->stats.copies, 1);
        nng_msg_free(message);
        return true;
    }
    transport_deliver(transport, transport->receiver.message, link ? link->name : "", message);
    return true;
}

static bool hear_request(struct transport *transport)
{
    nng_msg *message = receive_now(transport, transport->replier);
    if (!message)
        return false;
    metric_add(&transport->stats.requests_received, 1);
    transport->asking = nng_msg_get_pipe(message);
    char names[TRANSPORT_NAMES_BYTES] = "";
    nng_sockaddr address = {0};
    if (transport->tunnel && nng_pipe_get_addr(transport->asking, NNG_OPT_REMADDR, &address) == 0) {
        const struct endpoint remote = endpoint_of_nng(&address);
        tunnel_names(transport->tunnel, &remote, names);
    }
    transport_deliver(transport, transport->receiver.request, names, message);
    return true;
}

/*
 * Hears one message of an inlet. A descriptor stays readable while messages are left, so the loop
 * comes back for the others.
 */
static bool hear(struct transport *transport, enum inlet inlet)
{
    static bool (*const hear_one[INLETS])(struct transport *) = {[INLET_PUBLISHED] = hear_published,
                                                                 [INLET_REQUESTS] = hear_request,
                                                                 [INLET_ANSWERS] = request_sockets_hear};
    bool heard = transport->waits[inlet] && hear_one[inlet](transport);
    if (!heard)
        /*
         * only if nothing was heard: the receiver may hold the transport, and then the inlets are
         * cleared already
         */
        transport->waits[inlet] = false;
    return heard;
}

bool inlets_hear(struct transport *transport)
{
    bool heard = false;
    for (int i = 0; i < INLETS && !heard; i++) {
        heard = hear(transport, transport->next_inlet);
        transport->next_inlet = (transport->next_inlet + 1) % INLETS;
    }
    return heard;
}

bool inlets_wait(const struct transport *transport)
{
    bool wait = false;
    for (int i = 0; i < INLETS; i++)
        wait |= transport->waits[i];
    return wait;
}

/* ---- polling ---- */

/* An inlet that still has messages becomes readable again in the poll. */
static void before_poll(uv_prepare_t *prepare)
{
    struct transport *transport = prepare->data;
    memset(transport->waits, 0, sizeof transport->waits);
}

static void subscriber_ready(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    ((struct transport *)poll->data)->waits[INLET_PUBLISHED] = true;
}

static void replier_ready(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    ((struct transport *)poll->data)->waits[INLET_REQUESTS] = true;
}

int inlets_open(struct transport *transport)
{
    (void)uv_prepare_start(&transport->polls, before_poll);
    uv_unref((uv_handle_t *)&transport->polls);
    int status =
        transport_poll(transport, &transport->subscriber_poll, transport, transport->subscriber, subscriber_ready);
    return status != 0
               ? status
               : transport_poll(transport, &transport->replier_poll, transport, transport->replier, replier_ready);
}

static void hold_poll(uv_poll_t *poll, uv_poll_cb ready, bool held)
{
    if (uv_is_closing((uv_handle_t *)poll))
        return;
    if (held)
        (void)uv_poll_stop(poll);
    else
        (void)uv_poll_start(poll, UV_READABLE, ready);
}

void transport_hold(struct transport *transport, bool held)
{
    memset(transport->waits, 0, sizeof transport->waits);
    transport->held = held;
    hold_poll(&transport->subscriber_poll, subscriber_ready, held);
    hold_poll(&transport->replier_poll, replier_ready, held);
    request_sockets_hold(transport, held);
}
