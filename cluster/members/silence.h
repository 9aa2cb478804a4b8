/*
 * silence: decides which members are silent, by the time in which this node ran.
 *
 * The one idea: time in which this node did not run says nothing of the others. A silent member
 * keeps its share: silence decides only which members this node waits for and asks.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_SILENCE_H
#define HEADGATE_CLUSTER_MEMBERS_SILENCE_H

#include <stdint.h>

struct effects;
struct node;

/* `before_ns`: the time of the last step. */
void silence_note_time(struct node *node, uint64_t before_ns);
void silence_refresh(struct node *node, struct effects *effects);

#endif
