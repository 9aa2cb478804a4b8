/*
 * tell: from what is untold to batches: oldest first, and at a pace.
 *
 * The one idea: a batch is closed of what was gathered; urgent spends go first and are not slowed
 * by the pace. Whoever reads rings or logs while something is gathered must call tell_gathered
 * first.
 */
#ifndef HEADGATE_CLUSTER_LOG_TELL_H
#define HEADGATE_CLUSTER_LOG_TELL_H

#include <stdbool.h>
#include <stdint.h>

struct node;

/*
 * Batches are closed: of all that is urgent; of that, and of others as fast as the pace allows, but no more than is
 * worked on in a step; of everything. And, each time, of what has been gathered: see tell_ahead.
 */
void tell_urgent(struct node *node);
void tell_at_pace(struct node *node);
void tell_all(struct node *node);
/*
 * Gathers a part of what the pace allows, or makes a batch of all of it; true: the message is for a later step. Until
 * then no ring and no log has it: whoever looks there, or makes a message, calls tell_gathered or one of those above.
 */
bool tell_ahead(struct node *node);
void tell_gathered(struct node *node);
/* Of as much as one step may work on, where that is not all; true if it was. */
bool tell_some(struct node *node);
/* Of what is urgent, if that is as much as one step may work on. */
void tell_much_urgent(struct node *node);
/* Of so much that a ring has room for one more, for whoever may add some in a step. */
void tell_for_room(struct node *node);
/* What is untold of keys that begin with the prefix (see table_visit) becomes urgent. */
void urge_part(struct node *node, uint64_t prefix, unsigned prefix_bits);
/* For how long the oldest one has waited, at most. */
uint64_t untold_age_ns(const struct node *node);

#endif
