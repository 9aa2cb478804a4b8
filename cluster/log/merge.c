/*
 * merge makes one batch of the batches of a run. The batches are sorted, so a heap of their heads
 * gives all spends of the run in order; each step takes as many spends as it has time for. The
 * result replaces the run in one moment, unless the run has changed meanwhile. A result that does
 * not fit one batch is cut into parts. may_merge says which neighbours may become one; compact.c
 * chooses the logs.
 */
#include "cluster/log/merge.h"

#include "base/number.h"
#include "base/prefetch.h"
#include "cluster/codec/batch.h"
#include "cluster/log/origins.h"
#include "cluster/log/unsettled_index.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/step.h"
#include "limit/kind.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TRANSIT_INTERVALS = 16 }; /* parts that were sent this lately stay as they are */

/* ---- one batch of many ---- */

enum { ORDER_ID_BITS = 48 };

/* The next spend is prefetched while the other sources have their turn. */
static void stand_at(struct merge_source *source, const struct spend *at)
{
    source->at = at;
    source->order = (uint64_t)at->limit << ORDER_ID_BITS | at->id.high >> (64 - ORDER_ID_BITS);
    prefetch_read(at + 1);
}

static bool is_before(const struct merge_source *source, const struct merge_source *other)
{
    if (source->order != other->order)
        return source->order < other->order;
    return spend_compare(source->at, other->at) < 0;
}

static void sift_down(struct merge_source *source, uint32_t count, uint32_t index)
{
    struct merge_source moved = source[index];
    for (uint32_t child; (child = 2 * index + 1) < count; index = child) {
        if (child + 1 < count && is_before(&source[child + 1], &source[child]))
            child++;
        if (!is_before(&source[child], &moved))
            break;
        source[index] = source[child];
    }
    source[index] = moved;
}

static void take_least(struct merger *merger)
{
    if (merger->source[0].at + 1 < merger->source[0].end)
        stand_at(&merger->source[0], merger->source[0].at + 1);
    else
        merger->source[0] = merger->source[--merger->source_count];
    if (merger->source_count > 0)
        sift_down(merger->source, merger->source_count, 0);
}

static void close_made(struct node *node)
{
    struct merger *merger = &node->merger;
    const struct batch *newest = merger->newest;
    struct batch *batch = batch_create(newest->depend_count, merger->spend_count);
    assert(batch && "out of memory");
    memcpy(batch->depend, newest->depend, newest->depend_count * sizeof *batch->depend);
    memcpy(batch->spend, merger->spend, merger->spend_count * sizeof *batch->spend);
    for (uint32_t i = 0; i < batch->spend_count; i++)
        batch->credited |= batch->spend[i].credit > 0;
    list_insert_before(&merger->made, &batch->link);
    merger->made_count++;
    merger->spend_count = merger->group_count = 0;
}

static void put_spend(struct node *node, const struct spend *spend)
{
    struct merger *merger = &node->merger;
    struct spend *last = merger->spend_count > 0 ? &merger->spend[merger->spend_count - 1] : NULL;
    if (last && spend_compare(last, spend) == 0) {
        spend_add(last, spend, kind_lists(node->limits.limit[last->limit].kind));
        last->spare = 0;
        return;
    }
    bool begins = !last || last->limit != spend->limit;
    if (last && (merger->spend_count == node->batch_max ||
                 !batch_fits(node, merger->spend_count + 1, merger->group_count + begins))) {
        close_made(node);
        begins = true;
    }
    assert(merger->spend);
    merger->spend[merger->spend_count++] = *spend;
    merger->spend[merger->spend_count - 1].spare = 0; /* peers charge whole tokens of a merged batch */
    merger->group_count += begins;
}

bool merge_some(struct node *node)
{
    struct merger *merger = &node->merger;
    while (merger->source_count > 0) {
        if (!step_has_time(node, 1))
            return false;
        step_works(node, 1);
        put_spend(node, merger->source[0].at);
        take_least(merger);
    }
    if (merger->spend_count > 0)
        close_made(node);
    return true;
}

/* True: what is made of the run has this spend of one of its batches. */
static bool has_taken(const struct merger *merger, const struct batch *batch, const struct spend *spend)
{
    for (uint32_t i = 0; i < merger->source_count; i++)
        if (merger->source[i].end == batch->spend + batch->spend_count)
            return merger->source[i].at > spend;
    return true;
}

static struct spend *find_made(struct merger *merger, const struct spend *wanted)
{
    LIST_EACH(struct batch, made, &merger->made, link) {
        const struct spend *found = batch_find(made, wanted->limit, wanted->id);
        if (found)
            return &made->spend[found - made->spend];
    }
    return bsearch(wanted, merger->spend, merger->spend_count, sizeof *merger->spend, spend_compare);
}

