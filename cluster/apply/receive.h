/*
 * receive: makes batches in the inbox of the records of a message.
 *
 * The one idea: a record is believed only as far as it makes sense here. The next batch in the
 * order of its origin is applied at once, as far as the step has time.
 */
#ifndef HEADGATE_CLUSTER_APPLY_RECEIVE_H
#define HEADGATE_CLUSTER_APPLY_RECEIVE_H

#include <stdbool.h>
#include <stdint.h>

struct limit_terms;
struct message;
struct node;

/*
 * Takes in the batches of a message that was made at `made_ns` or later; true: a batch was applied.
 */
bool receive_batches(struct node *node, const struct message *message, const int *member_map, uint64_t made_ns);
/* The index of a limit that a peer tells; -1: it makes no sense, or there are too many limits. */
int limit_of_terms(struct node *node, const struct limit_terms *terms);

#endif
