/*
 * hear: the entry of every message from a peer.
 *
 * The one idea: hear opens a message, counts it if this daemon cannot understand it, and hands it
 * to the part of the node that the message's kind belongs to. A bad message never changes anything
 * but counters and notices: its step goes on as if the message had not come.
 */
#ifndef HEADGATE_CLUSTER_HEAR_H
#define HEADGATE_CLUSTER_HEAR_H

#include "cluster/node.h"

/*
 * `event` must be an EVENT_MESSAGE, EVENT_REQUEST or EVENT_RESPONSE. A response of no bytes is
 * ignored.
 */
void hear_message(struct node *node, const struct event *event, struct effects *effects);

#endif
