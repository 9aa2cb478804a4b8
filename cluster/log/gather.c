/*
 * gather takes spends from the rings of outbox.c, sorts them, and appends batches of them to the own log. It sends
 * nothing: publish.c does.
 */
#include "cluster/log/gather.h"

#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/log/aside.h"
#include "cluster/log/origins.h"
#include "cluster/spend/grant.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/renewal.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/step.h"
#include "limit/kind.h"

#include <assert.h>
#include <string.h>

/*
 * A batch with returns is as old as the oldest unsettled spend, or as the settled tokens that it returns: batches do
 * not stand in the order of their age. Notes whether the batch is `credited`.
 */
static uint64_t returns_since_ns(const struct node *node, const struct origin *mine, struct batch *batch)
{
    uint64_t since_ns = batch_opened_ns(batch);
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        if (batch->spend[i].returns_settled && node->telling.returned_since_ns < since_ns)
            since_ns = node->telling.returned_since_ns;
        batch->credited |= batch->spend[i].credit > 0;
    }
    for (struct list *at = mine->log.next; at != &mine->log && batch->credited; at = at->next) {
        uint64_t opened_ns = batch_opened_ns(LIST_OWNER(at, const struct batch, link));
        since_ns = opened_ns < since_ns ? opened_ns : since_ns;
    }
    return since_ns;
}

uint32_t gather_urgent_count(const struct node *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->thread_count; i++)
        count += node->thread[i].urgent_count;
    return count;
}

static void close_part(struct node *node, const struct spend *spends, uint32_t count, bool complete)
{
    struct origin *mine = &node->origin[node->my_slot];
    struct depend depends[ORIGINS_MAX];
    uint32_t depend_count = 0;
    for (uint32_t slot = 0; slot < node->origin_end; slot++)
        if (slot != node->my_slot && node->origin[slot].uid && node->origin[slot].applied > 0)
            depends[depend_count++] = (struct depend){node->origin[slot].uid, node->origin[slot].applied};
    struct batch_grant grants[BATCH_GRANTS_MAX];
    uint32_t grant_count = grants_tell(node, spends, count, mine->applied + 1, grants);
    struct batch *batch = batch_create_granting(depend_count, count, grant_count);
    assert(batch && "out of memory");
    memcpy(batch->grant, grants, grant_count * sizeof *grants);
    granted_note(node, batch, true);
    for (uint32_t i = 0; i < depend_count; i++)
        batch->depend[i] = depends[i];
    memcpy(batch->spend, spends, count * sizeof *spends);
    batch->origin_uid = mine->uid;
    batch->first = batch->last = ++mine->applied;
    batch->at_ns = batch->arrived_ns = node->now_ns;
    batch->open_ns = number_minus(node->now_ns, node->telling.since_ns);
    batch->open_ns = batch->at_ns - returns_since_ns(node, mine, batch);
    batch->complete = complete;
    origin_log_append(node, mine, batch);
    node->stats.batches_closed++;
}

/* A key that was evicted and came back may be in the array twice; its spends are added up. */
static uint32_t add_equal_ones(const struct node *node, struct spend *spends, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (kept > 0 && spend_compare(&spends[kept - 1], &spends[i]) == 0)
            spend_add(&spends[kept - 1], &spends[i], kind_lists(node->limits.limit[spends[i].limit].kind));
        else
            spends[kept++] = spends[i];
    }
    return kept;
}

/* While a member is late, spends that are told now may be acknowledged late. */
static void note_aside(struct node *node)
{
    for (uint32_t i = 0; node->aside.on && i < node->telling.count; i++) {
        const struct entry *entry = table_find(node->table, node->telling.spend[i].id);
        if (entry)
            aside_note(node, entry);
    }
}

void tell_gathered(struct node *node)
{
    if (node->telling.count == 0)
        return;
    note_aside(node);
    spends_sort(node->telling.sorted, node->telling.spend, node->telling.count, SPENDS_BY_LIMIT);
    uint32_t count = add_equal_ones(node, node->telling.sorted, node->telling.count);
    bool complete = !node->telling.orphans && gather_urgent_count(node) == 0;
    for (uint32_t from = 0, end; from < count; from = end) {
        end = grants_end(node, node->telling.sorted, from, batch_end(node, node->telling.sorted, from, count));
        close_part(node, node->telling.sorted + from, end - from, complete);
        /* spends begun meanwhile are marked as of the second batch: see outbox_open_spend */
        complete &= !node->telling.spans;
    }
    step_works(node, node->telling.count);
    node->telling.count = 0;
    node->telling.orphans = node->telling.spans = false;
    if (gather_urgent_count(node) > 0)
        return;
    node->telling.returned_since_ns = 0; /* returns are urgent: all are told, and so are renewals */
    renewals_are_told(node);
}

void gather_spend(struct node *node, struct spend *spend)
{
    if (node->telling.count == node->batch_max)
        tell_gathered(node);
    const struct thread_state *thread = &node->thread[(uint32_t)(spend - node->outbox.spend) / node->outbox.places];
    uint64_t made_ns = outbox_time_ns(node, spend->since);
    /* an exact time, where outbox_time_ns may be too early */
    made_ns = made_ns > thread->open_since_ns ? made_ns : thread->open_since_ns;
    if (node->telling.count == 0 || made_ns < node->telling.since_ns)
        node->telling.since_ns = made_ns;
    node->telling.orphans |= spend->orphan;
    if (node->awake.somebody_silent && voucher_may_be_held(node, spend->id))
        voucher_lack_told(node, spend);
    struct spend *told = &node->telling.spend[node->telling.count++];
    *told = *spend;
    told->untold = told->urgent = told->orphan = false;
    outbox_drop(node, spend);
}

/* The threads' returns are urgent, and all of them are gathered now. */
static void gather_returned_since(struct node *node)
{
    uint64_t *since_ns = &node->telling.returned_since_ns;
    for (struct thread_state *thread = node->thread; thread < node->thread + node->thread_count; thread++) {
        if (*since_ns == 0 || (thread->returned_since_ns > 0 && thread->returned_since_ns < *since_ns))
            *since_ns = thread->returned_since_ns;
        thread->returned_since_ns = 0;
    }
}

void gather_urgent(struct node *node)
{
    gather_returned_since(node);
    for (uint32_t i = 0; i < node->thread_count; i++) {
        struct thread_state *thread = &node->thread[i];
        for (uint32_t k = 0; k < thread->urgent_count; k++)
            gather_spend(node, &node->outbox.spend[thread->urgent[k]]);
        thread->urgent_count = 0;
    }
    for (uint32_t i = 0; i < node->thread_count; i++)
        outbox_skip_gaps(node, &node->thread[i]);
}

void gather_front(struct node *node, struct thread_state *thread)
{
    gather_spend(node, &thread->open[thread->open_first]);
    outbox_skip_gaps(node, thread);
}
