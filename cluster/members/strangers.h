/*
 * strangers: members whose key is not known here, where keys are required.
 *
 * The one idea: nobody is believed about a stranger. It is dialled at the address that others tell, and what counts is
 * what it says itself, with its signature. A stranger that has left cannot say so any more: enough other members must
 * say it (votes.h). This file learns no key: proofs.c does.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_STRANGERS_H
#define HEADGATE_CLUSTER_MEMBERS_STRANGERS_H

#include "cluster/node.h"

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct member;
struct member_record;
struct node;

/* EFFECT_CONNECT or EFFECT_DISCONNECT: has the caller listen to the member, or no longer, if it has an address. */
void listen_to(struct effects *effects, enum effect_kind kind, const struct member *member);
bool stranger_is(const struct node *node, uint32_t index);
/*
 * What counts of a record of a stranger that it has not brought itself, as proofs_heed says it. May have it dialled.
 */
bool strangers_heed(struct node *node, const struct member_record *record, uint32_t index, int sender,
                    struct member_record *heeded, struct effects *effects);
/*
 * True: a member may still be heard for the first time that others have spent with, so no snapshot is taken yet. What
 * it contains of a stranger could not be told from what that one will tell.
 */
bool strangers_are_awaited(const struct node *node);

#endif
