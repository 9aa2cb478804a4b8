/*
 * opened_message: opens envelope and body of a message in one call, for tests that read one message
 * at a time.
 */
#ifndef HEADGATE_TESTS_LIB_OPENED_MESSAGE_H
#define HEADGATE_TESTS_LIB_OPENED_MESSAGE_H

#include "cluster/codec/message.h"

/*
 * True: the unsealed bytes are a sound message about spends, and the caller must call
 * message_close.
 */
bool message_open(struct message *message, struct bytes bytes);

void message_close(struct message *message);

#endif
