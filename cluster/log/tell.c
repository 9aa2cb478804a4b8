/*
 * tell makes batches of untold spends: oldest first, and at a pace. Urgent spends must not wait: they are told before
 * other spends, and before any message leaves that acknowledges spends of other peers. tell says which spends gather.c
 * takes, and when. It sends nothing: publish.c does.
 */
#include "cluster/log/tell.h"

#include "cluster/log/gather.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "cluster/state/step.h"

enum {
    CREDIT_INTERVALS = 2,
    /* so many places in rings are read in the time of a part of the table: see tell_urge_part */
    URGE_STEPS = 16,
    TELL_PART = 4, /* this part of a step's keys is gathered at once: see tell_ahead */
};

/* the cost of telling one key; the pace earns credit in this unit */
#define KEY_CREDIT UINT64_C(1000000000)
#define TELL_GAP_NS UINT64_C(1000000)
#define PATIENCE_NS UINT64_C(4000000000)

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
void tell_urge_part(struct node *node, uint64_t prefix, unsigned prefix_bits)
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
        (void)outbox_open_spend(node, entry);
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
    if (gather_urgent_count(node) >= node->step.keys)
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
        gather_spend(node, next);
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
