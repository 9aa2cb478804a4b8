/*
 * tell makes batches of untold spends: oldest first, and at a pace. Urgent spends must not wait: they are told before
 * other spends, and before any message leaves that acknowledges spends of other peers. tell takes spends from the rings
 * of outbox.c, sorts them, and appends batches to the own log. It sends nothing: publish.c does.
 */
#include "cluster/log/tell.h"

#include "cluster/codec/batch.h"
#include "cluster/log/aside.h"
#include "cluster/log/origins.h"
#include "cluster/spend/deferred.h"
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

enum {
    CREDIT_INTERVALS = 2,
    /* so many places in rings are read in the time of a part of the table: see urge_part */
    URGE_STEPS = 16,
    TELL_PART = 4, /* this part of a step's keys is gathered at once: see tell_ahead */
};

/* the cost of telling one key; the pace earns credit in this unit */
#define KEY_CREDIT UINT64_C(1000000000)
#define TELL_GAP_NS UINT64_C(1000000)
#define PATIENCE_NS UINT64_C(4000000000)

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

static uint32_t urgent_count(const struct node *node)
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
    batch->open_ns = node->now_ns > node->telling.since_ns ? node->now_ns - node->telling.since_ns : 0;
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
    bool complete = !node->telling.orphans && urgent_count(node) == 0;
    for (uint32_t from = 0, end; from < count; from = end) {
        end = grants_end(node, node->telling.sorted, from, batch_end(node, node->telling.sorted, from, count));
        close_part(node, node->telling.sorted + from, end - from, complete);
        /* spends begun meanwhile are marked as of the second batch: see open_spend */
        complete &= !node->telling.spans;
    }
    step_works(node, node->telling.count);
    node->telling.count = 0;
    node->telling.orphans = node->telling.spans = false;
    if (urgent_count(node) > 0)
        return;
    node->telling.returned_since_ns = 0; /* returns are urgent: all are told, and so are renewals */
    renewals_are_told(node);
}

static void gather(struct node *node, struct spend *spend)
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

static void gather_urgent(struct node *node)
{
    gather_returned_since(node);
    for (uint32_t i = 0; i < node->thread_count; i++) {
        struct thread_state *thread = &node->thread[i];
        for (uint32_t k = 0; k < thread->urgent_count; k++)
            gather(node, &node->outbox.spend[thread->urgent[k]]);
        thread->urgent_count = 0;
    }
    for (uint32_t i = 0; i < node->thread_count; i++)
        outbox_skip_gaps(node, &node->thread[i]);
}

static void gather_front(struct node *node, struct thread_state *thread)
{
    gather(node, &thread->open[thread->open_first]);
    outbox_skip_gaps(node, thread);
}

void tell_urgent(struct node *node)
{
    gather_urgent(node);
    tell_gathered(node);
}

void tell_for_room(struct node *node)
{
    struct thread_state *thread = own_thread(node);
    if (outbox_has_room(node, 1))
        return;
    gather_urgent(node);
    while (thread->open_span > node->outbox.room / 2)
        gather_front(node, thread);
    tell_gathered(node);
}

static void urge_key(void *context, struct entry *entry)
{
    struct node *node = context;
    tell_for_room(node);
    outbox_urge(node, entry);
}

static void urge(void *context, const struct entry *entry)
{
    struct node *node = context;
    /* the entry of the table, which may be written to */
    urge_key(node, table_find(node->table, entry->id));
}

/*
 * An entry does not say whether its key is in a ring; the ring does, and no cache has the ring. So
 * a short ring is read from end to end.
 */
void urge_part(struct node *node, uint64_t prefix, unsigned prefix_bits)
{
    if (outbox_span(node) > (uint64_t)URGE_STEPS * node->step.keys) {
        table_visit(node->table, prefix, prefix_bits, urge, node);
        return;
    }
    outbox_urge_listed(node, prefix, prefix_bits);
    if (deferred_count(node) > 0)
        table_visit_marked(node->table, prefix, prefix_bits, urge_key, node);
}

/* Moves at most `most` waiting keys into a ring. */
static void wait_no_more(struct node *node, uint32_t most)
{
    uint64_t place = node->waits.place;
    while (most > 0 && deferred_count(node) > 0) {
        struct entry *entry = table_find_marked(node->table, &place, table_places(node->table));
        if (!entry) {
            place = 0; /* some keys wait before the place of the round */
            continue;
        }
        tell_for_room(node);
        (void)open_spend(node, entry);
        most--;
    }
}

void tell_all(struct node *node)
{
    wait_no_more(node, UINT32_MAX);
    gather_urgent(node);
    for (uint32_t i = 0; i < node->thread_count; i++)
        while (node->thread[i].open_span > 0)
            gather_front(node, &node->thread[i]);
    tell_gathered(node);
}

void tell_much_urgent(struct node *node)
{
    if (urgent_count(node) >= node->step.keys)
        tell_urgent(node);
}

/* Credit is at most that of two intervals, and never less than one key's. */
static void earn_credit(struct node *node)
{
    uint64_t most = CREDIT_INTERVALS * node->options.interval_ns * node->telling.pace;
    most = most < KEY_CREDIT ? KEY_CREDIT : most;
    uint64_t elapsed_ns = node->now_ns - node->telling.credit_ns;
    uint64_t earned = elapsed_ns < most / node->telling.pace ? elapsed_ns * node->telling.pace : most;
    node->telling.credit = earned < most - node->telling.credit ? node->telling.credit + earned : most;
    node->telling.credit_ns = node->now_ns;
}

