/*
 * origins: the log of each origin: batches that somebody may still lack.
 *
 * The one idea: batches enter a log at its end and leave it when everybody has them; all counts of
 * keys are kept here. Who has what is read in origin.h, and retire.h lets go.
 */
#ifndef HEADGATE_CLUSTER_LOG_ORIGINS_H
#define HEADGATE_CLUSTER_LOG_ORIGINS_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct node;
struct origin;
struct spend;

/* Finds or makes it; -1 when it is retired or there is no slot. */
int origin_obtain(struct node *node, uint32_t member, uint64_t incarnation);
/* Whether a batch of so many spends under so many limits may be made: it takes at most half of a message. */
bool batch_fits(const struct node *node, uint32_t spend_count, uint32_t group_count);
/* Where a batch of these sorted spends that begins with number `from` ends: as many as fit. */
uint32_t batch_end(const struct node *node, const struct spend *spends, uint32_t from, uint32_t count);
void origin_log_append(struct node *node, struct origin *origin, struct batch *batch);
/* The first `count` of the batch's spends leave it. */
void origin_log_shorten(struct node *node, struct origin *origin, struct batch *batch, uint32_t count);
void origin_log_remove(struct node *node, struct origin *origin, struct batch *batch);
/* The same where somebody may lack it: with all parts beside it, since the others would be of no use. */
void origin_log_drop(struct node *node, struct origin *origin, struct batch *batch);

#endif
