/*
 * settle charges own batches to `settled` once every needed member has acknowledged them. It leaves
 * of `unsettled` at most the tokens that were spent after the batch: in later batches, in the ring
 * of untold spends, and in waiting marks. An acknowledgement counts only after all earlier spends
 * of its sender are applied here (I7, I8 of docs/accounting.md). A step settles a part of a batch
 * at a time. This file does not decide when batches are told.
 */
#include "cluster/apply/settle.h"

#include "base/number.h"
#include "cluster/apply/charge.h"
#include "cluster/apply/settle_credit.h"
#include "cluster/apply/uncharged.h"
#include "cluster/codec/batch.h"
#include "cluster/log/aside.h"
#include "cluster/log/gather.h"
#include "cluster/log/merge.h"
#include "cluster/log/origins.h"
#include "cluster/log/tell.h"
#include "cluster/log/unsettled_index.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/spenders.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/refundable.h"
#include "cluster/state/step.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

#include <assert.h>
#include <string.h>

enum {
    SMOOTHING = 8,
    BEHIND_USUAL = 12, /* batches: peers acknowledge several at once */
    PARTS_BEHIND_MAX = 7,
};

static uint64_t smooth(uint64_t average, uint64_t sample)
{
    return average == 0 ? sample : average - average / SMOOTHING + sample / SMOOTHING;
}

/* ---- other spends of a key ---- */

/*
 * True if the batch has the last spend of the key. The entry notes, as a trace, the number of the
 * next batch at the time when the key's last untold spend was begun. A batch with that number or a
 * later one that has the key has that spend: another one would have been begun later. That fails if
 * the key was evicted in between, or if the spends told at once made several batches: then the
 * batch is not complete.
 */
static bool has_the_last(const struct node *node, const struct origin *mine, const struct batch *batch,
                         const struct entry *entry)
{
    uint64_t next = mine->applied + 1, behind = next - batch->last;
    uint32_t recorded = ((uint32_t)batch_trace(next) + BATCH_TRACES - entry->own_batch) % BATCH_TRACES;
    bool known = entry->own_batch >= 1 && entry->own_batch <= BATCH_TRACES && !deferred_has(node, entry);
    return batch->complete && known && behind < BATCH_TRACES && recorded >= behind;
}

/* Only batches of this incarnation have traces. */
static bool nothing_is_untold(const struct node *node, const struct origin *own, const struct batch *batch,
                              const struct entry *entry)
{
    return own == &node->origin[node->my_slot] && has_the_last(node, own, batch, entry);
}

/*
 * Spends that wait for refill to pay them off are told after all: refill takes longer once the
 * bucket is charged.
 */
static uint64_t outbox_tokens(struct node *node, struct entry *entry)
{
    if (deferred_has(node, entry))
        outbox_urge(node, entry);
    return outbox_has_open(node, entry) ? node->outbox.spend[entry->open_index].tokens : 0;
}

/* The tokens of the key in the batch, whatever their limits, from that spend on, with which its limit must begin. */
static uint64_t tokens_from(const struct batch *batch, uint32_t from, struct key_id id)
{
    const struct spend *spend;
    uint64_t tokens = 0;
    while ((spend = batch_find_next(batch, &from, id)) != NULL)
        tokens += spend->tokens;
    return tokens;
}

/*
 * The tokens of the key in the batch, under its present limit or, if keys were converted, under any
 * limit.
 */
static uint64_t tokens_in(const struct batch *batch, const struct entry *entry, bool any_limit)
{
    const struct spend *spend = any_limit ? NULL : batch_find(batch, entry->limit, entry->id);
    return any_limit ? tokens_from(batch, 0, entry->id) : spend ? spend->tokens : 0;
}

/*
 * Own spends of the key that will still be unsettled after this one: in its batch, in other
 * batches, and untold ones.
 */
