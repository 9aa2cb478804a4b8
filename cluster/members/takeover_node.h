/*
 * takeover_node: connects the protocol of takeover.h with the node: what messages say of rights, and what follows.
 *
 * The one idea: the protocol knows nothing of tokens, and the node nothing of leases. Here the one is told what the
 * other knows. It does nothing unless node_options.takeover_after_ns is set.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_TAKEOVER_NODE_H
#define HEADGATE_CLUSTER_MEMBERS_TAKEOVER_NODE_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct member_record;
struct message;
struct node;

/* To be called when all members of the config are in the list. */
void takeover_node_init(struct node *node);
/* To be called when a step begins, before anything is heard. */
void takeover_node_expire(struct node *node);
/* Records, takes over, joins anew: what has changed is told at once. */
void takeover_node_step(struct node *node, struct effects *effects);

/* The flags of the member in a message of this node. */
uint32_t takeover_node_flags(const struct node *node, uint32_t index);
/* A message of the member was heard, which was made at made_ns or later; 0: that is not known. */
void takeover_node_hear(struct node *node, const struct message *message, const int *member_map, uint32_t sender,
                        uint64_t made_ns);
/* A newer message of the member is known. */
void takeover_node_heard(struct node *node, uint32_t index);
/* The member has another incarnation. */
void takeover_node_started(struct node *node, uint32_t index, uint64_t incarnation);
/* True if the record says that the member was taken over: takeover_node_step decides when to believe that. */
bool takeover_node_decides(const struct node *node, const struct member_record *record);
/* True if the record says that this node is gone. */
bool takeover_node_is_recorded(const struct node *node, const struct member_record *record);
/* This node is active, and no peer has figures: see join.c. */
void takeover_node_all_are_new(struct node *node);

#endif
