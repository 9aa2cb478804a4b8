/*
 * weights: weights of regions that change while daemons run. docs/accounting.md ("Weights that change") has the
 * rule and why it is safe.
 *
 * The one idea: in force is the least of the newest complete version and of all newer ones that were heard. Complete
 * is a version when all members say that they have heard it: it is on their disks, their weights are lowered, and
 * what they spent before has settled. So a decrease needs nobody, an increase everybody, and no moment an election.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_WEIGHTS_H
#define HEADGATE_CLUSTER_MEMBERS_WEIGHTS_H

#include <stdbool.h>
#include <stdint.h>

struct effects;
struct event;
struct member;
struct message;
struct node;
struct weights_record;

/* The config's weights are in force. */
void weights_init(struct node *node);
/* What the event says of weights. True: nothing else is in it. */
bool weights_event(struct node *node, const struct event *event, struct effects *effects);
/* Takes over what the sender says, whose record must have been merged. */
void weights_hear(struct node *node, const struct message *message, uint32_t sender);
/* What this node's messages say; valid until the next event. */
struct weights_record weights_say(const struct node *node);

/* Looks whether the newest version is heard here, and whether it is complete; gives the store what it lacks. */
void weights_step(struct node *node, struct effects *effects);
/* Tells what was spent by a larger weight, as much as one step may work on. */
void weights_tell_former(struct node *node);

/* A member that was heard and has a version that is unknown here; this node itself: its store lacks one; -1: none. */
int weights_await(const struct node *node);
/* True: nothing waits, and all members have the same version. */
bool weights_are_at_rest(const struct node *node);

/* Takes over a version that is newer than all that are known here. */
struct weights_version;
void weights_take(struct node *node, const struct weights_version *version);
/* The newest version of all; the base if none is newer. */
const struct weights_version *weights_newest(const struct node *node);
/* True: the member's word is needed before a version is complete, and it has not said that it has heard the newest. */
bool weights_wait_for(const struct node *node, const struct member *member);
/* True: its newest message says that it keeps weights. */
bool weights_are_kept_by(const struct member *member);
/*
 * A weight of so many parts of SHARE_ONE, rounded up, as a config's weight is rounded down: so the weight of a config
 * is what its text says.
 */
uint64_t weights_billionths(uint64_t share);

#endif
