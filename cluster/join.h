/*
 * join: leads a node from its start to its share, and to a graceful end.
 *
 * The one idea: a node admits only when no other node can still use its share, and when it knows
 * the spends of the others. Before it leaves, it tells all its spends.
 */
#ifndef HEADGATE_CLUSTER_JOIN_H
#define HEADGATE_CLUSTER_JOIN_H

struct effects;
struct node;

void join_step(struct node *node, struct effects *effects);
void hello_step(struct node *node, struct effects *effects);
void leave_step(struct node *node, struct effects *effects);

#endif
