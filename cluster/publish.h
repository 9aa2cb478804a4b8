/*
 * publish: what is said to all peers, and when something is said again.
 *
 * The one idea: a message carries new batches, those that somebody is known to lack for too long,
 * and small ones in case a message was lost. A message is never larger than one datagram of gossip
 * and never more than a step's work for its reader.
 */
#ifndef HEADGATE_CLUSTER_PUBLISH_H
#define HEADGATE_CLUSTER_PUBLISH_H

struct effects;
struct node;

void publish_message(struct node *node, struct effects *effects);

#endif
