#include "tests/lib/opened_message.h"

static struct envelope opened_envelope;

bool message_open(struct message *message, struct bytes bytes)
{
    if (envelope_open(&opened_envelope, bytes) != ENVELOPE_OPEN)
        return false;
    if (opened_envelope.kind <= MESSAGE_REPLY && message_read(message, &opened_envelope))
        return true;
    envelope_close(&opened_envelope);
    return false;
}

void message_close(struct message *message)
{
    (void)message;
    envelope_close(&opened_envelope);
}
