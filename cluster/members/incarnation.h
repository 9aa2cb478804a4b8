/*
 * incarnation: decides which start of a name counts.
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

/*
 * False: the incarnation is so far ahead of this node's clock that it must be made up. Such a
 * record is counted, and now and then there is a notice.
 */
bool incarnation_is_plausible(struct node *node, const struct member_record *record, struct effects *effects);
/*
 * A message says that this node's name has that incarnation, or that this node's incarnation has
 * ended. `bringer`: the member that says so; below 0: none of the list.
 */
void incarnation_heard(struct node *node, const struct member_record *record, int bringer, struct effects *effects);
/* This node joins again under a larger incarnation. */
void incarnation_join_again(struct node *node, const char *why, struct effects *effects);
/* The same for a superseded node: watches whether the node that took its name is still there. */
void incarnation_watch(struct node *node, const struct message *message, struct effects *effects);

#endif