bool merge_has(const struct merger *merger, const struct batch *batch)
{
    return merger->uid != 0 && merger->uid == batch->origin_uid && batch->first >= merger->first &&
           batch->last <= merger->newest->last;
}

void merge_note_credit(struct node *node, const struct batch *batch, const struct spend *spend, uint64_t before)
{
    struct merger *merger = &node->merger;
    if (!merge_has(merger, batch) || !has_taken(merger, batch, spend))
        return;
    struct spend *made = find_made(merger, spend);
    assert(made);
    made->credit += spend->credit - before;
}

/* ---- what may be merged ---- */

/* A member that has applied up to this number would apply its half of the merge twice. */
static bool somebody_stands_at(const struct node *node, uint32_t slot, uint64_t sequence)
{
    for (uint32_t m = 0; m < node->member_end; m++)
        if (member_needed(&node->member[m]) && node->member[m].known[slot] == sequence)
            return true;
    return false;
}

/* A member that gathers the parts would have to begin anew with other parts. */
static bool is_on_its_way(const struct node *node, uint32_t slot, const struct batch *batch)
{
    if (batch->parts == 0 || batch->sent_ns == 0 ||
        node->now_ns - batch->sent_ns > TRANSIT_INTERVALS * node->options.interval_ns)
        return false;
    for (uint32_t m = 0; m < node->member_end; m++) {
        const struct member *member = &node->member[m];
        if (member_needed(member) && !member->silent && member_lacks(member, slot, batch->last))
            return true;
    }
    return false;
}

/*
 * A member that hears this node but is not heard may have applied and forgotten all sent batches.
 * An unsent batch reaches that member as new while it stands alone. Merged with sent batches, it
 * could not be told from them there.
 */
static bool may_merge(const struct node *node, uint32_t slot, const struct batch *left, const struct batch *right,
                      enum merging how)
{
    if (left->last <= node->origin[slot].forgotten)
        return false; /* some of its spends are settled */
    if (batch_is_beside(left, right))
        return true;
    if (right->first > left->last + 1)
        return false; /* between them is a snapshot, whose numbers no merge may stand for */
    if (origin_has_begun(&node->origin[slot], left) || origin_has_begun(&node->origin[slot], right))
        return false; /* the other parts of the begun merge come after it */
    bool sent_up_to_here = slot == node->my_slot && left->sends_count > 0 && right->sends_count == 0;
    if (slot == node->my_slot && left->last <= node->log.everywhere)
        return false; /* the batch is being settled */
    return !(sent_up_to_here && how == MERGE_WHAT_WAS_SENT) && !somebody_stands_at(node, slot, left->last) &&
           !is_on_its_way(node, slot, left) && !is_on_its_way(node, slot, right);
}

/* ---- runs ---- */

static struct batch *batch_at(struct list *link)
{
    return LIST_OWNER(link, struct batch, link);
}

/* True if the run that begins with `oldest` would span too much time with `batch`. */
static bool is_too_late(const struct merger *merger, const struct batch *oldest, const struct batch *batch)
{
    return batch->at_ns > oldest->at_ns && batch->at_ns - oldest->at_ns > merger->span_ns;
}

/*
 * The (exclusive) end of the run that begins at `first`: parts stay together, and PARTS_MAX
 * suffice.
 */
static struct list *end_of_run(const struct node *node, const struct merger *merger, struct list *first)
{
    const struct origin *origin = &node->origin[merger->slot];
    uint64_t keys_max = (uint64_t)node->batch_max * (PARTS_MAX / 2), keys = 0;
    struct list *end = first, *part = first;
    while (end != &origin->log && keys <= keys_max) {
        if (end != first && !may_merge(node, merger->slot, batch_at(end->previous), batch_at(end), merger->how))
            return end;
        bool beside = end != first && batch_is_beside(batch_at(end->previous), batch_at(end));
        if (end != first && !beside && is_too_late(merger, batch_at(first), batch_at(end)))
            return end;
        if (end != first && !beside)
            part = end;
        keys += batch_at(end)->spend_count;
        end = end->next;
    }
    return keys <= keys_max ? end : part != first ? part : end;
}

static bool is_worth_merging(struct list *first, struct list *end)
{
    return first->next != end && !batch_is_beside(batch_at(first), batch_at(end->previous));
}

