/*
 * hear: where every message of a peer comes in.
 *
 * A message is opened, counted if it cannot be understood, and handed to the part of the node that its kind is about.
 * Whatever is wrong with a message, its step goes on as if it had not come.
 */
#ifndef HEADGATE_CLUSTER_HEAR_H
#define HEADGATE_CLUSTER_HEAR_H

#include "cluster/node.h"

/* `event`: an EVENT_MESSAGE, EVENT_REQUEST or EVENT_RESPONSE; a response of no bytes says nothing. */
void hear_message(struct node *node, const struct event *event, struct effects *effects);

#endif
