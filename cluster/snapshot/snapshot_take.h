/*
 * snapshot_take: takes the answer to a request for a part, and ends a snapshot.
 *
 * The one idea: when all parts are merged, the batches that every part contains count as applied;
 * other batches follow in messages.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_TAKE_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_TAKE_H

struct effects;
struct message;
struct node;

/*
 * All parts are merged: batches that each part contains count as applied, once all earlier own
 * spends are told.
 */
void snapshot_finish(struct node *node, struct effects *effects);
void snapshot_take(struct node *node, const struct message *reply, const int *member_map, struct effects *effects);

#endif
