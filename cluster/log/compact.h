/*
 * compact: which run of which log is merged, and when.
 *
 * The one idea: a log that is too long or too large is swept, run by run, oldest first. Merging
 * never loses tokens, only times.
 */
#ifndef HEADGATE_CLUSTER_LOG_COMPACT_H
#define HEADGATE_CLUSTER_LOG_COMPACT_H

#include <stdbool.h>

struct batch;
struct node;
struct origin;

void compact_init(struct node *node);
void compact_close(struct node *node);
/* Merges neighbours until the log is within its limit; tells node->log.full when it is not. */
void origins_compact(struct node *node);
/* The log is beyond its limit, and merging has still to make what it can of it. */
bool compact_comes_first(const struct node *node);
/* The batch leaves the origin's log: a run that it is of is not merged. */
void compact_forget(struct node *node, const struct origin *origin, const struct batch *batch);

#endif
