/*
 * pages: the contents of snapshot parts, kept until all applied batches are beyond them.
 *
 * The one idea: the figure of a key that came with a part contains the batches that the donor had
 * applied; the same batches must not be charged again when they arrive later.
 */
#ifndef HEADGATE_CLUSTER_APPLY_PAGES_H
#define HEADGATE_CLUSTER_APPLY_PAGES_H

#include "base/hash.h"

#include <stdbool.h>
#include <stdint.h>

struct node;
struct page;
struct snapshot;

/* The least and the greatest id.high of the page's keys. */
uint64_t page_first(const struct page *page);
uint64_t page_last(const struct page *page);
/* Makes room for one more part and for the remains of a part that it cuts. False: there is none. */
bool pages_have_room(struct snapshot *snapshot);
/* Adds a page, for which there must be room. For its keys the page replaces earlier ones. */
void pages_add(struct snapshot *snapshot, const struct page *page);
void snapshot_abandon(struct node *node);
/*
 * The last batch of the origin slot that the figures of this key contain by a part of a snapshot;
 * 0: none. They may contain batches up to `beyond`.
 */
uint64_t pages_contain(const struct node *node, struct key_id id, uint32_t slot, uint64_t *beyond);
/*
 * For each of these origin slots: up to which batch figures in that part may be beyond the digest.
 * Returns their number; 0: no figure is beyond the digest.
 */
uint32_t pages_beyond(const struct node *node, const struct page *part, const uint32_t *slots, uint32_t count,
                      uint64_t *beyond);
/* Forgets pages without effect; to be called whenever a page may have become one. */
void pages_forget(struct node *node);
void pages_check(const struct node *node);

#endif
