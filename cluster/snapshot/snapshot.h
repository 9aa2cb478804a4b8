/*
 * snapshot: a part of a snapshot is merged into the table.
 *
 * The one idea: the donor's figure of a key is corrected by what is charged here and not there, and
 * the other way round; then the lower figure of the two counts.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_H

#include "cluster/codec/message.h"

#include <stdbool.h>

struct node;

/*
 * Merges what the donor says of a part: corrected by what is charged here and not there, and the other way round; it
 * is one that was asked for, and nothing is applied in part. False: it cannot be, or there is no memory.
 */
void snapshot_merge_store(struct node *node, const struct message *reply, struct number_reader reader);
bool snapshot_merge(struct node *node, const struct message *reply, const int *member_map,
                    struct number_reader reader);

#endif
