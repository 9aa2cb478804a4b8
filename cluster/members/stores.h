/*
 * stores: what the stores of members had when they started.
 *
 * The one idea: each peer that began with counters of its store is asked for them once for each of
 * its incarnations, and the lower figure counts. Until then a joining node does not admit.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_STORES_H
#define HEADGATE_CLUSTER_MEMBERS_STORES_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct member;
struct message;
struct node;

/* What the store of its incarnation had is known here. */
bool member_store_is_known(const struct member *member);
void stores_hear(struct node *node, const struct message *message, const int *member_map, uint32_t sender);
/* What was known of that member's store was of another incarnation, or another member's. */
void stores_forget(struct node *node, uint32_t index);
/* Before the member takes that incarnation; */
void stores_start_anew(struct node *node, uint32_t index, uint64_t incarnation);
/* and before this node joins under another. */
void stores_join_again(struct node *node);
/* A joining peer to ask for what its store had, or an active one to take a snapshot from for that; -1: nobody. */
int stores_source(const struct node *node);
int stores_active_source(const struct node *node);
/* None of it came for join_timeout: this node goes on without. */
bool stores_overdue(const struct node *node);
/* Active peers that may soon have asked for what our store had have not. */
bool stores_are_wanted(const struct node *node);
/* This node, which joins, may give parts of what its store had. */
bool stores_may_be_given(const struct node *node);
/* All parts of what the donor's store had are here; */
void stores_taken(struct node *node, struct effects *effects);
/* or a whole snapshot is, which has what its donor knew of stores. */
void stores_came_with_snapshot(struct node *node);

#endif
