/*
 * origins: the log of each origin: the batches that some member may still lack.
 *
 * The one idea: a batch enters a log at its end and leaves the log when all members have the batch.
 * This file keeps all counts of keys in logs. origin.h tells which member has which batch; retire.h
 * lets finished origins go.
 */
#ifndef HEADGATE_CLUSTER_LOG_ORIGINS_H
#define HEADGATE_CLUSTER_LOG_ORIGINS_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct node;
struct origin;
struct spend;

/* Finds or makes the origin; -1: it is retired, or no slot is free. */
int origin_obtain(struct node *node, uint32_t member, uint64_t incarnation);
/*
 * True if a batch of so many spends under so many limits may be made: it must take at most half of
 * a message.
 */
bool batch_fits(const struct node *node, uint32_t spend_count, uint32_t group_count);
/* The (exclusive) end of the batch that begins with sorted spend `from`: as many spends as fit. */
uint32_t batch_end(const struct node *node, const struct spend *spends, uint32_t from, uint32_t count);
void origin_log_append(struct node *node, struct origin *origin, struct batch *batch);
/* Removes the first `count` spends of the batch. */
void origin_log_shorten(struct node *node, struct origin *origin, struct batch *batch, uint32_t count);
void origin_log_remove(struct node *node, struct origin *origin, struct batch *batch);
/*
 * Removes a batch that some member may lack, with all parts of its merge: the other parts are
 * useless without it.
 */
void origin_log_drop(struct node *node, struct origin *origin, struct batch *batch);

#endif
