/*
 * join_waits: what a start waits for before it may use its share, and the sentence that says so.
 *
 * The one idea: each condition of a start names the member that does not meet it, so that an operator is told whom to
 * look at. join.c asks in which order. Nothing here changes a node.
 */
#ifndef HEADGATE_CLUSTER_JOIN_WAITS_H
#define HEADGATE_CLUSTER_JOIN_WAITS_H

#include <stdbool.h>
#include <stddef.h>

struct member;
struct node;

bool member_is_out_of_reach(const struct member *member);
/*
 * A member that may still use this node's share as its own; -1: there is none. A member is none if it has given that
 * up; or if it cannot tell, and counts this node's share whatever the incarnation.
 */
int join_share_awaits(const struct node *node);
/* A member that is not heard, is no start, or does not know of this one; -1: all members start anew together. */
int join_newness_awaits(const struct node *node);
/*
 * True if an active peer has more than this node of what earlier starts of this node spent and granted. The donor of
 * the snapshot may not have heard that. Those spends were made by the share that this node has now, so that it would
 * spend as much once more: a home even all of a limit.
 */
bool join_lacks_own_past(const struct node *node);
/* What a joining node waits for, and what an operator may do: the rest of a sentence. "" for any other node. */
void join_waits_for(const struct node *node, char *text, size_t room);

#endif