static bool open_sources(struct merger *merger, struct list *first, const struct list *end)
{
    assert(merger->batch_count > 0);
    merger->source = calloc(merger->batch_count, sizeof *merger->source);
    if (!merger->source)
        return false;
    for (struct list *at = first; at != end; at = at->next) {
        struct merge_source *source = &merger->source[merger->source_count];
        if (batch_at(at)->spend_count == 0)
            continue;
        source->end = batch_at(at)->spend + batch_at(at)->spend_count;
        stand_at(source, batch_at(at)->spend);
        merger->source_count++;
    }
    for (uint32_t i = merger->source_count / 2; i-- > 0;)
        sift_down(merger->source, merger->source_count, i);
    return true;
}

bool merge_begin(struct node *node)
{
    struct merger *merger = &node->merger;
    struct origin *origin = &node->origin[merger->slot];
    if (origin->uid != merger->slot_uid)
        return false;
    struct list *first = origin->log.next, *end = first;
    while (first != &origin->log && batch_at(first)->last <= merger->next)
        first = first->next;
    for (; first != &origin->log; first = end) {
        end = end_of_run(node, merger, first);
        merger->next = batch_at(end->previous)->last;
        if (is_worth_merging(first, end))
            break;
    }
    if (first == &origin->log)
        return false;
    merger->batch_count = 0;
    merger->opened_ns = UINT64_MAX;
    for (struct list *at = first; at != end; at = at->next, merger->batch_count++)
        if (batch_opened_ns(batch_at(at)) < merger->opened_ns)
            merger->opened_ns = batch_opened_ns(batch_at(at));
    if (!open_sources(merger, first, end))
        return false;
    merger->uid = origin->uid;
    merger->first = batch_at(first)->first;
    merger->newest = batch_at(end->previous);
    return true;
}

void merge_abandon(struct merger *merger)
{
    while (!list_empty(&merger->made)) {
        struct batch *batch = batch_at(merger->made.next);
        batch_destroy(&batch);
    }
    free(merger->source);
    merger->source = NULL;
    merger->source_count = merger->made_count = merger->spend_count = merger->group_count = 0;
    merger->uid = 0;
    merger->newest = NULL;
}

/* ---- replacing the run ---- */

/* True if the run is as it was, may still be merged, and the result has fewer batches. */
static bool run_gives_way(const struct node *node, struct list *first)
{
    const struct merger *merger = &node->merger;
    if (merger->made_count >= merger->batch_count || merger->made_count > PARTS_MAX)
        return false;
    for (struct list *at = first; at != &merger->newest->link; at = at->next)
        if (!may_merge(node, merger->slot, batch_at(at), batch_at(at->next), merger->how))
            return false;
    return true;
}

static void put_in_place(struct node *node, struct origin *origin, struct list *first)
{
    struct merger *merger = &node->merger;
    const struct batch *newest = merger->newest;
    uint64_t first_number = merger->first, opened_ns = merger->opened_ns, before = node->log.keys;
    uint64_t merge = merger->made_count > 1 ? random_u64(&node->random) | 1 : 0;
    uint32_t parts = merger->made_count > 1 ? merger->made_count : 0, run_batches = merger->batch_count;
    for (uint32_t part = 0; !list_empty(&merger->made); part++) {
        struct batch *made = batch_at(merger->made.next);
        list_remove(&made->link);
        made->origin_uid = origin->uid;
        made->first = first_number;
        made->last = newest->last;
        made->at_ns = newest->at_ns;
        made->open_ns = number_minus(newest->at_ns, opened_ns);
        made->arrived_ns = newest->arrived_ns;
        made->sent_ns = newest->sent_ns;
        made->sends_count = newest->sends_count;
        made->merge = merge;
        made->part = parts > 0 ? part : 0;
        made->parts = parts;
        list_insert_before(first, &made->link);
        origin->log_count++;
        origin->credited_count += made->credited;
        origin->log_keys += made->spend_count;
        node->log.keys += made->spend_count;
    }
    struct list *end = newest->link.next;
    merge_abandon(merger);
    if (origin->mine)
        unsettled_index_reset(node);
    for (struct list *at = first, *next; at != end; at = next) {
        next = at->next;
        origin_log_remove(node, origin, batch_at(at));
    }
    merger->reclaimed |= node->log.keys < before;
    node->stats.batches_compacted += run_batches;
}

void merge_finish(struct node *node)
{
    struct merger *merger = &node->merger;
    struct origin *origin = &node->origin[merger->slot];
    struct list *first = origin->log.next;
    while (batch_at(first)->first < merger->first)
        first = first->next;
    if (run_gives_way(node, first))
        put_in_place(node, origin, first);
    merge_abandon(merger);
}
