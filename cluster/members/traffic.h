/*
 * traffic: how many messages and bytes go to each member and come from it.
 *
 * The one idea: a published message goes to all members that have not left, and counts for each of
 * them; a request counts for the member at its address, a reply for the member that asked. So what
 * one daemon sent to a peer, less what that peer received of it, was lost on the way. No decision
 * depends on these figures.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_TRAFFIC_H
#define HEADGATE_CLUSTER_MEMBERS_TRAFFIC_H

#include "base/bytes.h"
#include "cluster/node.h"

#include <stddef.h>

/* A message of `sender` has come, who gets the reply of this step if there is one. */
void traffic_heard(struct node *node, struct bytes sender, size_t bytes);
/* Counts what a step sends: at its end. */
void traffic_sent(struct node *node, const struct effects *effects);

#endif
