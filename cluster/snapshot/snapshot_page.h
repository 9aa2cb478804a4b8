/*
 * snapshot_page: the batches that a part of a snapshot contains, and whether the part can be
 * merged.
 *
 * The one idea: a part contains, of each origin, batches up to a number. A part that lacks batches
 * which are charged here and are no longer in the log cannot be corrected.
 */
#ifndef HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_PAGE_H
#define HEADGATE_CLUSTER_SNAPSHOT_SNAPSHOT_PAGE_H

#include <stdbool.h>
#include <stdint.h>

struct message;
struct node;
struct page;

/*
 * Sets, for each origin slot, up to which batch the part contains spends; false: the donor does not
 * say.
 */
bool snapshot_page_digest(const struct node *node, const struct message *reply, const int *member_map,
                          struct page *page);
/* Notes retired incarnations: every part contains all spends of them. */
void snapshot_note_retired(struct node *node, const struct message *reply, const int *member_map);
/*
 * The keys of a part on which one step works; more where a large table would have too many parts. A part with more is
 * split.
 */
uint32_t snapshot_page_keys_max(const struct node *node);
/*
 * What counts where a donor says that all spends of that member's incarnations up to `said` are known to all. Who signs
 * ends an incarnation itself, by another start or a goodbye, whatever a donor says.
 */
uint64_t snapshot_retired(const struct node *node, uint32_t index, uint64_t said);
/* The batches of that origin that are applied here, or that its maker has said to have made. */
uint64_t snapshot_most_made(const struct node *node, uint32_t slot);
/*
 * True: the part of a second donor contains batches that come here within moments, since their makers sign and are
 * heard. What it contains is not believed, so they would be charged twice for good: it is asked for again, for some
 * intervals.
 */
bool snapshot_page_is_ahead(const struct node *node, const struct page *page);
/*
 * A donor that lies could say that its figures have what is on its way to this node, which would charge nothing of it
 * then. So what a maker that signs and is heard tells is charged when it comes, perhaps once more, unless this node has
 * lacked it for long; and so is all that a second donor of a start has. Of a maker that signs and is not heard, or has
 * been lacked for long, the part contains no more than that one has signed. To be called after the figures were
 * corrected, before the page is kept.
 */
void snapshot_page_contains_no_more(const struct node *node, struct page *page);
/*
 * False: the part cannot be merged now. `adds`: all charges of this node must come on top of the
 * part.
 */
bool snapshot_page_can_be_merged(struct node *node, const struct page *page, bool *adds);

#endif