static uint64_t later_tokens(struct node *node, const struct origin *origin, const struct batch *batch,
                             const struct spend *of, struct entry *entry, bool any_limit)
{
    uint64_t tokens =
        any_limit ? tokens_from(batch, batch_next_limit(batch, (uint32_t)(of - batch->spend)), of->id) : 0;
    if (nothing_is_untold(node, origin, batch, entry)) /* nor was any told later */
        return tokens;
    tokens += outbox_tokens(node, entry);
    for (uint32_t i = 0; i < (node->life.changes > 0 ? node->origin_end : 1); i++) {
        const struct origin *own = &node->origin[(node->my_slot + i) % node->origin_end];
        if (own->mine)
            LIST_EACH(const struct batch, other, &own->log, link)
                tokens += other == batch ? 0 : tokens_in(other, entry, any_limit);
    }
    return tokens;
}

/*
 * Tokens of the settled spend that neither refill nor a return has paid off: by so many the unsettled ones are fewer
 * now. Returns are of whole tokens, so a part of one counts as one.
 */
static uint64_t not_returned(const struct node *node, const struct entry *entry, struct bucket before,
                             const struct batch *batch)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    bucket_refill(&before, limit, &node->by_limit.budget[entry->limit], batch->at_ns);
    int64_t units = before.unsettled - entry->bucket.unsettled;
    return units > 0 ? (uint64_t)((units - 1) / limit->units_per_token + 1) : 0;
}

/*
 * Charges to the entry's bucket a spend of a batch that all members have. `any_limit`: own spends of the key may be
 * under several limits.
 */
static void settle_spend(struct node *node, struct entry *entry, struct batch *batch, uint32_t index,
                         uint64_t later, bool any_limit)
{
    if (any_limit)
        settle_credit_pass_on(node, entry, batch, index);
    const struct spend *spend = &batch->spend[index];
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->by_limit.budget[entry->limit];
    const uint64_t excess_tokens = spend->credit > spend->tokens ? spend->credit - spend->tokens : 0;
    const struct credit credit = charge_credit_of(node, entry, excess_tokens, batch, RAISE_OWN_UNSETTLED);
    const uint64_t uncredited = spend->tokens - number_least(spend->credit, spend->tokens);
    const uint64_t later_credit = settle_credit_take_later(node, entry, batch, index, uncredited, any_limit);
    const struct settlement settlement = {.tokens = spend->tokens,
                                          .credit = spend->credit - excess_tokens + credit.tokens + later_credit,
                                          .later = later,
                                          .at_ns = batch->at_ns};
    charge_note_peak(node, entry);
    const struct bucket before = entry->bucket;
    bucket_settle(&entry->bucket, limit, budget, &settlement);
    charge_stop_debt(node, entry, &before);
    charge_give_spare_back(entry, limit, budget, spend, before, batch->at_ns);
    charge_take_excess_off(&entry->bucket, limit, &credit);
    if (uncredited > later_credit)
        aside_spare(node, entry, &before, node->me, uncredited - later_credit, batch->at_ns);
    if (!kind_lists(limit->kind) && !kind_lists(node->limits.limit[spend->limit].kind))
        refundable_settle(&node->refundable, entry->id, spenders_own_tokens(spend),
                          not_returned(node, entry, before, batch), batch_opened_ns(batch), node->now_ns);
    if (spend->credit > 0) /* the return counts from now on only, so the store is told now */
        counters_mark_dirty(node, entry);
    node->stats.settled_tokens += spend->tokens;
}

/*
 * Settles the first `count` spends and removes them from the batch: spends in the log are
 * unsettled. Peers are told no more of the rest of the batch, as if all of it were settled.
 * `summed`: the sums of unsettled_index.c are whole.
 */
static void settle_spends(struct node *node, struct origin *origin, struct batch *batch, uint32_t count,
                          bool summed, bool converted)
{
    uint64_t closed = node->stats.batches_closed;
    /* gathered spends are in no ring and no log: later spends would be missed */
    assert(node->telling.count == 0);
    for (uint32_t i = 0; i < count; i++) {
        const struct spend *spend = &batch->spend[i];
        tell_for_room(node);
        /* the sums lack a batch that was closed just now */
        summed &= node->stats.batches_closed == closed;
        uint64_t later = batch->summed ? unsettled_index_strike(node, batch, i) : 0;
        charge_prefetch(node, batch, i);
        if (i + SLOTS_AHEAD < batch->spend_count)
            refundable_prefetch(&node->refundable, batch->spend[i + SLOTS_AHEAD].id);
        struct entry *entry = charge_entry_of(node, spend, batch->at_ns);
        if (!entry)
            continue;
        if (summed)
            later += nothing_is_untold(node, origin, batch, entry) ? 0 : outbox_tokens(node, entry);
        else
            later = later_tokens(node, origin, batch, spend, entry, converted);
        settle_spend(node, entry, batch, i, later, converted);
    }
    step_works(node, count);
    origin->forgotten = batch->last;
    origin_log_shorten(node, origin, batch, count);
}

