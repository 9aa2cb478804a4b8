/*
 * retire: removes batches that all members have from the logs, retires origins that have ended, and
 * tells batches of an own ended incarnation again that nobody has.
 *
 * The one idea: an ended origin (a ghost) may be forgotten only when no member can learn anything
 * new of it. Own batches leave a log by being settled.
 */
#ifndef HEADGATE_CLUSTER_APPLY_RETIRE_H
#define HEADGATE_CLUSTER_APPLY_RETIRE_H

#include <stdint.h>

struct node;

/*
 * Other peers have retired an own ended incarnation: no peer takes batches of it any more. Its
 * batches that no peer is known to have become batches of the present incarnation, and are told by
 * it.
 */
void retire_reclaim(struct node *node, uint32_t slot, uint64_t known);
/* Frees batches that all members have, and retires ghosts. */
void retire_stable(struct node *node);
/*
 * All spends of the member's incarnations up to `incarnation` are contained in this node's state.
 */
void retire_origins(struct node *node, uint32_t member, uint64_t incarnation);
void retire_all(struct node *node);

#endif
