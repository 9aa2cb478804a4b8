/*
 * message_rights: what the two readers of messages about spends need of each other: message_read.c, and
 * message_rights.c, which reads asks and grants.
 *
 * The one idea: values are checked before they are used, as in all of a message. Only for these two files.
 */
#ifndef HEADGATE_CLUSTER_CODEC_MESSAGE_RIGHTS_H
#define HEADGATE_CLUSTER_CODEC_MESSAGE_RIGHTS_H

#include "cluster/codec/message.h"

/* Reads the terms of a limit, of which only the kind and the flags are checked. False: they are malformed. */
bool message_terms(const msgpack_object *object, struct limit_terms *terms);
/* Most batches grant nothing; `object` is NULL then. True: the grants are sound, and stand in the record. */
bool message_check_grants(const msgpack_object *object, uint32_t origin_count, struct batch_record *record);
/* The asks of a message; most messages have none: `object` is NULL. */
bool message_read_asks(const msgpack_object *object, struct message *message);

#endif
