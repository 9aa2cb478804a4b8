/*
 * key_limit: the limit under which a node has the state of a key.
 *
 * It need not be the one that the key is asked for under: a key goes over to another limit when it is asked for next.
 * Reports of nodes do not say it, so this looks into the table. A file of its own: names of the node's state and of the
 * simulator are the same in places.
 */
#ifndef HEADGATE_TESTS_SIM_KEY_LIMIT_H
#define HEADGATE_TESTS_SIM_KEY_LIMIT_H

#include "cluster/node.h"
#include "limit/limit_span.h"

#include <stdint.h>

/* The index of that limit; -1: nothing is known of the key. */
int key_limit(const struct node *node, struct key_id id);
/* Tokens of the key in the node's voucher, rounded up, under whatever limit it has them. */
uint64_t key_voucher_tokens(struct node *node, struct key_id id, uint64_t now_ns);
/* Tokens of the key that the node has granted and that some peer may not know of. */
uint64_t key_granted_tokens(const struct node *node, struct key_id id);

/* So many units of one limit as units of another one, rounded up; and what is used of a bucket, under another limit. */
int64_t units_under(int64_t units, const struct limit *from, const struct limit *to);
struct bucket bucket_under(const struct bucket *bucket, const struct limit *from, const struct limit *to);

/* The node knows that limit as one of the tiers of a rule, as its rules would have told it. */
void key_limit_is_of_tiers(struct node *node, uint16_t limit, const struct limit_span *span);

#endif
