/*
 * stores: tracks which counters the stores of members had when the members started.
 *
 * The one idea: each peer that began with counters of its store is asked for them once for each of
 * its incarnations, and the lower figure counts. A joining node admits nothing before it has asked.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_STORES_H
#define HEADGATE_CLUSTER_MEMBERS_STORES_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct member;
struct message;
struct node;

/* True if this node knows the counters with which that incarnation began. */
bool member_store_is_known(const struct member *member);
void stores_hear(struct node *node, const struct message *message, const int *member_map, uint32_t sender);
/* The slot has another incarnation or another member: forgets what was known of its store. */
void stores_forget(struct node *node, uint32_t index);
/* To be called before the member takes that incarnation. */
void stores_start_anew(struct node *node, uint32_t index, uint64_t incarnation);
/* To be called before this node joins under another incarnation. */
void stores_join_again(struct node *node);
/*
 * A joining peer whose store counters are unknown here, or an active peer whose snapshot has them;
 * -1: none.
 */
int stores_source(const struct node *node);
int stores_active_source(const struct node *node);
/* True if no counters came for join_timeout: this node goes on without them. */
bool stores_overdue(const struct node *node);
/* True while active peers that may soon ask for this node's store counters have not asked. */
bool stores_are_wanted(const struct node *node);
/* True if this joining node may give parts of its store counters. */
bool stores_may_be_given(const struct node *node);
/* To be called when all parts of the donor's store counters are here. */
void stores_taken(struct node *node, struct effects *effects);
/* To be called when a snapshot is complete: it has the store counters that its donor knew. */
void stores_came_with_snapshot(struct node *node);

#endif
