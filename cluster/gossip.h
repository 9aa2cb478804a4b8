/*
 * gossip: how a message that was heard is understood, part by part.
 *
 * The one idea: a message says who there is, what its sender has applied and what the sender heard
 * of others; all of these only grow, so a message that comes late or twice does no harm.
 */
#ifndef HEADGATE_CLUSTER_GOSSIP_H
#define HEADGATE_CLUSTER_GOSSIP_H

#include "base/bytes.h"
#include "cluster/codec/message.h"

struct node;

/* False: the message is not for us or not sound. Afterwards node->in is closed. */
void gossip_receive(struct node *node, struct bytes bytes, enum message_kind kind, struct effects *effects);

#endif
