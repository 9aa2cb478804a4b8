#include "cluster/parts.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int origin_find(const struct node *node, uint32_t member, uint64_t incarnation)
{
    for (uint32_t i = 0; i < node->origin_end; i++) {
        const struct origin *origin = &node->origin[i];
        if (origin->uid && origin->member == member && origin->incarnation == incarnation)
            return (int)i;
    }
    return -1;
}

int origin_find_uid(const struct node *node, uint32_t uid)
{
    for (uint32_t i = 0; i < node->origin_end; i++)
        if (node->origin[i].uid == uid)
            return (int)i;
    return -1;
}

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
    }
    for (uint32_t p = 0; p < node->snapshot.page_count; p++)
        node->snapshot.page[p].applied[slot] = node->snapshot.page[p].beyond[slot] = 0;
    return slot;
}

bool origin_is_ghost(const struct node *node, const struct origin *origin)
{
    const struct member *member = &node->member[origin->member];
    return origin->incarnation != member->incarnation || member->state == PEER_LEFT;
}

/* Of its own incarnations, or also of those that are over, whosesoever. */
static bool cover(const struct node *node, uint32_t index, bool ghosts)
{
    const struct member *member = &node->member[index];
    if (origin_find(node, index, member->incarnation) < 0)
        return false;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && member->known[slot] > origin->applied &&
            (origin->member == index || (ghosts && origin_is_ghost(node, origin))))
            return false;
    }
    return true;
}

bool origins_cover_spends(const struct node *node, uint32_t member)
{
    return cover(node, member, false);
}

bool origins_cover_view(const struct node *node, uint32_t member)
{
    return cover(node, member, true);
}

bool origin_has_begun(const struct origin *origin, const struct batch *part)
{
    return origin->next_part > 0 && part->parts > 0 && part->merge == origin->merge;
}

void origin_log_shorten(struct node *node, struct origin *origin, struct batch *batch, uint32_t count)
{
    assert(batch->spend_count >= count && origin->log_keys >= count);
    compact_forget(node, origin, batch);
    batch->spend += count;
    batch->spend_count -= count;
    batch->found -= count < batch->found ? count : batch->found;
    origin->log_keys -= count;
    node->log_keys -= count;
}

void origin_log_remove(struct node *node, struct origin *origin, struct batch *batch)
{
    assert(origin->log_count > 0 && origin->log_keys >= batch->spend_count);
    compact_forget(node, origin, batch);
    tally_forget(node, batch);
    origin->log_count--;
    origin->log_keys -= batch->spend_count;
    node->log_keys -= batch->spend_count;
    batch_destroy(&batch);
}

void origin_log_drop(struct node *node, struct origin *origin, struct batch *batch)
{
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

/* The first of the parts that end the log. */
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
    /* A merged batch stands for those that it overlaps; while its parts are applied, what they were made of is kept. */
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
    origin->log_keys += batch->spend_count;
    node->log_keys += batch->spend_count;
    uint32_t parts = 1;
    struct batch *first = first_beside(origin, batch, &parts);
    if (batch->parts > 0 && whole && parts < batch->parts) /* some were dropped while the others were applied */
        origin_log_drop(node, origin, first);
}

/* The highest number of `slot` that every needed member is known to have applied. */
static uint64_t known_everywhere(const struct node *node, uint32_t slot)
{
    uint64_t least = node->origin[slot].applied;
    for (uint32_t m = 0; m < node->member_end; m++) {
        const struct member *member = &node->member[m];
        if (!member_needed(member) || m == node->origin[slot].member)
            continue;
        if (member->known[slot] < least)
            least = member->known[slot];
    }
    return least;
}

/*
 * A ghost may go when nobody can learn anything new of it: all needed members, each having said itself that
 * this incarnation is over (so that it takes no late message of it), have what the best informed has.
 */
static bool ghost_is_done(const struct node *node, uint32_t slot)
{
    const struct origin *origin = &node->origin[slot];
    if (inbox_holds(node, origin->uid))
        return false;
    for (uint32_t o = 0; o < node->origin_end; o++) /* in order: a retired incarnation speaks for all before it */
        if (node->origin[o].uid && node->origin[o].member == origin->member &&
            node->origin[o].incarnation < origin->incarnation)
            return false;
    for (uint32_t m = 0; m < node->member_end; m++) {
        const struct member *member = &node->member[m];
        if (!member_needed(member))
            continue;
        bool said_so = (member->knows_ended[slot / 64] >> (slot % 64) & 1) != 0;
        if (!said_so || member->known[slot] != origin->applied)
            return false;
    }
    return true;
}

