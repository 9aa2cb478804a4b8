/*
 * snapshot: merges a part of a snapshot into the table.
 *
 * The one idea: the donor's figure of a key is corrected by the batches that are charged here and
 * not there, and the other way round; then the lower of the two figures counts.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_H

#include "cluster/codec/message.h"

struct node;

enum snapshot_merge {
    SNAPSHOT_MERGED,
    SNAPSHOT_TOO_LARGE, /* with keys that it does not list: its halves must be asked for */
    SNAPSHOT_AHEAD,     /* of a second donor, with what is on its way here: to be asked for again */
    SNAPSHOT_REFUSED,   /* it cannot be merged, or there is no memory */
};

/*
 * Merge a part that this node asked for; no batch may be half applied. snapshot_merge corrects the
 * donor's figures as said above.
 */
void snapshot_merge_store(struct node *node, const struct message *reply, struct number_reader reader);
enum snapshot_merge snapshot_merge(struct node *node, const struct message *reply, const int *member_map,
                                   struct number_reader reader);

#endif
