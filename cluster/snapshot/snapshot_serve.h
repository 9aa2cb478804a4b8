/*
 * snapshot_serve: parts of this node's table are given to whoever asks.
 *
 * The one idea: the answer has the digest of the moment and the keys of the part; own spends that
 * are not settled are charged in full.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_SERVE_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_SERVE_H

struct effects;
struct message;
struct node;

void snapshot_serve(struct node *node, const struct message *request, struct effects *effects);

#endif
