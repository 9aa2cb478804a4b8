/*
 * forget: removes keys that are full again from the table.
 *
 * The one idea: a full key is as good as one that was never asked for. Each step looks at some
 * places, in the order of memory.
 */
#ifndef HEADGATE_CLUSTER_SPEND_FORGET_H
#define HEADGATE_CLUSTER_SPEND_FORGET_H

struct node;

/* Must come last in a step: no pointer to an entry outlives it. */
void forget_step(struct node *node);

#endif
