/*
 * demand: how many tokens are given a second at each member, and refused there for its share alone, over all keys,
 * smoothed.
 *
 * The one idea: each message says what its sender was asked for since it started, so a lost one costs nothing. Batches
 * do not say it: they name what a member spent for others as well, not what others spent for it, and nothing of what
 * refill pays off soon. Of a member of an older release, which does not say what it was asked for, its batches count.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_DEMAND_H
#define HEADGATE_CLUSTER_MEMBERS_DEMAND_H

#include <stdint.h>

struct demand_record;
struct message;
struct node;

/* To be called with each tick, in this order: adds what this node was asked for; then averages, and counts anew. */
void demand_gather(struct node *node);
void demand_average(struct node *node);
/* What this node's messages say; nothing if there are no other regions. */
struct demand_record demand_say(const struct node *node);
/* Takes over what the sender says, whose record must have been merged. */
void demand_hear(struct node *node, const struct message *message, uint32_t sender);

#endif
