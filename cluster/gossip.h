/*
 * gossip: takes over a message about spends, part by part.
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

/* `envelope` is opened, and came by the way of its kind (hear.h). A body that makes no sense is counted and dropped. */
void gossip_receive(struct node *node, const struct envelope *envelope, struct effects *effects);

#endif
