/*
 * snapshot_take: an answer to a question for a part, and the end of a snapshot.
 *
 * The one idea: when all parts are merged, what every part contains counts as applied; everything
 * else follows as batches.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_TAKE_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_TAKE_H

struct effects;
struct message;
struct node;

/* All parts are merged: what every one contains counts as applied, once all is told that was spent before. */
void snapshot_finish(struct node *node, struct effects *effects);
void snapshot_take(struct node *node, const struct message *reply, const int *member_map, struct effects *effects);

#endif
