/*
 * apply charges the batches of other peers to keys. A batch has its turn when it is next in the
 * order of its origin and when all batches that it depends on are applied. A merged batch may
 * overlap applied ones: only its rest is charged, as far as the log still tells the rest. A step
 * applies as many spends as it has time for; a begun batch counts as applied when it is complete.
 * This file does not decide which batches wait (inbox.c), does not say what one spend changes at its key (charge.c) and
 * does not settle own batches (settle.c).
 */
#include "cluster/apply/apply.h"

#include "cluster/apply/charge.h"
#include "cluster/apply/inbox.h"
#include "cluster/apply/pages.h"
#include "cluster/apply/uncharged.h"
#include "cluster/codec/batch.h"
#include "cluster/log/compact.h"
#include "cluster/log/origins.h"
#include "cluster/log/tell.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/grant.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/step.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

/* The part of a merged batch's spend that was applied before, as far as the log still tells. */
static struct spend applied_already(const struct origin *origin, const struct batch *batch, const struct spend *of)
{
    struct spend applied = {.id = of->id, .limit = of->limit};
    LIST_EACH(const struct batch, other, &origin->log, link) {
        if (other->first < batch->first)
            continue;
        const struct spend *spend = batch_find(other, of->limit, of->id);
        if (spend)
            spend_add(&applied, spend, false);
    }
    return applied;
}

/* True if the log tells all applied batches that a merged batch overlaps. */
static bool log_covers(const struct origin *origin, const struct batch *batch)
{
    uint64_t covered = batch->first;
    LIST_EACH(const struct batch, applied, &origin->log, link)
        if (applied->first == covered && !batch_is_beside(applied, batch))
            covered = applied->last + 1;
    return covered > origin->applied;
}

/*
 * The part of the spend that is not applied. Only the sum of tokens and returned tokens counts, so
 * one figure may make up for the other. If the log does not tell all (not `covered`), more than the
 * rest may be charged, but no return is credited twice.
 */
static struct spend fresh_part(const struct origin *origin, const struct batch *batch, const struct spend *spend,
                               bool covered)
{
    struct spend fresh = *spend, applied = applied_already(origin, batch, spend);
    if (!covered) {
        fresh.tokens -= applied.tokens < fresh.tokens ? applied.tokens : fresh.tokens;
        fresh.returned = 0;
        return fresh;
    }
    fresh.tokens += applied.returned;
    fresh.returned += applied.tokens;
    uint64_t both = fresh.tokens < fresh.returned ? fresh.tokens : fresh.returned;
    if (applied.tokens == 0 && applied.returned == 0)
        return *spend;
    fresh.tokens -= both;
    fresh.returned -= both;
    return fresh;
}

/* Applies the next `count` spends of the begun batch. */
static void apply_spends(struct node *node, uint32_t count)
{
    struct begun *begun = &node->inbox.begun;
    struct origin *origin = &node->origin[begun->slot];
    struct batch *batch = begun->batch;
    bool is_new = batch->first > origin->applied, has_pages = node->snapshot.page_count > 0;
    bool has_outbox = outbox_count(node) > 0;
    uint64_t tokens = 0;
    bool covered = is_new || log_covers(origin, batch);
    uint32_t end = begun->applied_count + count;
    for (uint32_t i = begun->applied_count; i < end; i++) {
        const struct spend *spend = &batch->spend[i];
        charge_prefetch(node, batch, i);
        tell_for_room(node);
        if (spend->returned > 0 && uncharged_has(node, spend->id))
            uncharged_charge(node);
        uint64_t beyond = 0, there = has_pages ? pages_contain(node, spend->id, begun->slot, &beyond) : 0;
        bool contained = there >= batch->last;
        struct spend fresh = is_new ? *spend : fresh_part(origin, batch, spend, covered);
        uint64_t doubted = beyond >= batch->first && !contained ? fresh.tokens + fresh.returned : 0;
        /* the figures of the snapshot may have the return already */
        fresh.returned = beyond >= batch->first ? 0 : fresh.returned;
        struct entry *entry =
            contained ? table_find(node->table, spend->id) : charge_entry_of(node, spend, batch->at_ns);
        if (entry && doubted > 0)
            charge_note_doubted(node, entry, doubted);
        /* own spends of the key are older than this node's knowledge of this spend */
        if (entry && has_outbox)
            outbox_urge(node, entry);
        if (!entry || contained || (fresh.tokens == 0 && fresh.returned == 0))
            continue;
        if (!is_new || has_pages || !uncharged_takes(node, entry, origin->member, batch, &fresh))
            charge_spend(node, entry, origin->member, batch, &fresh);
        entry->last_spender = (origin->member + 1) & 0x7f;
        counters_mark_dirty(node, entry);
        tokens += fresh.tokens;
    }
    begun->applied_count = end;
    step_works(node, count);
    if (!node->member[origin->member].demand.said) /* else it says itself what it gave */
        node->member[origin->member].demand_tokens += tokens;
    node->stats.applied_tokens += tokens;
}

static void end_begun(struct node *node)
{
    struct batch *batch = node->inbox.begun.batch;
    struct origin *origin = &node->origin[node->inbox.begun.slot];
    bool goes_on = batch->part + 1 < batch->parts;
    origin->merge = goes_on ? batch->merge : 0;
    origin->next_part = goes_on ? batch->part + 1 : 0;
    if (!goes_on)
        origin->applied = batch->last;
    node->stats.batches_applied++;
    node->inbox.begun = (struct begun){0};
    inbox_take(node, batch);
    granted_note(node, batch, false);
    voucher_take(node, batch, origin->member);
    origin_log_append(node, origin, batch); /* a full log may drop the batch at once */
}

