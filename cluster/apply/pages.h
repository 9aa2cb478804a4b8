/*
 * pages: what the parts of snapshots contained, kept until everything applied here is beyond it.
 *
 * The one idea: the figure of a key that came with a part contains what the donor had applied;
 * batches that bring the same later must not charge it again.
 */
#ifndef HEADGATE_CLUSTER_APPLY_PAGES_H
#define HEADGATE_CLUSTER_APPLY_PAGES_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

struct node;
struct page;
struct snapshot;

/* For one part more, and what is left of an earlier one that it stands in. */
bool snapshot_has_room(struct snapshot *snapshot);
/* There is room for it. Of its keys it stands in the place of earlier snapshots' pages. */
void snapshot_add_page(struct snapshot *snapshot, const struct page *page);
void snapshot_abandon(struct node *node);
/*
 * Up to which batch of that origin slot the part of the snapshot that gave this key's state contained; 0: none. Up to
 * `beyond` it may contain some.
 */
uint64_t snapshot_contains(const struct node *node, struct key_id id, uint32_t slot, uint64_t *beyond);
/* By origin, in the order of messages: up to where figures in that part may be beyond the digest. How many; 0: none. */
uint32_t snapshot_beyond(const struct node *node, uint64_t prefix, uint32_t bits, uint64_t *beyond);
/* Those that do not matter any more; to be called whenever that may be so of some. */
void snapshot_forget_pages(struct node *node);
void snapshot_check(const struct node *node);

#endif
