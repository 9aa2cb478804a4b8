/*
 * tell: makes batches of untold spends, oldest first, at a pace.
 *
 * The one idea: spends are gathered and then closed as a batch (gather.h). Urgent spends go first, and the pace does
 * not slow them. A caller that reads rings or logs must call tell_gathered() before, since gathered spends are in
 * neither.
 */
#ifndef HEADGATE_CLUSTER_LOG_TELL_H
#define HEADGATE_CLUSTER_LOG_TELL_H

#include <stdbool.h>
#include <stdint.h>

struct node;

/*
 * Each closes a batch of all gathered spends (see tell_ahead), and: tell_urgent, of all urgent
 * spends; tell_at_pace, of urgent spends and of others as fast as the pace allows, but no more than
 * one step may work on; tell_all, of all untold spends.
 */
void tell_urgent(struct node *node);
void tell_at_pace(struct node *node);
void tell_all(struct node *node);
/*
 * Gathers a part of the spends that the pace allows, or closes a batch of them when all are
 * gathered. True: the message must wait for a later step. Gathered spends are in no ring and in no
 * log; before a caller reads either, or makes a message, it must call tell_gathered or one of the
 * functions above.
 */
bool tell_ahead(struct node *node);
/* Closes batches of as many spends as one step may work on; true: that was all of them. */
bool tell_some(struct node *node);
/* Closes a batch of the urgent spends if they are as many as one step may work on. */
void tell_much_urgent(struct node *node);
/*
 * Closes batches until the ring has room for one more spend: for callers that add some in a step.
 */
void tell_for_room(struct node *node);
/* Makes the untold spends of keys that begin with the prefix (see table_visit) urgent. */
void tell_urge_part(struct node *node, uint64_t prefix, unsigned prefix_bits);
/* The longest time that an untold spend may have waited. */
uint64_t outbox_age_ns(const struct node *node);
/*
 * True if all spends of this process from before then are told and have settled. Debts that refill pays off without a
 * word count as spends. A spend may count as up to a millisecond older than it is.
 */
bool spent_is_settled(const struct node *node, uint64_t before_ns);

#endif
