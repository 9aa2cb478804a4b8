/*
 * transport_send publishes messages and answers requests. Sending never waits: a message that
 * cannot be sent at once is dropped and counted. Published messages wait in a short queue until the
 * loop has heard what has come.
 */
#include "base/metric.h"
#include "edge/peers/transport_state.h"
#include "edge/process/clock.h"

#include <stdio.h>
#include <string.h>

/* One line is enough: messages that are too large come in rows, and all have the same cure. */
static void note_too_large(struct transport *transport, size_t size, const char *receiver)
{
    char sentence[512];
    metric_add(&transport->stats.messages_too_large, 1);
    if (transport->told_too_large || !transport->receiver.warn)
        return;
    transport->told_too_large = true;
    (void)snprintf(sentence, sizeof sentence,
                   "a message for %s has %zu bytes and message_max is %zu: it was dropped; raise message_max at all "
                   "daemons and restart them",
                   receiver, size, transport->message_max_bytes);
    transport->receiver.warn(transport->receiver.context, sentence);
}

nng_msg *transport_message(struct transport *transport, struct bytes bytes, const char *receiver)
{
    nng_msg *message = NULL;
    if (bytes.size > transport->message_max_bytes) {
        note_too_large(transport, bytes.size, receiver);
        return NULL;
    }
    if (nng_msg_alloc(&message, bytes.size) == 0) {
        if (bytes.size > 0)
            memcpy(nng_msg_body(message), bytes.data, bytes.size);
        return message;
    }
    metric_add(&transport->stats.send_failures, 1);
    return NULL;
}

/* Takes ownership of the message. */
static bool send_now(struct transport *transport, nng_socket socket, nng_msg *message)
{
    nng_aio_set_msg(transport->at_once, message);
    nng_send_aio(socket, transport->at_once);
    nng_aio_wait(transport->at_once);
    if (nng_aio_result(transport->at_once) == 0)
        return true;
    nng_msg_free(message);
    metric_add(&transport->stats.send_failures, 1);
    return false;
}

static void publish_oldest(struct transport *transport)
{
    nng_msg *oldest = transport->to_publish[0];
    transport->to_publish_count--;
    for (uint32_t i = 0; i < transport->to_publish_count; i++)
        transport->to_publish[i] = transport->to_publish[i + 1];
    if (send_now(transport, transport->publisher, oldest))
        metric_add(&transport->stats.published_messages, 1);
    if (transport->to_publish_count == 0)
        (void)uv_idle_stop(&transport->later);
}

void transport_flush(struct transport *transport)
{
    while (transport->to_publish_count > 0)
        publish_oldest(transport);
}

/* The loop does not sleep while an idle handle runs; the handle has nothing else to do. */
static void on_later(uv_idle_t *idle)
{
    (void)idle;
}

static void publish_later(struct transport *transport)
{
    uint64_t from_ns = clock_monotonic_ns();
    publish_oldest(transport);
    if (transport->receiver.published)
        transport->receiver.published(transport->receiver.context, from_ns, clock_monotonic_ns());
}

void transport_publish(struct transport *transport, struct bytes bytes)
{
    nng_msg *message = transport_message(transport, bytes, "all peers");
    if (!message)
        return;
    transport->to_publish[transport->to_publish_count++] = message;
    if (transport->to_publish_count == TRANSPORT_LATER_MAX)
        publish_oldest(transport);
    (void)uv_idle_start(&transport->later, on_later);
}

void transport_reply(struct transport *transport, struct bytes bytes)
{
    nng_msg *message = transport_message(transport, bytes, "a peer that has asked");
    if (bytes.size > 0)
        pipes_prove(transport->pipes, transport->asking);
    if (message)
        (void)send_now(transport, transport->replier, message);
}

/* ---- work that waits ---- */

bool transport_waits(const struct transport *transport)
{
    return transport->to_publish_count > 0 || inlets_wait(transport);
}

bool transport_work(struct transport *transport)
{
    if (transport->to_publish_count == 0)
        return inlets_hear(transport);
    publish_later(transport);
    return true;
}
