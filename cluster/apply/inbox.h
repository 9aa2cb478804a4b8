/*
 * inbox: batches that wait for others which have to be applied before them.
 *
 * The one idea: the inbox is bounded, and what stands further from its turn gives way to what
 * stands nearer: batches that gave way are told again. Applying is not done here: apply.h.
 */
#ifndef HEADGATE_CLUSTER_APPLY_INBOX_H
#define HEADGATE_CLUSTER_APPLY_INBOX_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct batch_record;
struct node;

/* Some batch of that origin waits. */
bool inbox_holds(const struct node *node, uint32_t origin_uid);
/* That batch waits: what a record says it is. */
bool inbox_has(const struct node *node, uint32_t uid, const struct batch_record *record);
/* All parts wait that belong to this one. */
bool inbox_has_all(const struct node *node, const struct batch *part);
/* Parts of something of that origin arrive: it is being told. */
bool inbox_gathers(const struct node *node, uint32_t uid);
/*
 * Of what was merged in several ways only one is gathered: the one nearest to its turn, and the first of these, unless
 * the rest of it does not come.
 */
bool inbox_wants_part(struct node *node, const struct batch *part);
/* At the limit, whatever is further from its turn than `batch` gives way. False: there is no place for it. */
bool inbox_make_room(struct node *node, const struct batch *batch);
/* Longer than what it needs takes to come, if that still comes. */
bool inbox_waited_long(const struct node *node, const struct batch *batch);
/*
 * Merged batches of several may depend on each other, so that none can be the first. A snapshot has what all of them
 * have. Where it cannot be taken either, since batches that were to be charged on top of it are not kept any more,
 * true: it goes first all the same.
 */
bool inbox_breaks_ring(const struct node *node, const struct batch *batch);
/* The batch belongs to the inbox until it is taken out. */
void inbox_put(struct node *node, struct batch *batch);
void inbox_take(struct node *node, struct batch *batch);

#endif
