#include "cluster/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    SMOOTHING = 8,
    LEDGER_PAYS = 16, /* sorting a spend costs about as much as so many looks for it */
};

static uint64_t smooth(uint64_t average, uint64_t sample)
{
    return average == 0 ? sample : average - average / SMOOTHING + sample / SMOOTHING;
}

/* ---- one's own batches ---- */

static bool has_credit(const struct batch *batch)
{
    for (uint32_t i = 0; i < batch->spend_count; i++)
        if (batch->spend[i].credit > 0)
            return true;
    return false;
}

void close_batch(struct node *node)
{
    if (node->open_count == 0)
        return;
    struct origin *mine = &node->origin[node->my_slot];
    struct depend depends[ORIGINS_MAX];
    uint32_t depend_count = 0;
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++)
        if (slot != node->my_slot && node->origin[slot].uid && node->origin[slot].applied > 0)
            depends[depend_count++] = (struct depend){node->origin[slot].uid, node->origin[slot].applied};
    struct batch *batch = batch_create(depend_count, node->open_count);
    assert(batch && "out of memory");
    memcpy(batch->depend, depends, depend_count * sizeof *depends);
    spends_sort(batch->spend, node->open, node->open_count, SPENDS_BY_LIMIT);
    batch->origin_uid = mine->uid;
    batch->first = batch->last = ++mine->applied;
    batch->at_ns = batch->arrived_ns = node->now_ns;
    batch->open_ns = node->now_ns > node->open_since_ns ? node->now_ns - node->open_since_ns : 0;
    if (!list_empty(&mine->log) &&
        has_credit(batch)) /* what it returns is as old as the oldest that is unsettled */
        batch->open_ns = node->now_ns - batch_opened_ns(LIST_OWNER(mine->log.next, struct batch, link));
    origin_log_append(node, mine, batch);
    node->open_count = 0;
    node->push_wanted = false;
    node->stats.batches_closed++;
    origins_compact(node);
}

/* Own spends of a key in batches other than `batch`, and in the open one; all under the limit it has now. */
static uint64_t later_tokens(const struct node *node, const struct origin *origin, const struct batch *batch,
                             const struct entry *entry)
{
    /* Most keys have no later spend, and their trace says so at once. */
    const struct origin *mine = &node->origin[node->my_slot];
    if (origin == mine && entry->own_batch == batch_trace(batch->last) && batch->first == batch->last &&
        mine->applied + 1 - batch->last < BATCH_TRACES)
        return 0;
    uint64_t tokens = is_in_open(node, entry) ? node->open[entry->open_index].tokens : 0;
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) {
        const struct origin *own = &node->origin[slot];
        if (!own->uid || !own->mine)
            continue;
        for (struct list *at = own->log.next; at != &own->log; at = at->next) {
            const struct batch *other = LIST_OWNER(at, const struct batch, link);
            const struct spend *spend = other == batch ? NULL : batch_find(other, entry->limit, entry->id);
            tokens += spend ? spend->tokens : 0;
        }
    }
    return tokens;
}

/*
 * All own spends that are not settled, one per key, whatever its limit was then. Who settles many batches at once,
 * after a long silence, would search all of the log for each of their keys; this is made once and knows the sums.
 */
struct ledger {
    struct spend *spend;
    size_t count;
};

/* How many own spends there are; copied to `to` unless it is NULL. */
static size_t own_spends(const struct node *node, struct spend *to)
{
    size_t count = 0;
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) {
        const struct origin *own = &node->origin[slot];
        if (!own->uid || !own->mine)
            continue;
        for (struct list *at = own->log.next; at != &own->log; at = at->next) {
            const struct batch *batch = LIST_OWNER(at, const struct batch, link);
            if (to)
                memcpy(to + count, batch->spend, batch->spend_count * sizeof *to);
            count += batch->spend_count;
        }
    }
    if (to)
        memcpy(to + count, node->open, node->open_count * sizeof *to);
    return count + node->open_count;
}

/* False without memory. */
static bool ledger_init(struct ledger *ledger, const struct node *node)
{
    size_t all = own_spends(node, NULL);
    struct spend *unsorted = malloc((all + 1) * sizeof *unsorted);
    ledger->count = 0;
    ledger->spend = malloc((all + 1) * sizeof *ledger->spend);
    if (!ledger->spend || !unsorted) {
        free(unsorted);
        free(ledger->spend);
        ledger->spend = NULL;
        return false;
    }
    (void)own_spends(node, unsorted);
    spends_sort(ledger->spend, unsorted, all, SPENDS_BY_ID);
    free(unsorted);
    for (size_t i = 0; i < all; i++) {
        struct spend *last = ledger->count > 0 ? &ledger->spend[ledger->count - 1] : NULL;
        if (last && spend_compare_ids(last, &ledger->spend[i]) == 0)
            spend_add(last, &ledger->spend[i], false); /* its expiry does not matter */
        else
            ledger->spend[ledger->count++] = ledger->spend[i];
    }
    return true;
}

