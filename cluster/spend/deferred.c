/*
 * deferred keeps spends that wait to be paid off by refill, key by key. The entry of the key is marked
 * and says how many tokens wait; there is no other record. deferred_round.c goes round the table and ends the
 * wait of keys; it has the argument why such spends need not be told.
 */
#include "cluster/spend/deferred.h"

#include "cluster/spend/deferred_mark.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "limit/kind.h"

#include <assert.h>

enum { CAREFUL_ROUNDS = LOOKS_MAX + 3 }; /* no key waits for so many rounds without a new spend */

_Static_assert(ROUNDS > LOOKS_MAX + 2, "it is known when what waits began to");

int64_t soon_paid_units(const struct node *node, const struct limit *limit, uint64_t share)
{
    if (!kind_refills(limit->kind) || node->sharing.alone || (limit->flags & LIMIT_SPLIT) != 0)
        return -1;
    int64_t units;
    if (__builtin_mul_overflow(node->options.interval_ns / limit->tick_ns, limit->units_per_tick, &units) ||
        units > limit->capacity_units)
        units = limit->capacity_units;
    return units_times(units, share);
}

void deferred_note_limit(struct node *node, uint32_t index)
{
    uint64_t tick_ns = node->limits.limit[index].tick_ns;
    if (node->by_limit.soon_units[index] > 0 && tick_ns > node->waits.tick_ns)
        node->waits.tick_ns = tick_ns;
}

void deferred_carefully(struct node *node)
{
    for (uint32_t i = 0; i < WAIT_PARTS; i++)
        node->waits.part[i].careful = CAREFUL_ROUNDS;
}

bool deferred_has(const struct node *node, const struct entry *entry)
{
    return table_is_marked(node->table, entry);
}

bool deferred_more(struct node *node, struct entry *entry, uint64_t tokens)
{
    const struct table_mark mark = table_mark_of(node->table, entry);
    const bool waits = table_mark_is_set(mark);
    if (!waits && is_in_ring(node, entry))
        return false; /* these tokens are told with the spend in the ring */
    if (tokens > WAITING_TOKENS_MAX - (waits ? deferred_mark_tokens(entry) : 0))
        return false;
    if (!waits) {
        deferred_mark_begin(entry);
        own_thread(node)->waits_more++;
    }
    deferred_mark_add(entry, (int64_t)tokens);
    table_mark_set(mark);
    return true;
}

void deferred_less(struct entry *entry, uint64_t tokens)
{
    assert(tokens + deferred_mark_noted(entry) <= deferred_mark_tokens(entry));
    deferred_mark_add(entry, -(int64_t)tokens);
}

/* The begin of the round so many visits ago; the last visit may have been in this round. */
uint64_t deferred_began_ns(const struct node *node, uint32_t visits)
{
    return node->waits.began_ns[(node->waits.round - visits - 1) % ROUNDS];
}

/* The first visit does not look at the entry. */
static uint32_t visits_of(const struct node *node, const struct entry *entry)
{
    return table_is_marked_long(node->table, entry) ? deferred_mark_looks(entry) + 1 : 0;
}

uint64_t deferred_since_ns(const struct node *node, const struct entry *entry)
{
    return deferred_began_ns(node, visits_of(node, entry));
}

uint64_t deferred_end(struct node *node, struct entry *entry)
{
    uint64_t tokens = deferred_mark_tokens(entry);
    table_unmark(node->table, entry);
    entry->open_index = 0; /* a look at place 0 of the ring is cheap */
    own_thread(node)->waits_more--;
    return tokens;
}

uint32_t deferred_count(const struct node *node)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->thread_count; i++)
        count += node->thread[i].waits_more;
    return count;
}

uint64_t deferred_oldest_ns(const struct node *node)
{
    const uint32_t *most = node->waits.visits_most;
    return deferred_began_ns(node, most[0] > most[1] ? most[0] : most[1]);
}

void deferred_check(const struct node *node)
{
    uint32_t count = 0;
    uint64_t place = 0;
    const struct entry *entry;
    for (; (entry = table_find_marked(node->table, &place, table_places(node->table))) != NULL; count++)
        assert(table_find(node->table, entry->id) == entry);
    assert(count == deferred_count(node));
}
