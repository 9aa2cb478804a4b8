/*
 * retire: what everybody has leaves the logs, and origins that are over are retired.
 *
 * The one idea: an origin that is over (a ghost) may be forgotten only when no member can learn
 * anything new of it. Own batches leave a log by being settled.
 */
#ifndef HEADGATE_CLUSTER_APPLY_RETIRE_H
#define HEADGATE_CLUSTER_APPLY_RETIRE_H

#include <stdint.h>

struct node;

/*
 * Others have retired an own incarnation that is over: nobody takes batches of it any more. Those that nobody is known
 * to have become batches of the present incarnation, and are told by it.
 */
void origin_reclaim(struct node *node, uint32_t slot);
/* Frees what everybody has, and retires ghosts. */
void origins_forget_stable(struct node *node);
/* All that this member's incarnations up to `incarnation` spent is contained in what we have. */
void origins_retire(struct node *node, uint32_t member, uint64_t incarnation);
void origins_close(struct node *node);

#endif
