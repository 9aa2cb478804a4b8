/*
 * opened_message: a message's envelope and its body at once, for tests that look at one message at a time.
 */
#ifndef HEADGATE_TESTS_LIB_OPENED_MESSAGE_H
#define HEADGATE_TESTS_LIB_OPENED_MESSAGE_H

#include "cluster/codec/message.h"

/* True if the unsealed bytes are a sound message about spends; then message_close must follow. */
bool message_open(struct message *message, struct bytes bytes);

void message_close(struct message *message);

#endif
