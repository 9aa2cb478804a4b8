/*
 * forget: keys that are full again leave the table.
 *
 * The one idea: a full key is as good as one that nobody has asked for. Some places are looked at
 * in each step, in the order of memory.
 */
#ifndef HEADGATE_CLUSTER_SPEND_FORGET_H
#define HEADGATE_CLUSTER_SPEND_FORGET_H

struct node;

/* Forgets some keys that are full again. Last of all in a step: no entry outlives it. */
void forget_step(struct node *node);

#endif
