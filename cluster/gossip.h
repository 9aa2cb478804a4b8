/*
 * gossip: takes over a message that was heard, part by part.
 *
 * The one idea: a message names the members, the batches that its sender has applied, and the
 * digests that the sender heard of others. All of these only grow, so a late or repeated message
 * does no harm.
 */
#ifndef HEADGATE_CLUSTER_GOSSIP_H
#define HEADGATE_CLUSTER_GOSSIP_H

#include "base/bytes.h"
#include "cluster/codec/message.h"

struct node;

/*
 * Takes over the message, unless it is not for this node or not sound. Closes node->in at the end.
 */
void gossip_receive(struct node *node, struct bytes bytes, enum message_kind kind, struct effects *effects);

#endif
