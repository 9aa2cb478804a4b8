/*
 * message_weights: the bytes of what a member says of weights that change, and of what it was asked for.
 *
 * The one idea: both are fields of the sender's own record that older releases lack, and each is a record of its own.
 * Only for message_read.c and message_write.c. What the figures mean, members/weights.h and members/demand.h say.
 */
#ifndef HEADGATE_CLUSTER_CODEC_MESSAGE_WEIGHTS_H
#define HEADGATE_CLUSTER_CODEC_MESSAGE_WEIGHTS_H

#include "cluster/codec/message.h"

/* `object` may be NULL: nothing is said. False: it is malformed. */
bool weights_record_read(const msgpack_object *object, struct weights_record *weights);
void weights_record_pack(msgpack_packer *packer, const struct weights_record *weights);
bool demand_record_read(const msgpack_object *object, struct demand_record *demand);
void demand_record_pack(msgpack_packer *packer, const struct demand_record *demand);

#endif
