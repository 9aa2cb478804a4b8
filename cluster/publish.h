/*
 * publish: decides what a message to all peers says, and when batches are sent again.
 *
 * The one idea: a message carries new batches, batches that some member has lacked for too long,
 * and small batches in case an earlier message was lost. A message is never larger than
 * message_max, and never more than one step's work for its reader.
 */
#ifndef HEADGATE_CLUSTER_PUBLISH_H
#define HEADGATE_CLUSTER_PUBLISH_H

struct effects;
struct node;

void publish_message(struct node *node, struct effects *effects);
/* Sets the least times between two messages of which the second only answers, or asks for rights or grants them. */
void publish_set_gaps(struct node *node);

#endif
