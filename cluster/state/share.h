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

struct limit;
struct member;
struct node;
struct weight_list;

/* The member's part of every limit, in 1/SHARE_ONE; 0 once its share is freed. */
uint64_t share_of_member(const struct node *node, uint32_t index);
/* The same for a member that may not take a share. */
uint64_t member_share(const struct node *node, const struct member *member);
/* The same by the weights of the config, whatever weights are in force. */
uint64_t member_share_by_config(const struct node *node, const struct member *member);
/*
 * The shares, regions and names of all members that take a share, this node included, as this node sees them. Returns
 * their number.
 */
uint32_t shares_of_all(const struct node *node, uint64_t shares[NODE_PEERS_MAX],
                       const char *regions[NODE_PEERS_MAX], const char *names[NODE_PEERS_MAX]);
/*
 * The number of members that take a share and that this node's config does not name: those that
 * have left, or the others.
 */
uint32_t shares_unlisted(const struct node *node, bool left);

/* The place of the region in the options; region_count: they do not have it. */
uint32_t region_place(const struct node *node, const char *region);
/* The members of the region that take a share, as this node sees them. */
uint64_t region_sharers(const struct node *node, const char *region);

/* Homes: limits of which one region, or one daemon, has the whole share, whatever its weight (struct limit_terms). */

/* This member's part of limits whose home is its region; it must take a share. */
uint64_t member_home_share(const struct node *node, const struct member *member);
/* Another member that is heard and has a share. */
bool other_is_heard(const struct member *member);
/* The part of the limit that this node has, as budgets have it. */
uint64_t own_share_of(const struct node *node, const struct limit *limit);
/* The part that this node has by a list of weights, if it is not alone. */
uint64_t own_share_by_list(const struct node *node, const struct weight_list *list);
/* The list of weights that the limit has; NULL: it has none, or this node does not know it. */
const struct weight_list *weight_list_of(const struct node *node, const struct limit *limit);
/*
 * The part of a limit with a home or a list of weights that all others have who are heard, in 1/SHARE_ONE, as of the
 * last refresh of shares. The whole only if one of them has all of it: then it keeps no reserve.
 */
uint64_t share_heard_of(const struct node *node, const struct limit *limit);

#endif
