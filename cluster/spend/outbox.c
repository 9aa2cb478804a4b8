/*
 * outbox keeps own spends that must be told, at most one for each key: in a ring for each thread of
 * requests. A told spend leaves a gap; places before the oldest untold spend are free again. Spends
 * that wait to be paid off come here only when their wait ends: see deferred_round.c.
 *
 * A thread begins a spend in its own ring. From then on the holder of the key's lock may change it,
 * until a step tells it, which runs alone. So a place turns from a gap into a spend once between
 * two steps. An outdated index may lead another thread there; that thread reads `untold` and half
 * of the id as atomics, and that half is written before `untold`.
 */
#include "cluster/spend/outbox.h"

#include "base/prefetch.h"
#include "cluster/codec/batch.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "cluster/state/thread_state.h"
#include "limit/kind.h"

#include <assert.h>
#include <stdlib.h>

enum {
    SLICE_KEYS = 2048, /* more keys in one batch would keep requests waiting */
    RING_PLACES_MAX = OPEN_INDEX_MAX + 1,
    RING_KEYS_MIN = 4 * CHARGES_MAX,
    /* the most keys that one request can evict or convert, or more */
    EVICTED_MAX = 8 * CHARGES_MAX,
    PACE_DEFAULT = 250000,
    NEARLY_FULL_PART = 16,
    NEAR_KEYS = 4096, /* so many untold spends are in the caches anyway */
    SINCE_SHIFT = 20, /* the unit of `since`: about a millisecond */
};

#define PACE_MAX UINT64_C(50000000)

bool outbox_create(struct node *node)
{
    const struct node_options *options = &node->options;
    uint64_t room = options->untold_max, most = RING_PLACES_MAX - (uint64_t)EVICTED_MAX * node->thread_count;
    if (room == 0)
        room = options->table_keys > 2 * (uint64_t)node->batch_max ? options->table_keys
                                                                   : 2 * (uint64_t)node->batch_max;
    uint64_t least = (uint64_t)RING_KEYS_MIN * node->thread_count;
    room = room < least ? least : room > most ? most : room;
    node->outbox.room = (uint32_t)(room / node->thread_count);
    node->outbox.places = node->outbox.room + EVICTED_MAX;
    node->telling.pace = options->tell_pace == 0         ? PACE_DEFAULT
                         : options->tell_pace < PACE_MAX ? options->tell_pace
                                                         : PACE_MAX;
    node->telling.slice_keys = node->batch_max < SLICE_KEYS ? node->batch_max : SLICE_KEYS;
    node->telling.push_keys = node->telling.slice_keys;
    node->telling.next_ns = UINT64_MAX;
    const size_t all = (size_t)node->outbox.places * node->thread_count;
    bool has_lists = true;
    /* zero pages that are not touched yet */
    node->outbox.spend = calloc(all, sizeof *node->outbox.spend);
    for (uint32_t i = 0; i < node->thread_count; i++) {
        node->thread[i].open = node->outbox.spend ? node->outbox.spend + (size_t)i * node->outbox.places : NULL;
        node->thread[i].urgent = calloc(all, sizeof *node->thread[i].urgent);
        has_lists &= node->thread[i].urgent != NULL;
    }
    node->telling.spend = calloc(node->batch_max, sizeof *node->telling.spend);
    node->telling.sorted = calloc(node->batch_max, sizeof *node->telling.sorted);
    return node->outbox.spend && has_lists && node->telling.spend && node->telling.sorted;
}

void outbox_destroy(struct node *node)
{
    for (uint32_t i = 0; i < node->thread_count; i++)
        free(node->thread[i].urgent);
    free(node->outbox.spend);
    free(node->telling.spend);
    free(node->telling.sorted);
}

static uint32_t place_of(const struct node *node, const struct thread_state *thread, uint32_t index)
{
    uint32_t behind = node->outbox.places - thread->open_first;
    return index < behind ? thread->open_first + index : index - behind;
}

static struct spend *spend_at(const struct node *node, const struct thread_state *thread, uint32_t index)
{
    return &thread->open[place_of(node, thread, index)];
}

bool outbox_has_open(const struct node *node, const struct entry *entry)
{
    return !deferred_has(node, entry) && is_in_ring(node, entry);
}

bool outbox_is_far(const struct node *node)
{
    return own_thread(node)->open_span > NEAR_KEYS;
}

void outbox_prefetch(const struct node *node, uint64_t slot_hint)
{
    uint32_t open_index;
    if (table_peek_open(node->table, slot_hint, &open_index) &&
        open_index < node->outbox.places * node->thread_count)
        prefetch_write(&node->outbox.spend[open_index]);
}

bool outbox_has_room(const struct node *node, uint32_t keys)
{
    return thread_has_room(node, own_thread(node), keys);
}