/*
 * As many spends as this step may apply and has time for. A merged batch is compared with the log
 * as the log is now, so it is applied in one piece.
 */
static uint32_t part_to_apply(const struct node *node, const struct batch *batch, uint32_t applied_count)
{
    uint32_t rest = batch->spend_count - applied_count;
    bool whole = batch->first < batch->last;
    uint32_t room = node->step.apply_room < node->step.left ? node->step.apply_room : node->step.left;
    return whole || rest < room ? rest : room;
}

/* Applies as many spends as this step has time for; true: the batch is complete. */
static bool go_on_applying(struct node *node)
{
    const struct begun *begun = &node->inbox.begun;
    uint32_t part = part_to_apply(node, begun->batch, begun->applied_count);
    bool rests = part == 0 && begun->applied_count < begun->batch->spend_count;
    if (!rests && step_has_time(node, part)) {
        node->step.apply_room -= part < node->step.apply_room ? part : node->step.apply_room;
        apply_spends(node, part);
        if (begun->applied_count == begun->batch->spend_count) {
            end_begun(node);
            return true;
        }
    }
    if (begun->applied_count == 0)
        node->inbox.begun = (struct begun){0};
    todo_add(&node->todo, DO_APPLY);
    todo_add(&node->todo, DO_STEP);
    return false;
}

void apply_begun(struct node *node)
{
    if (!node->inbox.begun.batch)
        return;
    apply_spends(node, node->inbox.begun.batch->spend_count - node->inbox.begun.applied_count);
    end_begun(node);
    pages_forget(node);
    todo_add(&node->todo, DO_ANSWER);
}

bool apply_depends_are_met(const struct node *node, const struct batch *batch)
{
    for (uint32_t i = 0; i < batch->depend_count; i++) {
        int slot = origin_find_uid(node, batch->depend[i].origin_uid);
        if (slot >= 0 && (uint32_t)slot != node->my_slot && batch->depend[i].seq > node->origin[slot].applied)
            return false;
    }
    return true;
}

/*
 * A merged batch may overlap batches that are applied here. If the log still tells them, only the
 * rest is charged. If it does not (they came with a snapshot), charging all would count them twice,
 * and another snapshot is exact. If no snapshot can be had for long, counting twice is the safe
 * side. A snapshot that was asked for is awaited: asking ends by itself.
 */
static bool is_next(struct node *node, const struct origin *origin, const struct batch *batch)
{
    /* A begun merge goes on: none of it counts as applied until its last part is. */
    if (origin->next_part > 0)
        return batch->merge == origin->merge && batch->part == origin->next_part;
    if (batch->parts > 0 && (batch->part > 0 || !inbox_has_all(node, batch)))
        return false;
    if (batch->first > origin->applied)
        return batch->first == origin->applied + 1;
    if (log_covers(origin, batch))
        return true;
    todo_add(&node->todo, DO_SNAPSHOT);
    return !node->snapshot.running && inbox_waited_long(node, batch);
}

static bool is_its_turn(const struct node *node, uint32_t slot, const struct batch *batch)
{
    return apply_depends_are_met(node, batch) || origin_has_begun(&node->origin[slot], batch) ||
           inbox_breaks_ring(node, batch);
}

/*
 * A ghost's batches are kept whatever the limit of the log, since their maker is gone. They wait
 * until merging has made room, or could not.
 */
static bool waits_for_room(const struct node *node, uint32_t slot)
{
    const struct origin *origin = &node->origin[slot];
    return compact_comes_first(node) && origin_is_ghost(node, origin) && origin->next_part == 0;
}

/* Applies batches in one pass over the inbox while the step has time; true: one was applied. */
static bool inbox_pass(struct node *node)
{
    bool applied = false;
    for (struct list *at = node->inbox.list.next, *next;
         at != &node->inbox.list && !todo_has(&node->todo, DO_APPLY); at = next) {
        next = at->next;
        struct batch *batch = LIST_OWNER(at, struct batch, link);
        int slot = origin_find_uid(node, batch->origin_uid);
        if (slot < 0 || batch->last <= node->origin[slot].applied || inbox_is_orphan(node, (uint32_t)slot, batch)) {
            inbox_take(node, batch);
            batch_destroy(&batch);
        } else if (is_next(node, &node->origin[slot], batch) && is_its_turn(node, (uint32_t)slot, batch)) {
            if (waits_for_room(node, (uint32_t)slot)) {
                todo_add(&node->todo, DO_APPLY_LATER);
                continue;
            }
            node->inbox.begun = (struct begun){.batch = batch, .slot = (uint32_t)slot};
            applied |= go_on_applying(node);
        }
    }
    return applied;
}

/* A joining node only gathers batches until its first snapshot is complete: a second one lowers what is there. */
static bool may_apply(const struct node *node)
{
    return node->life.state != PEER_JOINING || node->snapshot.done || node->snapshot.is_second;
}

bool apply_is_next(struct node *node, uint32_t slot, const struct batch *batch)
{
    return may_apply(node) && is_next(node, &node->origin[slot], batch) && apply_depends_are_met(node, batch) &&
           !waits_for_room(node, slot);
}

bool apply_inbox(struct node *node)
{
    bool applied = node->inbox.begun.batch && go_on_applying(node);
    if (may_apply(node))
        while (!todo_has(&node->todo, DO_APPLY) && inbox_pass(node))
            applied = true;
    if (applied)
        pages_forget(node);
    return applied;
}
