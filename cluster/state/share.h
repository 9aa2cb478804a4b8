/*
 * share: what part of every limit each member has, read off the members.
 *
 * The one idea: a region's weight is divided evenly among the members of the region that take a
 * share. These functions change nothing; shares.h applies what they say to this node's budgets.
 */
#ifndef HEADGATE_CLUSTER_STATE_SHARE_H
#define HEADGATE_CLUSTER_STATE_SHARE_H

#include "cluster/node_options.h"

#include <stdbool.h>
#include <stdint.h>

struct member;
struct node;

/* What part of every limit that member has, in 1/SHARE_ONE, as long as nobody else gets it. */
uint64_t share_of_member(const struct node *node, uint32_t index);
/* The same, whether or not it counts. */
uint64_t member_share(const struct node *node, const struct member *member);
/* The shares of all members that count, as this node sees them, this node's among them. Returns how many. */
uint32_t shares_of_all(const struct node *node, uint64_t shares[NODE_PEERS_MAX]);
/* Members that take a share and that this node's config does not name: those that have left, or the others. */
uint32_t shares_unlisted(const struct node *node, bool left);

#endif
