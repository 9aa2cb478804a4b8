/*
 * share: each member's part of every limit, computed from the members.
 *
 * The one idea: a region's weight is divided evenly among the members of the region that take a
 * share. These functions change nothing; shares.h applies their results to this node's budgets.
 */
#ifndef HEADGATE_CLUSTER_STATE_SHARE_H
#define HEADGATE_CLUSTER_STATE_SHARE_H

#include "cluster/node_options.h"

#include <stdbool.h>
#include <stdint.h>

struct member;
struct node;

/* The member's part of every limit, in 1/SHARE_ONE; 0 once its share is freed. */
uint64_t share_of_member(const struct node *node, uint32_t index);
/* The same for a member that may not take a share. */
uint64_t member_share(const struct node *node, const struct member *member);
/* The same by the weights of the config, whatever weights are in force. */
uint64_t member_share_by_config(const struct node *node, const struct member *member);
/*
 * The shares of all members that take one, this node included, as this node sees them. Returns
 * their number.
 */
uint32_t shares_of_all(const struct node *node, uint64_t shares[NODE_PEERS_MAX]);
/*
 * The number of members that take a share and that this node's config does not name: those that
 * have left, or the others.
 */
uint32_t shares_unlisted(const struct node *node, bool left);

#endif
