/*
 * message_limits: the bytes of what a member says of limits that change.
 *
 * The one idea: it is a field of the sender's own record that older releases lack, and a record of its own. Only for
 * message_read.c and message_write.c. What it means, members/limit_list.h says.
 */
#ifndef HEADGATE_CLUSTER_CODEC_MESSAGE_LIMITS_H
#define HEADGATE_CLUSTER_CODEC_MESSAGE_LIMITS_H

#include "cluster/codec/message.h"

/* `object` may be NULL: nothing is said. False: it is malformed. */
bool limits_record_read(const msgpack_object *object, struct limits_record *limits);
void limits_record_pack(msgpack_packer *packer, const struct limits_record *limits);

#endif
