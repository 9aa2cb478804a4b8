/*
 * spenders: what other members may give back of each key.
 *
 * The one idea: a charge that another member told, and that has lowered a key here, is that member's to give back,
 * once; a grant is its holder's. Where a snapshot or the store has lowered a key, nobody knows who made the spends, so
 * any member may give those tokens back, once. Tokens that are returned beyond that were spent by nobody, as far as
 * this node knows: they are counted and not credited. So a member that lies about returns raises no view above what it
 * was before the spends of others. The accounts
 * are in state/others_spent.h. This file changes no key.
 */
#ifndef HEADGATE_CLUSTER_SPEND_SPENDERS_H
#define HEADGATE_CLUSTER_SPEND_SPENDERS_H

#include "base/hash.h"

#include <stdint.h>

struct batch;
struct batch_grant;
struct entry;
struct node;
struct spend;

/* The tokens of the spend that its maker spent for its own clients, and granted to nobody. */
uint64_t spenders_own_tokens(const struct spend *spend);
/* The member whose that grant of the key is; -1: it is of another key, or this node's, which has no account here. */
int spenders_holder(const struct node *node, const struct batch_grant *grant, struct key_id id);
/* Of the tokens that a spend of `member` returned to the entry's key, those that it may give back. */
uint64_t spenders_may_return(struct node *node, const struct entry *entry, uint32_t member,
                             const struct spend *spend);
/*
 * The spend, of that batch of `member`, was charged: the key lost `charged` units by all of its tokens, before returned
 * ones came back, and of these `returned` were to be credited.
 */
void spenders_note(struct node *node, const struct entry *entry, uint32_t member, const struct batch *batch,
                   const struct spend *spend, int64_t charged, uint64_t returned);
/* The key lost so many units for a member, for whom nothing else is noted. */
void spenders_note_charge(struct node *node, const struct entry *entry, uint32_t member, int64_t units);
/* The key lost so many units, and nobody knows who has spent them. */
void spenders_note_lowered(struct node *node, const struct entry *entry, int64_t units);
/* The key is about to go over to that limit, and tokens used stay used: so their spenders may give them back. */
void spenders_go_over(struct node *node, struct entry *entry, uint16_t index);

#endif
