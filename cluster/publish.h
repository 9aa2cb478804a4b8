/*
 * publish: decides what a message to all peers says, and when batches are sent again.
 *
 * The one idea: a message carries new batches, batches that some member has lacked for too long,
 * and small batches in case an earlier message was lost. A message is never larger than
 * message_max, and never more than one step's work for its reader.
 */
#ifndef HEADGATE_CLUSTER_PUBLISH_H
#define HEADGATE_CLUSTER_PUBLISH_H

#include <stdint.h>

struct effects;
struct node;

void publish_message(struct node *node, struct effects *effects);
/* The least time between two messages of which the second only answers, or asks. */
uint64_t publish_gap_ns(const struct node *node);

#endif