/* Own batches leave the log as they are settled: if not `at_once`, as fast as steps may. */
static void forget_log_up_to(struct node *node, struct origin *origin, uint64_t stable, bool at_once)
{
    if (origin->mine)
        settle_up_to(node, origin, stable, at_once);
    while (!list_empty(&origin->log)) {
        struct batch *batch = LIST_OWNER(origin->log.next, struct batch, link);
        if (batch->last > stable || origin->mine)
            return;
        origin->forgotten = batch->last;
        origin_log_remove(node, origin, batch);
    }
}

static void retire(struct node *node, struct origin *origin)
{
    struct member *member = &node->member[origin->member];
    forget_log_up_to(node, origin, UINT64_MAX, true);
    if (member->retired_incarnation < origin->incarnation)
        member->retired_incarnation = origin->incarnation;
    memset(origin, 0, sizeof *origin);
}

uint64_t origin_most_known(const struct node *node, uint32_t slot)
{
    uint64_t most = 0;
    for (uint32_t m = 0; m < node->member_end; m++) {
        const struct member *member = &node->member[m];
        if (member->used && !member->self && member->known[slot] > most)
            most = member->known[slot];
    }
    return most;
}

/*
 * What it returned is not told again: others may have credited it. So may they have charged what it spent, if nobody
 * told us that they had; to charge it twice is the safe side.
 */
static void tell_anew(struct node *node, struct origin *from, struct batch *batch)
{
    struct origin *mine = &node->origin[node->my_slot];
    compact_forget(node, from, batch);
    from->log_count--;
    from->log_keys -= batch->spend_count;
    node->log_keys -= batch->spend_count;
    list_remove(&batch->link);
    batch->origin_uid = mine->uid;
    batch->first = batch->last = ++mine->applied;
    batch->merge = 0;
    batch->part = batch->parts = 0;
    batch->sent_ns = 0;
    batch->sends_count = 0;
    batch->rode_along = batch->complete = false;
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        struct spend *spend = &batch->spend[i];
        struct entry *entry = table_find(node->table, spend->id);
        spend->returned = 0;
        if (entry)
            note_doubted(node, entry, spend->tokens);
    }
    node->stats.batches_closed++;
    origin_log_append(node, mine, batch);
}

void origin_reclaim(struct node *node, uint32_t slot)
{
    struct origin *origin = &node->origin[slot], *mine = &node->origin[node->my_slot];
    uint64_t known = origin_most_known(node, slot);
    assert(origin->mine && slot != node->my_slot);
    tell_gathered(node);
    for (struct list *at = mine->log.next; at != &mine->log; at = at->next)
        LIST_OWNER(at, struct batch, link)->complete = false; /* what is told anew comes behind them */
    for (struct list *at = origin->log.next, *next; at != &origin->log; at = next) {
        struct batch *batch = LIST_OWNER(at, struct batch, link);
        next = at->next;
        if (batch->last > known)
            tell_anew(node, origin, batch);
    }
}

/* A part of a snapshot that is on its way may be older than that, and is corrected by what is kept. */
void origins_forget_stable(struct node *node)
{
    bool retired = false;
    if (node->snapshot.running)
        return;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid)
            continue;
        /* Own batches leave the log by settling. */
        if (slot != node->my_slot)
            forget_log_up_to(node, origin, known_everywhere(node, slot), false);
        if (slot != node->my_slot && origin_is_ghost(node, origin) && ghost_is_done(node, slot) &&
            (!origin->mine || list_empty(&origin->log))) {
            retire(node, origin);
            retired = true;
        }
    }
    if (retired)
        snapshot_forget_pages(node);
}

void origins_retire(struct node *node, uint32_t member, uint64_t incarnation)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (origin->uid && slot != node->my_slot && origin->member == member && origin->incarnation <= incarnation)
            retire(node, origin);
    }
    if (node->member[member].retired_incarnation < incarnation)
        node->member[member].retired_incarnation = incarnation;
}

void origins_close(struct node *node)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        node->origin[slot].mine = false; /* nothing is left to settle in */
        if (node->origin[slot].uid)
            forget_log_up_to(node, &node->origin[slot], UINT64_MAX, true);
    }
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
