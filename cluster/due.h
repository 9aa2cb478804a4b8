/*
 * due: when this node's next message to all peers is due.
 *
 * The one idea: what a step wants to have told waits for as long as its kind may wait after the last message, so that
 * one message says it all: spends of a burst for the ask that goes with them, answers for each other. What a message
 * says is decided by publish.h.
 */
#ifndef HEADGATE_CLUSTER_DUE_H
#define HEADGATE_CLUSTER_DUE_H

#include <stdbool.h>
#include <stdint.h>

struct node;

/* True: a message is due at node->now_ns. */
bool due_is_message(const struct node *node);
/* When one is due, or the next tick, whichever is earlier. It may have passed. */
uint64_t due_ns(const struct node *node);

#endif
