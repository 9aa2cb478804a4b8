/*
 * join: from nothing to a share, and a graceful end.
 *
 * The one idea: a node admits only when nobody can still count its share as theirs, and when it
 * knows what others have spent. Before it leaves, it tells everything that it spent.
 */
#ifndef HEADGATE_CLUSTER_JOIN_H
#define HEADGATE_CLUSTER_JOIN_H

struct effects;
struct node;

void join_step(struct node *node, struct effects *effects);
void hello_step(struct node *node, struct effects *effects);
void leave_step(struct node *node, struct effects *effects);

#endif
