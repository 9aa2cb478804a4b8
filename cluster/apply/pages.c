/*
 * pages keeps the contents of snapshot parts. The figure of a key that came with a part contains
 * the batches that the donor had applied, so the same batches are not charged again when they
 * arrive. A page is kept until the batches applied here are beyond it. snapshot_ask.c asks for
 * parts and snapshot.c merges them.
 */
#include "cluster/apply/pages.h"

#include "cluster/state/node_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { PAGES_MIN = 2 * SNAPSHOT_PREFIX_BITS_MAX };

/*
 * The contents of received parts are charged here and stay charged. So their pages are kept, unless
 * that would leave no room for pages of the next snapshot. Without its page, the contents of a part
 * are charged once more when they arrive as batches.
 */
void snapshot_abandon(struct node *node)
{
    struct snapshot *snapshot = &node->snapshot;
    snapshot->running = false;
    snapshot->done = false;
    if (snapshot->page_count > PAGES_MAX / 2)
        snapshot->page_count = 0;
    pages_forget(node);
}

uint64_t page_first(const struct page *page)
{
    return page->bits == 0 ? 0 : page->prefix << (64 - page->bits);
}

/* The index of the page that starts there, or the index at which it would be inserted. */
static uint32_t page_index(const struct snapshot *snapshot, uint64_t start)
{
    uint32_t low = 0, high = snapshot->page_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (page_first(&snapshot->page[middle]) < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

uint64_t page_last(const struct page *page)
{
    return page->bits == 0 ? UINT64_MAX : page_first(page) | UINT64_MAX >> page->bits;
}

bool pages_have_room(struct snapshot *snapshot)
{
    if (snapshot->page_count + 1 + SNAPSHOT_PREFIX_BITS_MAX <= snapshot->page_room)
        return true;
    uint32_t room = snapshot->page_room ? 2 * snapshot->page_room : PAGES_MIN;
    struct page *grown = room <= PAGES_MAX ? realloc(snapshot->page, room * sizeof *grown) : NULL;
    if (!grown)
        return false;
    snapshot->page = grown;
    snapshot->page_room = room;
    return true;
}

static void insert_page(struct snapshot *snapshot, uint32_t index, const struct page *page)
{
    assert(snapshot->page_count < snapshot->page_room);
    memmove(&snapshot->page[index + 1], &snapshot->page[index],
            (snapshot->page_count - index) * sizeof *snapshot->page);
    snapshot->page[index] = *page;
    snapshot->page_count++;
}

/*
 * Cuts a page that contains the range of `page` into halves until one half is no larger. Returns
 * the index of that half.
 */
static uint32_t cut_around(struct snapshot *snapshot, const struct page *page)
{
    uint32_t index = page_index(snapshot, page_first(page));
    if (index > 0 && page_last(&snapshot->page[index - 1]) >= page_first(page))
        index--;
    while (index < snapshot->page_count && snapshot->page[index].bits < page->bits &&
           page_first(&snapshot->page[index]) <= page_first(page)) {
        struct page half = snapshot->page[index];
        half.bits++;
        half.prefix *= 2;
        snapshot->page[index] = half;
        half.prefix++;
        insert_page(snapshot, index + 1, &half);
        index += page_first(&half) <= page_first(page);
    }
    return index;
}

void pages_add(struct snapshot *snapshot, const struct page *page)
{
    uint32_t from = cut_around(snapshot, page), to = from;
    struct page added = *page;
    for (; to < snapshot->page_count && page_first(&snapshot->page[to]) <= page_last(page); to++)
        /* the lower figure of two is lower by batches that either contains */
        for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++)
            if (snapshot->page[to].beyond[slot] > added.beyond[slot])
                added.beyond[slot] = snapshot->page[to].beyond[slot];
    memmove(&snapshot->page[from], &snapshot->page[to], (snapshot->page_count - to) * sizeof *snapshot->page);
    snapshot->page_count -= to - from;
    insert_page(snapshot, from, &added);
}

uint32_t pages_beyond(const struct node *node, const struct page *part, const uint32_t *slots, uint32_t count,
                      uint64_t *beyond)
{
    const struct snapshot *snapshot = &node->snapshot;
    bool some = false;
    for (uint32_t o = 0; o < count; o++) {
        const uint32_t slot = slots[o];
        beyond[o] = 0;
        for (uint32_t p = 0; p < snapshot->page_count; p++) {
            const struct page *page = &snapshot->page[p];
            if (page->beyond[slot] > node->origin[slot].applied && page->beyond[slot] > beyond[o] &&
                page_first(page) <= page_last(part) && page_first(part) <= page_last(page))
                beyond[o] = page->beyond[slot];
        }
        some |= beyond[o] > 0;
    }
    return some ? count : 0;
}

uint64_t pages_contain(const struct node *node, struct key_id id, uint32_t slot, uint64_t *beyond)
{
    const struct snapshot *snapshot = &node->snapshot;
    uint32_t behind = id.high == UINT64_MAX ? snapshot->page_count : page_index(snapshot, id.high + 1);
    *beyond = 0;
    if (behind == 0)
        return 0;
    const struct page *page = &snapshot->page[behind - 1];
    bool inside = page->bits == 0 || id.high >> (64 - page->bits) == page->prefix;
    *beyond = inside ? page->beyond[slot] : 0;
    return inside ? page->applied[slot] : 0;
}

/*
 * True if the page contains batches that are still to arrive. All its batches of an origin may be
 * applied by now, from messages or by a later complete snapshot. No batches arrive of a retired
 * origin or of an own one.
 */
static bool page_matters(const struct node *node, const struct page *page)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && !origin->mine && page->beyond[slot] > origin->applied)
            return true;
    }
    return false;
}

void pages_forget(struct node *node)
{
    struct snapshot *snapshot = &node->snapshot;
    uint32_t count = 0;
    if (snapshot->running || !snapshot->page)
        return;
    for (uint32_t p = 0; p < snapshot->page_count; p++) {
        if (!page_matters(node, &snapshot->page[p]))
            continue;
        if (count < p)
            snapshot->page[count] = snapshot->page[p];
        count++;
    }
    snapshot->page_count = count;
    if (count > 0)
        return;
    free(snapshot->page);
    snapshot->page = NULL;
    snapshot->page_room = 0;
}

void pages_check(const struct node *node)
{
    const struct snapshot *snapshot = &node->snapshot;
    for (uint32_t p = 0; p < snapshot->page_count; p++) {
        assert(p == 0 || page_last(&snapshot->page[p - 1]) < page_first(&snapshot->page[p]));
        assert(snapshot->running || page_matters(node, &snapshot->page[p]));
    }
}
