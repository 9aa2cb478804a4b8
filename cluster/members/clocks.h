/*
 * clocks: compares the clocks of all members: who runs fast or slow against the median, who has
 * jumped, and by how much this node's own time is to be slowed.
 *
 * The one idea: no clock is right by itself, so the median of all is. Of two clocks the slower one
 * is the median. A clock that runs more than a percent off is named once, until it is within half a
 * percent again. A node whose own clock is fast says so to its caller, who slows the node's time to
 * that of the median: then its limits refill no faster. Time is never sped up. This file measures
 * nothing: clock_rate.c does.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_CLOCKS_H
#define HEADGATE_CLUSTER_MEMBERS_CLOCKS_H

#include "cluster/codec/message.h"

#include <stdint.h>

struct effects;
struct event;
struct member;
struct node;
struct peer_report;

/* Notes what this node's own clocks show in this step. */
void clocks_note_time(struct node *node, const struct event *event);
/*
 * Takes in what a message says of the clocks of its sender, `member`. `echo`: the newest own
 * message that the sender knew when it made the message; 0: unknown.
 */
void clocks_hear(struct node *node, const struct message *message, struct member *member, uint64_t echo);
/* Compares all clocks, if anything is new, and gives notices of changes. */
void clocks_refresh(struct node *node, struct effects *effects);
/* Fills in what is known of the clocks of `member`. */
void clocks_report(const struct node *node, const struct member *member, struct peer_report *report);

#endif
