/*
 * opened_message: a message's envelope and its body at once, for tests that look at one message at a time.
 */
#ifndef HEADGATE_TESTS_OPENED_MESSAGE_H
#define HEADGATE_TESTS_OPENED_MESSAGE_H

#include "cluster/codec/message.h"

static struct envelope opened_envelope;

/* True if the unsealed bytes are a sound message about spends; then message_close must follow. */
__attribute__((unused)) static bool message_open(struct message *message, struct bytes bytes)
{
    if (envelope_open(&opened_envelope, bytes) != ENVELOPE_OPEN)
        return false;
    if (opened_envelope.kind <= MESSAGE_REPLY && message_read(message, &opened_envelope))
        return true;
    envelope_close(&opened_envelope);
    return false;
}

__attribute__((unused)) static void message_close(struct message *message)
{
    (void)message;
    envelope_close(&opened_envelope);
}

#endif
