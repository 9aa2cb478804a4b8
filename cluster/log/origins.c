/*
 * origins keeps the logs: batches of each origin in the order of their numbers. Each addition and
 * removal updates the counts of batches and keys, the sums of unsettled_index.c and the merge of compact.c. A
 * merged batch replaces the batches that it overlaps when its last part arrives. This file does not
 * decide when a batch may leave: settle.c and retire.c do.
 */
#include "cluster/log/origins.h"

#include "cluster/codec/batch.h"
#include "cluster/log/compact.h"
#include "cluster/log/unsettled_index.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

#include <assert.h>
#include <string.h>

static int free_slot(struct node *node)
{
    int slot = origin_find_uid(node, 0);
    return slot < 0 && node->origin_end < ORIGINS_MAX ? (int)node->origin_end++ : slot;
}

int origin_obtain(struct node *node, uint32_t member, uint64_t incarnation)
{
    int found = origin_find(node, member, incarnation);
    if (found >= 0)
        return found;
    if (incarnation == 0 || incarnation <= node->member[member].retired_incarnation)
        return -1;
    int slot = free_slot(node);
    if (slot < 0) {
        node->stats.limit_drops++;
        return -1;
    }
    struct origin *origin = &node->origin[slot];
    memset(origin, 0, sizeof *origin);
    origin->uid = ++node->last_uid;
    origin->member = member;
    origin->incarnation = incarnation;
    list_init(&origin->log);
    for (uint32_t m = 0; m < node->member_end; m++) {
        node->member[m].known[slot] = 0;
        node->member[m].knows_ended[slot / 64] &= ~((uint64_t)1 << (slot % 64));
        node->member[m].retired[slot / 64] &= ~((uint64_t)1 << (slot % 64));
    }
    for (uint32_t p = 0; p < node->snapshot.page_count; p++)
        node->snapshot.page[p].applied[slot] = node->snapshot.page[p].beyond[slot] = 0;
    return slot;
}

void origin_log_shorten(struct node *node, struct origin *origin, struct batch *batch, uint32_t count)
{
    assert(batch->spend_count >= count && origin->log_keys >= count);
    compact_forget(node, batch);
    batch->spend += count;
    batch->spend_count -= count;
    batch->found -= count < batch->found ? count : batch->found;
    origin->log_keys -= count;
    node->log.keys -= count;
}

void origin_log_remove(struct node *node, struct origin *origin, struct batch *batch)
{
    assert(origin->log_count > 0 && origin->log_keys >= batch->spend_count);
    compact_forget(node, batch);
    unsettled_index_forget(node, batch);
    origin->log_count--;
    origin->credited_count -= batch->credited;
    origin->log_keys -= batch->spend_count;
    node->log.keys -= batch->spend_count;
    batch_destroy(&batch);
}

void origin_log_drop(struct node *node, struct origin *origin, struct batch *batch)
{
    if (batch->last > origin->dropped) /* what came with a snapshot is newer, and in no log */
        origin->dropped = batch->last;
    for (bool goes_on = true; goes_on;) {
        struct list *next = batch->link.next;
        struct batch *beside = LIST_OWNER(next, struct batch, link);
        goes_on = next != &origin->log && batch_is_beside(batch, beside);
        origin_log_remove(node, origin, batch);
        node->stats.limit_drops++;
        batch = beside;
    }
}

/* The first of the parts at the end of the log. Adds the number of further parts to *count. */
static struct batch *first_beside(const struct origin *origin, struct batch *last, uint32_t *count)
{
    struct batch *first = last;
    for (struct list *at = last->link.previous; at != &origin->log; at = at->previous, ++*count) {
        if (!batch_is_beside(LIST_OWNER(at, struct batch, link), last))
            break;
        first = LIST_OWNER(at, struct batch, link);
    }
    return first;
}

void origin_log_append(struct node *node, struct origin *origin, struct batch *batch)
{
    /*
     * A merged batch stands for the batches that it overlaps. They stay until the last part is
     * applied.
     */
    bool whole = batch->part + 1 >= batch->parts;
    for (struct list *at = origin->log.previous, *before; at != &origin->log && whole; at = before) {
        struct batch *newest = LIST_OWNER(at, struct batch, link);
        before = at->previous;
        if (newest->first < batch->first)
            break;
        if (!batch_is_beside(newest, batch))
            origin_log_remove(node, origin, newest);
    }
    list_insert_before(&origin->log, &batch->link);
    origin->log_count++;
    origin->credited_count += batch->credited;
    origin->log_keys += batch->spend_count;
    node->log.keys += batch->spend_count;
    uint32_t parts = 1;
    struct batch *first = first_beside(origin, batch, &parts);
    /* some parts were dropped while the others were applied */
    if (batch->parts > 0 && whole && parts < batch->parts)
        origin_log_drop(node, origin, first);
}

bool batch_fits(const struct node *node, uint32_t spend_count, uint32_t group_count)
{
    return (uint64_t)spend_count * NUMBER_ENCODED_MAX_BYTES + (uint64_t)group_count * GROUP_ENCODED_MAX_BYTES <=
           node->options.message_max_bytes / 2;
}

uint32_t batch_end(const struct node *node, const struct spend *spends, uint32_t from, uint32_t count)
{
    uint32_t groups = 0, end = from;
    for (; end < count && end - from < node->batch_max; end++) {
        groups += end == from || spends[end].limit != spends[end - 1].limit;
        if (!batch_fits(node, end + 1 - from, groups))
            break;
    }
    return end;
}
