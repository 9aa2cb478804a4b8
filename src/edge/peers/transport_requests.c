#include "edge/peers/transport_state.h"

#include "edge/process/clock.h"

#include <nng/protocol/reqrep0/req.h>
#include <stdlib.h>
#include <string.h>

/* For what came while this process did not run. */
#define SPARED_NS ((uint64_t)200 * 1000000)

static void lane_poll_closed(uv_handle_t *handle)
{
    struct transport *transport = handle->data;
    free(handle);
    transport_count_closed(transport);
}

static void close_lane(struct lane *lane, struct closing *closing)
{
    if (!lane->address[0])
        return;
    if (lane->poll) {
        /* From here on the handle belongs to the transport alone. */
        lane->poll->data = lane->transport;
        uv_close((uv_handle_t *)lane->poll, lane_poll_closed);
        lane->poll = NULL;
    }
    pipes_close_dialer(lane->transport->pipes, lane->socket, lane->dialer);
    closing_add(closing, lane->socket, lane->sending);
    lane->address[0] = '\0';
    lane->waiting = lane->readable = false;
}

static void close_alone(struct lane *lane)
{
    struct closing *closing = closing_create(lane->transport->pipes);
    close_lane(lane, closing);
    closing_begin(closing);
    closing_forget(&closing);
}

static void lane_ready(uv_poll_t *poll, int status, int events)
{
    (void)status, (void)events;
    struct lane *lane = poll->data;
    lane->readable = lane->transport->waits[INLET_ANSWERS] = true;
}

bool lanes_hear(struct transport *transport)
{
    for (uint32_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++) {
        struct lane *lane = &transport->lanes[transport->next_lane];
        nng_msg *message;
        transport->next_lane = (transport->next_lane + 1) % TRANSPORT_REQUESTS_MAX;
        if (!lane->readable)
            continue;
        lane->readable = false;
        if (nng_recvmsg(lane->socket, &message, NNG_FLAG_NONBLOCK) != 0)
            continue;
        lane->waiting = false; /* before the call, which may ask the next question */
        transport_deliver(transport, transport->receiver.response, message);
        return true;
    }
    return false;
}

static int open_lane(struct lane *lane, const char *address)
{
    char url[URL_BYTES];
    struct transport *transport = lane->transport;
    if (strlen(address) >= ADDRESS_BYTES || !transport_url(url, address))
        return NNG_EADDRINVAL;
    int status = nng_aio_alloc(&lane->sending, NULL, NULL);
    if (status != 0)
        return status;
    status = nng_req0_open(&lane->socket);
    if (status != 0) {
        nng_aio_free(lane->sending);
        return status;
    }
    memcpy(lane->address, address, strlen(address) + 1);
    lane->dialer = (nng_dialer)NNG_DIALER_INITIALIZER;
    status = transport_set_limits(lane->socket, transport->message_max_bytes + TRANSPORT_ENVELOPE_BYTES);
    if (status == 0)
        status = pipes_watch(transport->pipes, lane->socket, PIPE_LANE);
    /* The node asks again by itself; a request repeated by the socket would be answered twice. */
    if (status == 0)
        status = nng_socket_set_ms(lane->socket, NNG_OPT_REQ_RESENDTIME, NNG_DURATION_INFINITE);
    if (status == 0)
        status = nng_dial(lane->socket, url, &lane->dialer, NNG_FLAG_NONBLOCK);
    if (status == 0) {
        lane->poll = malloc(sizeof *lane->poll);
        status = lane->poll ? transport_poll(transport, lane->poll, lane, lane->socket, lane_ready) : NNG_ENOMEM;
        if (status != 0) {
            free(lane->poll);
            lane->poll = NULL;
        }
    }
    if (status != 0)
        close_alone(lane);
    return status;
}

/*
 * The free lane of that address, else one that is closed, else (closed now) the idle one unused for longest. NULL
 * when too many are waiting.
 */
static struct lane *find_lane(struct transport *transport, const char *address)
{
    struct lane *free_lane = NULL, *same = NULL;
    int waiting = 0;
    for (size_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++) {
        struct lane *lane = &transport->lanes[i];
        bool is_same = lane->address[0] && strcmp(lane->address, address) == 0;
        waiting += is_same && lane->waiting;
        if (lane->waiting)
            continue;
        if (is_same)
            same = lane;
        if (!free_lane || (free_lane->address[0] && (!lane->address[0] || lane->used_ns < free_lane->used_ns)))
            free_lane = lane;
    }
    if (waiting >= TRANSPORT_REQUESTS_EACH)
        return NULL;
    if (!same && free_lane)
        close_alone(free_lane);
    return same ? same : free_lane;
}

void transport_request(struct transport *transport, const char *address, struct bytes bytes)
{
    struct lane *lane = find_lane(transport, address);
    if (!lane || (!lane->address[0] && open_lane(lane, address) != 0)) {
        transport->stats.requests_refused++;
        return;
    }
    nng_msg *message = transport_message(transport, bytes);
    if (!message)
        return;
    lane->used_ns = clock_monotonic_ns();
    lane->deadline_ns = lane->used_ns + transport->request_timeout_ns;
    lane->waiting = true;
    lane->spared = false;
    nng_aio_wait(lane->sending);
    nng_aio_set_timeout(lane->sending, NNG_DURATION_INFINITE);
    nng_aio_set_msg(lane->sending, message);
    nng_send_aio(lane->socket, lane->sending);
    transport_wake_by(transport, lane->deadline_ns);
    transport->stats.requests_sent++;
}

/* Its answer may be here: then it is heard, and else the time over, a moment later. */
static void spare(struct lane *lane, uint64_t now_ns)
{
    lane->spared = true;
    lane->deadline_ns = now_ns + SPARED_NS;
}

void lanes_expire(struct transport *transport, uint64_t now_ns, bool late)
{
    for (size_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++) {
        struct lane *lane = &transport->lanes[i];
        if (!lane->waiting)
            continue;
        if (now_ns >= lane->deadline_ns && !lane->spared && (late || lane->readable))
            spare(lane, now_ns);
        if (now_ns < lane->deadline_ns) {
            transport_wake_by(transport, lane->deadline_ns);
            continue;
        }
        transport->stats.requests_expired++;
        close_alone(lane);
    }
}

void lanes_hold(struct transport *transport, bool held)
{
    for (size_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++) {
        struct lane *lane = &transport->lanes[i];
        lane->readable = false;
        if (!lane->poll)
            continue;
        if (held)
            (void)uv_poll_stop(lane->poll);
        else
            (void)uv_poll_start(lane->poll, UV_READABLE, lane_ready);
    }
}

void lanes_close(struct transport *transport, struct closing *closing)
{
    for (size_t i = 0; i < TRANSPORT_REQUESTS_MAX; i++)
        close_lane(&transport->lanes[i], closing);
}
