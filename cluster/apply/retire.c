/*
 * retire removes batches that all members have from the logs, and retires the origin of an ended
 * incarnation when no member can learn anything new of it. Own batches leave a log when settle.c
 * settles them.
 */
#include "cluster/apply/retire.h"

#include "cluster/apply/charge.h"
#include "cluster/apply/inbox.h"
#include "cluster/apply/pages.h"
#include "cluster/apply/settle.h"
#include "cluster/apply/uncharged.h"
#include "cluster/log/compact.h"
#include "cluster/log/gather.h"
#include "cluster/log/origins.h"
#include "cluster/spend/grant.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"

#include <assert.h>
#include <string.h>

/* The highest number of `slot` that all needed members are known to have applied. */
static uint64_t known_everywhere(const struct node *node, uint32_t slot)
{
    uint64_t least = node->origin[slot].applied;
    for (uint32_t m = 0; m < node->member_end; m++) {
        const struct member *member = &node->member[m];
        if (!member_needed(member) || m == node->origin[slot].member)
            continue;
        if (member_lacks(member, slot, least))
            least = member->known[slot];
    }
    return least;
}

/*
 * A ghost is done when no member can learn anything new of it. Each needed member must have said
 * itself that this incarnation has ended, so that it takes no late message of it, and all of them
 * must have what the best informed one has.
 */
static bool ghost_is_done(const struct node *node, uint32_t slot)
{
    const struct origin *origin = &node->origin[slot];
    if (inbox_holds(node, origin->uid))
        return false;
    /* in order: a retired incarnation stands for all before it */
    for (uint32_t o = 0; o < node->origin_end; o++)
        if (node->origin[o].uid && node->origin[o].member == origin->member &&
            node->origin[o].incarnation < origin->incarnation)
            return false;
    for (uint32_t m = 0; m < node->member_end; m++) {
        const struct member *member = &node->member[m];
        if (!member_needed(member))
            continue;
        bool said_so = (member->knows_ended[slot / 64] >> (slot % 64) & 1) != 0;
        if (!said_so || (!member_has_retired(member, slot) && member->known[slot] != origin->applied))
            return false;
    }
    return true;
}

/* Own batches leave the log by being settled, unless `at_once` as fast as steps allow. */
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

/*
 * Whom a grant was for may have heard of it in the former life, and used it. So it is nobody's now: listed, and
 * counted, as granted to its maker.
 */
static void grant_to_nobody(const struct node *node, struct batch *batch)
{
    for (uint32_t i = 0; i < batch->grant_count; i++)
        batch->grant[i].holder_uid = node->origin[node->my_slot].uid;
}

/*
 * Returns in the batch are not told again: other peers may have credited them. They may have
 * charged its spends as well without a word that reached this node; charging twice is the safe
 * side.
 */
static void tell_anew(struct node *node, struct origin *from, struct batch *batch)
{
    struct origin *mine = &node->origin[node->my_slot];
    compact_forget(node, batch);
    from->log_count--;
    from->credited_count -= batch->credited;
    from->log_keys -= batch->spend_count;
    node->log.keys -= batch->spend_count;
    list_remove(&batch->link);
    grants_move(node, batch, mine->uid, mine->applied + 1);
    grant_to_nobody(node, batch);
    batch->origin_uid = mine->uid;
    batch->first = batch->last = ++mine->applied;
    batch->merge = 0;
    batch->part = batch->parts = 0;
    batch->sent_ns = 0;
    batch->sends_count = 0;
    batch->rode_along = batch->complete = batch->hashed = false;
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        struct spend *spend = &batch->spend[i];
        struct entry *entry = table_find(node->table, spend->id);
        spend->returned = 0;
        if (entry)
            charge_note_doubted(node, entry, spend->tokens);
    }
    node->stats.batches_closed++;
    origin_log_append(node, mine, batch);
}

void retire_reclaim(struct node *node, uint32_t slot, uint64_t known)
{
    struct origin *origin = &node->origin[slot], *mine = &node->origin[node->my_slot];
    assert(origin->mine && slot != node->my_slot);
    tell_gathered(node);
    LIST_EACH(struct batch, batch, &mine->log, link)
        batch->complete = false; /* the batches that are told anew come after these */
    for (struct list *at = origin->log.next, *next; at != &origin->log; at = next) {
        struct batch *batch = LIST_OWNER(at, struct batch, link);
        next = at->next;
        if (batch->last > known)
            tell_anew(node, origin, batch);
    }
}

/* Who has not charged what its digest names may lose the figures in a crash, and then needs the batches again. */
static bool somebody_has_uncharged(const struct node *node)
{
    for (uint32_t m = 0; m < node->member_end; m++)
        if (member_needed(&node->member[m]) && node->member[m].heard_ns > 0 && node->member[m].uncharged)
            return true;
    return uncharged_are_some(node);
}

/*
 * A snapshot part on its way may be older than the log and is corrected by it, so the log is kept.
 */
void retire_stable(struct node *node)
{
    bool retired = false;
    if (node->snapshot.running || somebody_has_uncharged(node))
        return;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid)
            continue;
        if (slot != node->my_slot && (!origin->mine || node->takeover.settles))
            forget_log_up_to(node, origin, known_everywhere(node, slot), false);
        if (slot != node->my_slot && origin_is_ghost(node, origin) && ghost_is_done(node, slot) &&
            (!origin->mine || list_empty(&origin->log))) {
            retire(node, origin);
            retired = true;
        }
    }
    if (retired)
        pages_forget(node);
}

void retire_origins(struct node *node, uint32_t member, uint64_t incarnation)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        struct origin *origin = &node->origin[slot];
        if (origin->uid && slot != node->my_slot && origin->member == member && origin->incarnation <= incarnation)
            retire(node, origin);
    }
    if (node->member[member].retired_incarnation < incarnation)
        node->member[member].retired_incarnation = incarnation;
}

void retire_all(struct node *node)
{
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        node->origin[slot].mine = false; /* no bucket is left to settle in */
        if (node->origin[slot].uid)
            forget_log_up_to(node, &node->origin[slot], UINT64_MAX, true);
    }
}
