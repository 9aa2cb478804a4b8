/*
 * snapshot_serve: gives parts of this node's table to peers that ask.
 *
 * The one idea: the answer has the digest of the moment and the keys of the part; unsettled own
 * spends are charged in full.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_SERVE_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_SERVE_H

struct effects;
struct message;
struct node;

void snapshot_serve(struct node *node, const struct message *request, struct effects *effects);

#endif
