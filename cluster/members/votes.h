/*
 * votes: what members say of each other that nobody can sign: that a member is to be forgotten, that another start of
 * this node's own name counts, and that a stranger has left.
 *
 * The one idea: each member says what it has seen, and the reader counts. A word counts with the share of its speaker.
 * It is believed when members of more than half of the shares of all that could say it do so, and at least two of them,
 * or all. So one bad member alone ends nobody.
 * Whoever a node's own operator (or its own forget_after) has declared gone is not asked. With FORGET_BY_ANYONE the
 * first word is enough, and this file decides by counting only about the own name.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_VOTES_H
#define HEADGATE_CLUSTER_MEMBERS_VOTES_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct member_record;
struct message;
struct node;

/* Takes the words of a member's message about others; map as in membership_merge. Forgets whom enough say. */
void votes_hear(struct node *node, const struct message *message, const int *map, uint32_t sender,
                struct effects *effects);
/* This node's own word: an operator's, or forget_after. True: the member is forgotten now, as with FORGET_BY_ANYONE. */
bool votes_forget(struct node *node, uint32_t index, struct effects *effects, const char *why);
/* True: this node says so of that member. */
bool votes_say(const struct node *node, uint32_t index);
/*
 * The member `sender` says that another start of this node's name counts, or that this one has ended, without this
 * node's signature. True: enough say so.
 */
bool votes_end_us(struct node *node, const struct member_record *record, int sender);
/*
 * The member `sender` says that a start of that member has left, whose key this node does not know. True: enough say
 * so. This node itself is not asked. One word alone, where only one can be asked, is enough if the config of this node
 * does not name that member.
 */
bool votes_gone(struct node *node, uint32_t index, uint64_t incarnation, int sender);
/* A newer message of that member is known: it is not gone, whatever this node has said. */
void votes_heard(struct node *node, uint32_t index);
/* The slot has another owner, or its owner another incarnation: words about it count no more. */
void votes_drop(struct node *node, uint32_t index);

#endif
