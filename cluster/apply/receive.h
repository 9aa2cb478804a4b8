/*
 * receive: from the records of a message to batches in the inbox.
 *
 * The one idea: a record is believed only as far as it makes sense here; what is next in its order
 * is applied at once, as far as the step has time.
 */
#ifndef HEADGATE_CLUSTER_APPLY_RECEIVE_H
#define HEADGATE_CLUSTER_APPLY_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

struct limit_terms;
struct message;
struct node;

/* Takes the message's batches in, which was made at `made_ns` or later; true if anything was applied. */
bool receive_batches(struct node *node, const struct message *message, const int *member_map, uint64_t made_ns);
/* The index of a limit that a peer told us of; -1: it makes no sense, or there are too many. */
int limit_of_terms(struct node *node, const struct limit_terms *terms);

#endif