/*
 * The next batch is due when the credit pays for a message worth sending. `more`: only the time of
 * this step ended the last one.
 */
static void plan_next(struct node *node, bool more)
{
    todo_drop(&node->todo, DO_PUSH);
    node->telling.push_keys = node->telling.slice_keys;
    node->telling.next_ns = UINT64_MAX;
    uint32_t count = outbox_listed(node);
    if (count == 0)
        return;
    node->telling.push_keys = UINT32_MAX;
    uint64_t keys = count < node->telling.slice_keys ? count : node->telling.slice_keys;
    uint64_t missing = keys * KEY_CREDIT > node->telling.credit ? keys * KEY_CREDIT - node->telling.credit : 0;
    uint64_t wait_ns = missing / node->telling.pace, gap_ns = more ? 0 : TELL_GAP_NS;
    node->telling.next_ns = node->now_ns + (wait_ns > gap_ns ? wait_ns : gap_ns);
}

/* The oldest spend of all rings, or of a ring that is nearly full; NULL: all rings are empty. */
static struct spend *next_spend(const struct node *node, struct thread_state **thread_of, uint64_t *since_ns)
{
    struct spend *next = NULL;
    for (uint32_t i = 0; i < node->thread_count; i++) {
        struct thread_state *thread = &node->thread[i];
        struct spend *front = thread->open_span == 0 ? NULL : &thread->open[thread->open_first];
        uint64_t made_ns = front ? outbox_time_ns(node, front->since) : UINT64_MAX;
        bool nearly_full = thread->open_span > outbox_nearly_full(node);
        if (!front || (next && made_ns >= *since_ns && !nearly_full))
            continue;
        next = front;
        *thread_of = thread;
        *since_ns = made_ns;
        if (nearly_full)
            break;
    }
    return next;
}

/*
 * Gathers urgent spends, and others as the pace allows, at most `most`; true: the pace allows more.
 */
static bool gather_at_pace(struct node *node, uint32_t most)
{
    uint32_t before = outbox_listed(node), told;
    uint64_t since_ns;
    struct thread_state *thread;
    struct spend *next;
    earn_credit(node);
    gather_urgent(node);
    told = before - outbox_listed(node);
    uint64_t allowed = node->telling.credit / KEY_CREDIT;
    bool more = false;
    while ((next = next_spend(node, &thread, &since_ns)) != NULL &&
           (told < allowed || thread->open_span > outbox_nearly_full(node) || node->life.stopping ||
            node->now_ns - since_ns > PATIENCE_NS)) {
        more = told >= most;
        if (more)
            break;
        gather(node, next);
        outbox_skip_gaps(node, thread);
        told++;
    }
    uint64_t spent = told * KEY_CREDIT;
    node->telling.credit -= spent < node->telling.credit ? spent : node->telling.credit;
    return more;
}

bool tell_ahead(struct node *node)
{
    uint32_t part = node->step.keys / TELL_PART, room = node->batch_max - node->telling.count;
    uint32_t listed = outbox_listed(node);
    uint64_t closed = node->stats.batches_closed;
    if (todo_has(&node->todo, DO_MESSAGE) || node->life.stopping || part == 0)
        return false;
    bool more = gather_at_pace(node, part < room ? part : room);
    step_works(node, listed - outbox_listed(node));
    plan_next(node, more);
    bool is_full = node->telling.count == node->batch_max || node->stats.batches_closed > closed;
    if (more && !is_full) {
        node->telling.spans = true;
        return true;
    }
    if (node->telling.count < part && !is_full)
        return false;
    tell_gathered(node);
    todo_add(&node->todo, DO_MESSAGE);
    return true;
}

void tell_at_pace(struct node *node)
{
    if (node->life.stopping)
        wait_no_more(node, node->step.keys);
    if (todo_has(&node->todo, DO_MESSAGE))
        gather_urgent(node);
    else
        plan_next(node, gather_at_pace(node, node->step.keys));
    todo_drop(&node->todo, DO_MESSAGE);
    tell_gathered(node);
}

bool tell_some(struct node *node)
{
    if (outbox_count(node) <= node->step.keys) {
        tell_all(node);
        return true;
    }
    uint64_t since_ns;
    struct thread_state *thread;
    wait_no_more(node, node->step.keys);
    gather_urgent(node);
    for (uint32_t i = 0; i < node->step.keys && next_spend(node, &thread, &since_ns) != NULL; i++)
        gather_front(node, thread);
    tell_gathered(node);
    return false;
}

uint64_t outbox_age_ns(const struct node *node)
{
    uint64_t since_ns;
    struct thread_state *thread;
    uint64_t oldest_ns = next_spend(node, &thread, &since_ns) ? since_ns : node->now_ns;
    if (node->telling.count > 0 && node->telling.since_ns < oldest_ns)
        oldest_ns = node->telling.since_ns;
    uint64_t waits_ns = deferred_count(node) > 0 ? deferred_oldest_ns(node) : node->now_ns;
    return node->now_ns - (waits_ns < oldest_ns ? waits_ns : oldest_ns);
}

bool spent_is_settled(const struct node *node, uint64_t before_ns)
{
    return node->now_ns - outbox_age_ns(node) >= before_ns && origins_have_settled(node, before_ns);
}