/*
 * How many of the spends this step may settle. Each one is looked up, which takes long, so the part
 * is smaller than a step's keys. It is larger when more batches than usual wait behind this one,
 * since small parts would not keep up.
 */
static uint32_t part_to_settle(struct node *node, const struct origin *mine, const struct batch *batch,
                               uint64_t everywhere)
{
    uint64_t newest = everywhere < mine->applied ? everywhere : mine->applied;
    uint64_t usual = batch->last + BEHIND_USUAL, behind = newest > usual ? newest - usual : 0;
    uint64_t most = node->step.settle_part * (1 + (behind < PARTS_BEHIND_MAX ? behind : PARTS_BEHIND_MAX));
    uint64_t room = most > node->step.settled_keys ? most - node->step.settled_keys : 0;
    uint32_t part = batch->spend_count < room ? batch->spend_count : (uint32_t)room;
    if (part == 0 || !step_has_time(node, part))
        return 0;
    node->step.settled_keys += part;
    return part;
}

static bool is_to_settle(const struct origin *mine, uint64_t everywhere)
{
    if (list_empty(&mine->log))
        return false;
    const struct batch *oldest = LIST_OWNER(mine->log.next, const struct batch, link);
    return oldest->last <= everywhere || oldest->last <= mine->forgotten;
}

void settle_up_to(struct node *node, struct origin *mine, uint64_t everywhere, bool at_once)
{
    /* a key was converted since then: its spends are under several limits */
    bool converted = false;
    if (!is_to_settle(mine, everywhere))
        return;
    if (at_once)
        tell_gathered(node);
    bool waits = false;
    while (is_to_settle(mine, everywhere)) {
        struct batch *batch = LIST_OWNER(mine->log.next, struct batch, link);
        bool summed = unsettled_index_is_whole(node);
        /* The sums, or a batch with later spends, are not finished. */
        waits = !at_once && (node->telling.count > 0 || (!summed && unsettled_index_is_wanted(node)));
        uint32_t count = waits ? 0 : at_once ? batch->spend_count : part_to_settle(node, mine, batch, everywhere);
        waits |= count == 0 && batch->spend_count > 0;
        if (waits)
            break;
        converted |= node->converted_ns > 0 && batch_opened_ns(batch) <= node->converted_ns;
        settle_spends(node, mine, batch, count, summed, converted);
        if (batch->spend_count > 0)
            continue;
        node->log.settle_ns =
            smooth(node->log.settle_ns, node->now_ns - batch->at_ns + node->options.interval_ns / 2);
        origin_log_remove(node, mine, batch);
    }
    todo_add_if(&node->todo, DO_SETTLE, waits);
    todo_add_if(&node->todo, DO_STEP, waits);
}

void settle_acknowledged(struct node *node)
{
    uint64_t everywhere = UINT64_MAX;
    const bool charged = !uncharged_are_some(node);
    for (uint32_t i = 0; i < node->member_end; i++) {
        struct member *member = &node->member[i];
        if (!member_needed(member))
            continue;
        /*
         * An acknowledgement must not overtake earlier spends of its sender: those must be charged here. And what it
         * acknowledges must be charged there.
         */
        if (charged && !member->uncharged && member->known[node->my_slot] > member->acknowledged &&
            origins_cover_spends(node, i))
            member->acknowledged = member->known[node->my_slot];
        if (member->acknowledged < everywhere)
            everywhere = member->acknowledged;
    }
    node->log.everywhere = everywhere;
    /* without its right, nothing settles without the word of who is gone; nor where others' spends wait */
    if (!node->takeover.settles || !charged)
        return;
    settle_up_to(node, &node->origin[node->my_slot], everywhere, false);
}
