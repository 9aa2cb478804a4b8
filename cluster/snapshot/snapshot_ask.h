/*
 * snapshot_ask: which parts of a donor's table are asked for, and of whom.
 *
 * The one idea: a part that is too large for one answer is split in halves. Parts are given up when
 * the donor is not heard any more.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_ASK_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_ASK_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct node;
struct part;
struct snapshot;

/* `of_store`: the donor joins as well, and is asked for what its store had. */
void snapshot_start(struct node *node, uint32_t donor, bool of_store);
/* Asks for what is missing; when nothing is, the snapshot is taken. */
void snapshot_ask(struct node *node, struct effects *effects);
/* Batches that cannot come any more are replaced by a snapshot of somebody who had them. */
void snapshot_catch_up(struct node *node, struct effects *effects);
/* The part that was asked for; NULL: it was not. */
struct part *snapshot_asked(struct snapshot *snapshot, uint64_t prefix, uint32_t bits);
/* It was answered: it is merged, or its halves are to be asked for. */
void snapshot_answered(struct snapshot *snapshot, struct part *part, bool is_split);

#endif
