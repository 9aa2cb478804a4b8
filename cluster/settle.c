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

/* ---- what else was spent of a key ---- */

/*
 * Its last spend was recorded when the batch after `applied - n` ones was the next, by its trace. A batch that is no
 * older has it, if it has one of that key and left nothing untold: then there is no later one.
 */
static bool has_the_last(const struct origin *mine, const struct batch *batch, const struct entry *entry)
{
    uint64_t next = mine->applied + 1, behind = next - batch->last;
    uint32_t recorded = ((uint32_t)batch_trace(next) + BATCH_TRACES - entry->own_batch) % BATCH_TRACES;
    return batch->complete && entry->own_batch != 0 && behind < BATCH_TRACES && recorded >= behind;
}

static uint64_t untold_tokens(const struct node *node, const struct entry *entry)
{
    return is_in_open(node, entry) ? node->open[entry->open_index].tokens : 0;
}

/* What the batch has of the key, under the limit it has now or, if keys were converted, under any. */
static uint64_t tokens_in(const struct batch *batch, const struct entry *entry, bool any_limit)
{
    const struct spend *spend = any_limit ? NULL : batch_find(batch, entry->limit, entry->id);
    uint64_t tokens = spend ? spend->tokens : 0;
    for (uint32_t i = 0; i < batch->spend_count && any_limit; i = batch_next_limit(batch, i)) {
        spend = batch_find(batch, batch->spend[i].limit, entry->id);
        tokens += spend ? spend->tokens : 0;
    }
    return tokens;
}

/* Own spends of a key in batches other than `batch`, and untold ones. */
static uint64_t later_tokens(const struct node *node, const struct origin *origin, const struct batch *batch,
                             const struct entry *entry, bool any_limit)
{
    const struct origin *mine = &node->origin[node->my_slot];
    if (origin == mine && has_the_last(mine, batch, entry))
        return 0;
    uint64_t tokens = untold_tokens(node, entry);
    for (uint32_t i = 0; i < (node->incarnation_changes > 0 ? ORIGINS_MAX : 1); i++) {
        const struct origin *own = &node->origin[(node->my_slot + i) % ORIGINS_MAX];
        if (!own->uid || !own->mine)
            continue;
        for (struct list *at = own->log.next; at != &own->log; at = at->next) {
            const struct batch *other = LIST_OWNER(at, const struct batch, link);
            tokens += other == batch ? 0 : tokens_in(other, entry, any_limit);
        }
    }
    return tokens;
}

/*
 * All own spends that were told and are not settled, one per key, whatever its limit was then. Who settles many
 * batches at once, after a long silence, would search all of the log for each of their keys; this is made once and
 * knows the sums.
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
    return count;
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
    if (spend->credit > 0) /* what only now counts as given back, the store is told now */
        counters_touch(node, entry);
    node->stats.settled_tokens += spend->tokens;
}

/* `ledger` may be NULL. */
static void settle_spends(struct node *node, const struct origin *origin, const struct batch *batch,
                          const struct ledger *ledger, bool converted)
{
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        const struct spend *spend = &batch->spend[i];
        uint64_t later = ledger ? ledger_strike(ledger, spend) : 0;
        prefetch_spends(node, batch, i);
        struct entry *entry = entry_of_spend(node, spend, batch->at_ns);
        if (!entry)
            continue;
        if (ledger)
            later += untold_tokens(node, entry);
        else
            later = later_tokens(node, origin, batch, entry, converted);
        settle_spend(node, entry, batch, spend, later);
    }
    node->settle_ns = smooth(node->settle_ns, node->now_ns - batch->at_ns + node->options.interval_ns / 2);
}

void settle_up_to(struct node *node, struct origin *mine, uint64_t everywhere, bool at_once)
{
    struct ledger ledger = {0};
    uint64_t keys = 0;
    bool converted = false; /* a key since then: its spends stand under several limits */
    for (struct list *at = mine->log.next; at != &mine->log; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        if (batch->last > everywhere || (!at_once && keys + batch->spend_count > node->step_left && keys > 0))
            break;
        keys += batch->spend_count;
        converted |= node->converted_ns > 0 && batch_opened_ns(batch) <= node->converted_ns;
    }
    bool many = keys * mine->log_count > LEDGER_PAYS * mine->log_keys;
    bool has_ledger = many && ledger_init(&ledger, node);
    while (!list_empty(&mine->log)) {
        struct batch *batch = LIST_OWNER(mine->log.next, struct batch, link);
        if (batch->last > everywhere)
            break;
        if (!at_once && !step_has_time(node, batch->spend_count)) {
            node->settle_left = true;
            break;
        }
        step_works(node, batch->spend_count);
        settle_spends(node, mine, batch, has_ledger ? &ledger : NULL, converted);
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
    node->everywhere = everywhere;
    settle_up_to(node, &node->origin[node->my_slot], everywhere, false);
}
