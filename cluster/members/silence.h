/*
 * silence: who is silent, counted by the time in which this node ran.
 *
 * The one idea: time in which this node itself did not run says nothing of the others. A silent
 * member keeps its share: silence decides only whom this node waits for and asks.
 */
#ifndef HEADGATE_CLUSTER_MEMBERS_SILENCE_H
#define HEADGATE_CLUSTER_MEMBERS_SILENCE_H

#include <stdint.h>

struct effects;
struct node;

/* The last step was at `before_ns`. */
void silence_note_time(struct node *node, uint64_t before_ns);
void silence_refresh(struct node *node, struct effects *effects);

#endif
