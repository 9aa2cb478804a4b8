/*
 * inbox: batches that wait for other batches, which must be applied first.
 *
 * The one idea: the inbox is bounded, and a batch far from its turn gives way to a nearer one; a
 * batch that gave way is told again. apply.h applies batches; the inbox does not.
 */
#ifndef HEADGATE_CLUSTER_APPLY_INBOX_H
#define HEADGATE_CLUSTER_APPLY_INBOX_H

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct batch_record;
struct node;

/* True if a batch of that origin waits. */
bool inbox_holds(const struct node *node, uint32_t origin_uid);
/* True if the batch that the record describes waits. */
bool inbox_has(const struct node *node, uint32_t uid, const struct batch_record *record);
/* True if all parts of this part's merge wait. */
bool inbox_has_all(const struct node *node, const struct batch *part);
/* True while parts of a merge of that origin arrive. */
bool inbox_gathers(const struct node *node, uint32_t uid);
/*
 * Batches that were merged in several ways are gathered in one way only: the one nearest to its
 * turn, or the first of equally near ones, unless its other parts do not arrive. True: this part is
 * of that way, and waiting parts of other ways are dropped.
 */
bool inbox_wants_part(struct node *node, const struct batch *part);
/*
 * At the limit, batches further from their turn than `batch` are dropped. False: there is no room
 * for it.
 */
bool inbox_make_room(struct node *node, const struct batch *batch);
/* True if the batch has waited longer than the batches before it take to arrive. */
bool inbox_waited_long(const struct node *node, const struct batch *batch);
/*
 * True if the batches before this one were lost in the crash of their maker: no peer has them or can make them. (A node
 * that joined meanwhile has only gathered batches. They may be all there is of them, and those that follow each other
 * are no orphans.)
 */
bool inbox_is_orphan(const struct node *node, uint32_t slot, const struct batch *batch);
/*
 * Merged batches of several origins may depend on each other, so that none can be the first. A
 * snapshot has all of them. A snapshot cannot be taken if batches that were to be charged on top of
 * it are not kept any more. Then true: this batch goes first.
 */
bool inbox_breaks_ring(const struct node *node, const struct batch *batch);
/* The batch belongs to the inbox until inbox_take. */
void inbox_put(struct node *node, struct batch *batch);
void inbox_take(struct node *node, struct batch *batch);

#endif
