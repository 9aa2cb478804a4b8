/*
 * proofs: what members sign of themselves, and whose key is known here.
 *
 * The one idea: a member's word about itself is signed where it travels, and a word about a member whose key is known
 * counts only with that member's signature. A key is learnt from the member itself, which the caller's connection
 * proves to be that one (peers_tls), and it is pinned from then on. A life is what is signed: an incarnation with its
 * state, addresses and config. It does not say who is forgotten: see votes.h. Of a member that has no key, words need
 * no signature, as in releases without keys.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_PROOFS_H
#define HEADGATE_CLUSTER_MEMBERS_PROOFS_H

#include "cluster/codec/message.h"

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct event;
struct node;

/* What the event says of keys. True: nothing else is in it. */
bool proofs_event(struct node *node, const struct event *event, struct effects *effects);

/* The member has just got its place in the list. */
void proofs_recall(struct node *node, uint32_t index);

/* Signs what this node is now. To be called before a message is written. */
void proofs_say(struct node *node);
/* What messages pass on of that member, this node's own included. */
struct life_record proofs_life(const struct node *node, uint32_t index);

/* False: the message must be dropped, since its sender is not who has the key of that name. */
bool proofs_admit(struct node *node, const struct message *message, struct effects *effects);
/* The sender of an admitted message, whose record is merged: learns its key and its life. */
void proofs_take(struct node *node, const struct member_record *record, uint32_t index, struct effects *effects);
/*
 * What counts of a record that its member has not brought itself, as if that were all that it says. False: nothing of
 * it does. `sender`: the member that brought it; below 0: none of the list.
 */
bool proofs_heed(struct node *node, const struct member_record *record, uint32_t index, int sender,
                 struct member_record *heeded, struct effects *effects);
/* The same record, when it is merged. */
void proofs_passed(struct node *node, const struct member_record *record, uint32_t index);
/* A record about this node's own name: true if it is signed with this node's key, or if this node has none. */
bool proofs_are_ours(struct node *node, const struct member_record *record, int sender, struct effects *effects);

#endif