struct spend *outbox_open_spend(struct node *node, struct entry *entry)
{
    struct thread_state *thread = own_thread(node);
    if (outbox_has_open(node, entry))
        return &node->outbox.spend[entry->open_index];
    assert(thread->open_span < node->outbox.places);
    uint64_t since_ns = thread->spent_ns, tokens = 0;
    if (deferred_has(node, entry)) {
        since_ns = deferred_since_ns(node, entry);
        tokens = deferred_end(node, entry);
        if (thread->open_count == 0 || since_ns < thread->open_since_ns)
            thread->open_since_ns = since_ns;
    }
    struct spend *spend = spend_at(node, thread, thread->open_span++);
    thread->open_count++;
    entry->open_index = (uint32_t)(spend - node->outbox.spend) & OPEN_INDEX_MAX;
    /* The next batch that may tell the spend: gathered spends are of the one before. */
    entry->own_batch = batch_trace(node->origin[node->my_slot].applied + (node->telling.count > 0 ? 2 : 1));
    __atomic_store_n(&spend->id.low, entry->id.low, __ATOMIC_RELAXED);
    spend->id.high = entry->id.high;
    spend->tokens = tokens;
    spend->returned = spend->credit = 0;
    spend->granted = spend->spare = 0;
    spend->limit = entry->limit;
    spend->urgent = spend->orphan = false;
    spend->since = (uint32_t)(since_ns >> SINCE_SHIFT);
    spend->expires_ns = kind_expires(node->limits.limit[entry->limit].kind) ? entry->bucket.expires_ns : 0;
    __atomic_store_n(&spend->untold, true, __ATOMIC_RELEASE);
    return spend;
}

uint32_t outbox_listed(const struct node *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->thread_count; i++)
        count += node->thread[i].open_count;
    return count;
}

uint64_t outbox_span(const struct node *node)
{
    uint64_t span = 0;
    for (uint32_t i = 0; i < node->thread_count; i++)
        span += node->thread[i].open_span;
    return span;
}

uint32_t outbox_count(const struct node *node)
{
    return outbox_listed(node) + deferred_count(node) + node->telling.count;
}

void outbox_drop(struct node *node, struct spend *spend)
{
    struct thread_state *thread = &node->thread[(uint32_t)(spend - node->outbox.spend) / node->outbox.places];
    thread->open_count--;
    spend->untold = spend->urgent = false;
}

void outbox_skip_gaps(const struct node *node, struct thread_state *thread)
{
    while (thread->open_span > 0 && !thread->open[thread->open_first].untold) {
        thread->open_first = thread->open_first + 1 == node->outbox.places ? 0 : thread->open_first + 1;
        thread->open_span--;
    }
    if (thread->open_span == 0)
        thread->open_first = 0; /* so that little memory is touched while few spends are untold */
}

void outbox_visit(const struct node *node, void (*visit)(void *context, const struct spend *spend), void *context)
{
    for (uint32_t i = 0; i < node->thread_count; i++)
        for (uint32_t k = 0; k < node->thread[i].open_span; k++) {
            const struct spend *spend = spend_at(node, &node->thread[i], k);
            if (spend->untold)
                visit(context, spend);
        }
}

uint32_t outbox_nearly_full(const struct node *node)
{
    uint32_t part = node->outbox.room / NEARLY_FULL_PART, least = 2 * CHARGES_MAX;
    return node->outbox.room - (part > least ? part : least);
}

bool outbox_wants_push(const struct node *node)
{
    const struct thread_state *thread = own_thread(node);
    return thread->open_count >= node->telling.push_keys / node->thread_count ||
           thread->open_span > outbox_nearly_full(node);
}

bool is_in_outbox(const struct node *node, const struct entry *entry)
{
    return deferred_has(node, entry) || outbox_has_open(node, entry);
}

static void make_urgent(struct node *node, struct spend *spend)
{
    struct thread_state *thread = own_thread(node);
    if (spend->urgent)
        return;
    spend->urgent = true;
    thread->urgent[thread->urgent_count++] = (uint32_t)(spend - node->outbox.spend);
}

void outbox_urge(struct node *node, struct entry *entry)
{
    if (is_in_outbox(node, entry))
        make_urgent(node, outbox_open_spend(node, entry));
}

void outbox_urge_listed(struct node *node, uint64_t prefix, unsigned prefix_bits)
{
    const unsigned rest = 64 - prefix_bits;
    for (uint32_t i = 0; i < node->thread_count; i++)
        for (uint32_t k = 0; k < node->thread[i].open_span; k++) {
            struct spend *spend = spend_at(node, &node->thread[i], k);
            if (spend->untold && (prefix_bits == 0 || spend->id.high >> rest == prefix))
                make_urgent(node, spend);
        }
}

uint64_t outbox_time_ns(const struct node *node, uint32_t then)
{
    uint32_t age = (uint32_t)(node->now_ns >> SINCE_SHIFT) - then;
    uint64_t now = node->now_ns >> SINCE_SHIFT;
    if (age > UINT32_MAX / 2) /* the spend was made after the last step */
        return node->now_ns;
    return age < now ? (now - age) << SINCE_SHIFT : 0;
}

void outbox_check(const struct node *node)
{
    uint32_t urgent = 0, listed = 0;
    for (uint32_t i = 0; i < node->thread_count; i++) {
        const struct thread_state *thread = &node->thread[i];
        uint32_t untold = 0;
        assert(thread->open_span <= node->outbox.places && thread->open_first < node->outbox.places);
        for (uint32_t k = 0; k < thread->open_span; k++) {
            const struct spend *spend = spend_at(node, thread, k);
            assert(spend->untold || !spend->urgent);
            untold += spend->untold;
            urgent += spend->urgent;
        }
        assert(untold == thread->open_count);
        assert(thread->open_span == 0 || thread->open[thread->open_first].untold);
        listed += thread->urgent_count;
    }
    assert(urgent == listed && node->telling.count < node->batch_max);
    assert(node->telling.count == 0 || (todo_has(&node->todo, DO_PUBLISH) && !todo_has(&node->todo, DO_MESSAGE)));
}
