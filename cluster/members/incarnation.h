/*
 * incarnation: which start of a name counts.
 *
 * The one idea: the larger incarnation has the name everywhere, unless its number is too far ahead
 * of every clock to be believed. A node that hears of a later start of its own name stops deciding
 * at once.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_INCARNATION_H
#define HEADGATE_CLUSTER_MEMBERS_INCARNATION_H

#include <stdbool.h>

struct effects;
struct member_record;
struct message;
struct node;

/* Not so far ahead of this node's clock that it must be made up. Otherwise it is counted, and told now and then. */
bool incarnation_is_plausible(struct node *node, const struct member_record *record, struct effects *effects);
/* Somebody says that this node's name has that incarnation, or that its own is over. */
void incarnation_heard(struct node *node, const struct member_record *record, struct effects *effects);
/* The same while this node is superseded: whether whoever took its place is still there. */
void incarnation_watch(struct node *node, const struct message *message, struct effects *effects);

#endif
