/*
 * compact: decides which run of which log is merged, and when.
 *
 * The one idea: a log that is too long or too large is swept, run by run, oldest first. A merge
 * never loses tokens, it loses times only.
 */
#ifndef HEADGATE_CLUSTER_LOG_COMPACT_H
#define HEADGATE_CLUSTER_LOG_COMPACT_H

#include <stdbool.h>

struct batch;
struct node;
struct origin;

void compact_init(struct node *node);
void compact_close(struct node *node);
/* Merges neighbours until the log is within its limit; sets node->log.full while it is not. */
void compact_logs(struct node *node);
/* True while the log is beyond its limit and a sweep can still make it smaller. */
bool compact_comes_first(const struct node *node);
/* The batch leaves the log of its origin: the merge of a run that contains the batch is given up. */
void compact_forget(struct node *node, const struct batch *batch);

#endif