static void ledger_close(struct ledger *ledger)
{
    free(ledger->spend);
    ledger->spend = NULL;
}

/* Strikes a spend off; what is left of its key. */
static uint64_t ledger_strike(const struct ledger *ledger, const struct spend *spend)
{
    struct spend *found = bsearch(spend, ledger->spend, ledger->count, sizeof *spend, spend_compare_ids);
    assert(found && found->tokens >= spend->tokens);
    found->tokens -= spend->tokens;
    return found->tokens;
}

/* The entry's bucket gains and loses by a batch that everybody has. */
static void settle_spend(struct node *node, struct entry *entry, const struct batch *batch,
                         const struct spend *spend, uint64_t later)
{
    const struct settlement settlement = {.tokens = spend->tokens,
                                          .credit = spend->credit,
                                          .later = later,
                                          .at_ns = batch->at_ns};
    int64_t lost = 0;
    if (spend->credit > spend->tokens)
        lost = lost_units(node, entry, spend->credit - spend->tokens, batch);
    else
        note_peak(node, entry);
    bucket_settle(&entry->bucket, &node->limits.limit[entry->limit], &node->budget[entry->limit], &settlement);
    entry->bucket.settled -= lost;
    node->stats.settled_tokens += spend->tokens;
}

/* `ledger` may be NULL. */
static void settle_spends(struct node *node, const struct origin *origin, const struct batch *batch,
                          const struct ledger *ledger)
{
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        const struct spend *spend = &batch->spend[i];
        uint64_t later = ledger ? ledger_strike(ledger, spend) : 0;
        prefetch_spends(node, batch, i);
        struct entry *entry = entry_of_spend(node, spend, batch->at_ns);
        if (!entry)
            continue;
        if (!ledger)
            later = later_tokens(node, origin, batch, entry);
        settle_spend(node, entry, batch, spend, later);
    }
    node->settle_ns = smooth(node->settle_ns, node->now_ns - batch->at_ns + node->options.interval_ns / 2);
}

void settle_up_to(struct node *node, struct origin *mine, uint64_t everywhere)
{
    struct ledger ledger = {0};
    uint64_t keys = 0;
    bool converted = false; /* a key since then: its spends stand under several limits */
    for (struct list *at = mine->log.next; at != &mine->log; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        if (batch->last > everywhere)
            break;
        keys += batch->spend_count;
        converted |= node->converted_ns > 0 && batch_opened_ns(batch) <= node->converted_ns;
    }
    bool many = converted || keys * mine->log_count > LEDGER_PAYS * (mine->log_keys + node->open_count);
    bool has_ledger = many && ledger_init(&ledger, node);
    while (!list_empty(&mine->log)) {
        struct batch *batch = LIST_OWNER(mine->log.next, struct batch, link);
        if (batch->last > everywhere)
            break;
        settle_spends(node, mine, batch, has_ledger ? &ledger : NULL);
        mine->forgotten = batch->last;
        origin_log_remove(node, mine, batch);
    }
    ledger_close(&ledger);
}

/*
 * What a peer says it has applied of ours counts only once all that it says it had spent itself, under this and
 * earlier incarnations, is applied here: otherwise the acknowledgement would overtake spends made before it.
 */
static bool acknowledgement_counts(const struct node *node, uint32_t index)
{
    const struct member *member = &node->member[index];
    if (origin_find(node, index, member->incarnation) < 0)
        return false;
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && origin->member == index && member->known[slot] > origin->applied)
            return false;
    }
    return true;
}

void settle_acknowledged(struct node *node)
{
    uint64_t everywhere = UINT64_MAX;
    for (uint32_t i = 0; i < NODE_PEERS_MAX; i++) {
        struct member *member = &node->member[i];
        if (!member_needed(member))
            continue;
        if (member->known[node->my_slot] > member->acknowledged && acknowledgement_counts(node, i))
            member->acknowledged = member->known[node->my_slot];
        if (member->acknowledged < everywhere)
            everywhere = member->acknowledged;
    }
    settle_up_to(node, &node->origin[node->my_slot], everywhere);
    if (node->log_full)
        origins_compact(node);
}
