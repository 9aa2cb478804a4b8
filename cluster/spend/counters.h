/*
 * counters: which keys the store has to be told of, and what the store had.
 *
 * The one idea: a key of a persistent limit stands in a ring from its first change until the store
 * is told. This is not the gossip: peers are told by batches.
 */
#ifndef HEADGATE_CLUSTER_SPEND_COUNTERS_H
#define HEADGATE_CLUSTER_SPEND_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

struct counter;
struct effects;
struct entry;
struct node;

bool counters_create(struct node *node);
void counters_destroy(struct node *node);
/* The key's state has changed: it is told to the store, if its limit is to be kept. */
void counters_touch(struct node *node, struct entry *entry);
/* False: the store could not be told of one more key. */
bool counters_have_room(const struct node *node, const struct entry *entry);
/* Tells the store, of so many keys as one step has time for; false: further ones changed as well. */
bool counters_emit(struct node *node, struct effects *effects);
/* All of them are to be told again; a part of the table in each step. */
void counters_retell(struct node *node);
void counters_step(struct node *node);
void counters_restore(struct node *node, const struct counter *counters, size_t count);

#endif
