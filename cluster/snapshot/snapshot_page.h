/*
 * snapshot_page: what a part that a donor gave stands for, and whether it can be merged.
 *
 * The one idea: a part contains, of each origin, batches up to a number. A part that lacks batches
 * which are charged here and kept no longer cannot be corrected.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_PAGE_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_PAGE_H

#include <stdbool.h>

struct message;
struct node;
struct page;

/* By origin slot, up to where the part contains what was spent; false: the donor does not say. */
bool snapshot_page_digest(const struct node *node, const struct message *reply, const int *member_map,
                          struct page *page);
/* What every part contains whole. */
void snapshot_note_retired(struct node *node, const struct message *reply, const int *member_map);
/* `adds`: what is charged here is charged on top of all that the part says. */
bool snapshot_page_can_be_merged(struct node *node, const struct page *page, bool *adds);

#endif
