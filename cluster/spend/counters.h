/*
 * counters: tells the store which keys have changed, and takes back what the store had.
 *
 * The one idea: a key of a persistent limit stands in a ring from its first change until the store
 * is told. Other peers are told by batches, not by counters.
 */
#ifndef HEADGATE_CLUSTER_SPEND_COUNTERS_H
#define HEADGATE_CLUSTER_SPEND_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>

struct counter;
struct counter_part;
struct effects;
struct entry;
struct node;

bool counters_create(struct node *node);
void counters_destroy(struct node *node);
/* To be called when the key's state has changed: the store is told if the limit is persistent. */
void counters_mark_dirty(struct node *node, struct entry *entry);
/* False: the ring has no room for this key. */
bool counters_have_room(const struct node *node, const struct entry *entry);
/* Tells the store of as many keys as one step has time for; false: more keys have changed. */
bool counters_emit(struct node *node, struct effects *effects);
/* Tells the store of all keys again, a part of the table in each step. */
void counters_retell(struct node *node);
void counters_step(struct node *node);
void counters_restore(struct node *node, const struct counter *counters, size_t count,
                      const struct counter_part *parts);

#endif
