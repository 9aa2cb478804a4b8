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
    memcpy(batch->spend, node->open, node->open_count * sizeof *node->open);
    batch_sort(batch);
    batch->origin_uid = mine->uid;
    batch->first = batch->last = ++mine->applied;
    batch->at_ns = batch->arrived_ns = node->now_ns;
    origin_log_append(node, mine, batch);
    node->open_count = 0;
    node->push_wanted = false;
    node->stats.batches_closed++;
    origins_compact(node);
}

/* Own spends of a key in batches other than `batch`, and in the open one. */
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
 * All own spends that are not settled, one per key. Who settles many batches at once, after a long silence, would
 * search all of the log for each of their keys; this is made once and knows the sums.
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
    ledger->count = 0;
    ledger->spend = malloc((all + 1) * sizeof *ledger->spend);
    if (!ledger->spend)
        return false;
    (void)own_spends(node, ledger->spend);
    qsort(ledger->spend, all, sizeof *ledger->spend, spend_compare);
    for (size_t i = 0; i < all; i++) {
        struct spend *last = ledger->count > 0 ? &ledger->spend[ledger->count - 1] : NULL;
        if (last && spend_compare(last, &ledger->spend[i]) == 0)
            last->tokens += ledger->spend[i].tokens;
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
    struct spend *found = bsearch(spend, ledger->spend, ledger->count, sizeof *spend, spend_compare);
    assert(found && found->tokens >= spend->tokens);
    found->tokens -= spend->tokens;
    return found->tokens;
}

/* `ledger` may be NULL. */
static void settle_spends(struct node *node, const struct origin *origin, const struct batch *batch,
                          const struct ledger *ledger)
{
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        const struct spend *spend = &batch->spend[i];
        const struct limit *limit = &node->limits.limit[spend->limit];
        struct entry *entry = table_obtain(node->table, spend->id, spend->limit, batch->at_ns);
        if (entry->limit != spend->limit)
            continue;
        uint64_t later = ledger ? ledger_strike(ledger, spend) : later_tokens(node, origin, batch, entry);
        bucket_settle(&entry->bucket, limit, &node->budget[spend->limit], spend->tokens, later, batch->at_ns);
        node->stats.settled_tokens += spend->tokens;
    }
    node->settle_ns = smooth(node->settle_ns, node->now_ns - batch->at_ns + node->options.interval_ns / 2);
}

void settle_up_to(struct node *node, struct origin *mine, uint64_t everywhere)
{
    struct ledger ledger = {0};
    uint64_t keys = 0;
    for (struct list *at = mine->log.next; at != &mine->log; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        if (batch->last > everywhere)
            break;
        keys += batch->spend_count;
    }
    bool many = keys * mine->log_count > LEDGER_PAYS * (mine->log_keys + node->open_count);
    bool has_ledger = many && ledger_init(&ledger, node);
    while (!list_empty(&mine->log)) {
        struct batch *batch = LIST_OWNER(mine->log.next, struct batch, link);
        if (batch->last > everywhere)
            break;
        settle_spends(node, mine, batch, has_ledger ? &ledger : NULL);
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

/* ---- batches of others ---- */

/* What of a merged batch's spend was applied before it was merged, as far as the log still tells. */
static uint64_t charged_already(const struct origin *origin, const struct batch *batch, const struct spend *of)
{
    uint64_t tokens = 0;
    if (batch->first > origin->applied)
        return 0;
    for (struct list *at = origin->log.next; at != &origin->log; at = at->next) {
        const struct batch *applied = LIST_OWNER(at, const struct batch, link);
        if (applied->first < batch->first)
            continue;
        const struct spend *spend = batch_find(applied, of->limit, of->id);
        tokens += spend ? spend->tokens : 0;
    }
    return tokens < of->tokens ? tokens : of->tokens;
}

static void apply_batch(struct node *node, uint32_t slot, struct batch *batch)
{
    struct origin *origin = &node->origin[slot];
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        const struct spend *spend = &batch->spend[i];
        if (snapshot_contains(node, spend->id, slot, batch->last))
            continue;
        const struct limit *limit = &node->limits.limit[spend->limit];
        struct entry *entry = table_obtain(node->table, spend->id, spend->limit, batch->at_ns);
        if (entry->limit != spend->limit) { /* an id has one limit: whoever told us of two is mistaken */
            node->stats.limit_drops++;
            continue;
        }
        uint64_t fresh = spend->tokens - charged_already(origin, batch, spend);
        bucket_charge(&entry->bucket, limit, &node->budget[spend->limit], fresh, batch->at_ns);
        entry->last_spender = (uint8_t)(origin->member + 1);
        int64_t left = entry->bucket.settled - entry->bucket.unsettled;
        if (-left > node->worst_debt_units[spend->limit])
            node->worst_debt_units[spend->limit] = -left;
        tokens += fresh;
    }
    origin->applied = batch->last;
    node->member[origin->member].demand_tokens += tokens;
    node->stats.batches_applied++;
    node->stats.applied_tokens += tokens;
}

static bool depends_are_met(const struct node *node, const struct batch *batch)
{
    for (uint32_t i = 0; i < batch->depend_count; i++) {
        int slot = origin_find_uid(node, batch->depend[i].origin_uid);
        if (slot >= 0 && (uint32_t)slot != node->my_slot && batch->depend[i].seq > node->origin[slot].applied)
            return false;
    }
    return true;
}

/* One pass over what waits; true if something was applied. */
static bool inbox_pass(struct node *node)
{
    bool applied = false;
    for (struct list *at = node->inbox.next, *next; at != &node->inbox; at = next) {
        next = at->next;
        struct batch *batch = LIST_OWNER(at, struct batch, link);
        int slot = origin_find_uid(node, batch->origin_uid);
        if (slot < 0 || batch->last <= node->origin[slot].applied) {
            node->inbox_count--;
            node->inbox_keys -= batch->spend_count;
            batch_destroy(&batch);
        } else if (batch->first <= node->origin[slot].applied + 1 && depends_are_met(node, batch)) {
            list_remove(&batch->link);
            node->inbox_count--;
            node->inbox_keys -= batch->spend_count;
            apply_batch(node, (uint32_t)slot, batch);
            origin_log_append(node, &node->origin[slot], batch);
            applied = true;
        }
    }
    return applied;
}

bool inbox_drain(struct node *node)
{
    bool applied = false;
    if (node->state != PEER_JOINING || node->snapshot.done)
        while (inbox_pass(node))
            applied = true;
    if (applied) {
        origins_compact(node);
        snapshot_forget_pages(node);
    }
    return applied;
}

static bool inbox_has(const struct node *node, uint32_t uid, uint64_t first, uint64_t last)
{
    for (struct list *at = node->inbox.next; at != &node->inbox; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, const struct batch, link);
        if (batch->origin_uid == uid && batch->first == first && batch->last == last)
            return true;
    }
    return false;
}

/* The batch of a record, with its spends under known limits and its dependencies under known origins. */
static struct batch *batch_of_record(struct node *node, const struct message *message,
                                     const struct batch_record *record, const int *origin_map, uint32_t uid)
{
    struct batch *batch = batch_create(message->origin_count, record->spend_count);
    if (!batch)
        return NULL;
    struct number_reader reader = {.groups = record->groups};
    struct number_record number;
    batch->spend_count = 0;
    int limit = -1;
    uint32_t limit_id = 0;
    while (number_next(&reader, &number)) {
        if (limit < 0 || number.limit_id != limit_id) {
            limit_id = number.limit_id;
            limit = limit_set_find_id(&node->limits, limit_id);
        }
        if (limit < 0) {
            node->stats.limit_drops++;
            continue;
        }
        uint64_t tokens = number.number < LIMIT_CAPACITY_MAX ? number.number : LIMIT_CAPACITY_MAX;
        batch->spend[batch->spend_count++] =
            (struct spend){.id = number.id, .tokens = tokens, .limit = (uint16_t)limit};
    }
    batch->depend_count = 0;
    for (uint32_t o = 0; o < message->origin_count; o++)
        if (record->depends[o] > 0 && origin_map[o] >= 0 && o != record->origin)
            batch->depend[batch->depend_count++] =
                (struct depend){node->origin[origin_map[o]].uid, record->depends[o]};
    batch->origin_uid = uid;
    batch->first = record->first;
    batch->last = record->last;
    batch->at_ns = node->now_ns > record->age_ns ? node->now_ns - record->age_ns : 0;
    batch->arrived_ns = node->now_ns;
    return batch;
}

/* A batch that stands for several and cannot be applied: its dependencies may have been merged past us. */
static bool is_stuck_merge(const struct node *node, const struct batch *batch, uint32_t slot)
{
    return batch->first < batch->last &&
           (batch->first > node->origin[slot].applied + 1 || !depends_are_met(node, batch));
}

static void take_record(struct node *node, const struct message *message, const struct batch_record *record,
                        const int *origin_map, bool *applied)
{
    int slot = origin_map[record->origin];
    if (slot < 0 || (uint32_t)slot == node->my_slot || record->last <= node->origin[slot].applied ||
        inbox_has(node, node->origin[slot].uid, record->first, record->last)) {
        node->stats.batches_duplicate++;
        return;
    }
    if (record->spend_count > OPEN_KEYS_MAX) {
        node->stats.messages_invalid++;
        return;
    }
    struct batch *batch = batch_of_record(node, message, record, origin_map, node->origin[slot].uid);
    if (!batch)
        return;
    if (is_stuck_merge(node, batch, (uint32_t)slot))
        node->snapshot_wanted = true;
    /* What can be applied at once needs no place; of what waits, whoever holds it sends it again. */
    bool next = batch->first <= node->origin[slot].applied + 1 && depends_are_met(node, batch);
    if (!next && (node->inbox_count >= INBOX_BATCHES_MAX || node->inbox_keys > node->options.log_keys_max)) {
        node->stats.limit_drops++;
        batch_destroy(&batch);
        return;
    }
    list_insert_before(&node->inbox, &batch->link);
    node->inbox_count++;
    node->inbox_keys += batch->spend_count;
    if (next)
        *applied |= inbox_drain(node);
}

bool receive_batches(struct node *node, const struct message *message, const int *member_map)
{
    int origin_map[ORIGINS_MAX];
    struct batch_record record;
    bool applied = false;
    for (uint32_t o = 0; o < message->origin_count; o++) {
        int member = member_map[message->origins[o].member];
        origin_map[o] = member < 0 ? -1 : origin_find(node, (uint32_t)member, message->origins[o].incarnation);
    }
    for (uint32_t i = 0; i < message->batch_count; i++) {
        if (!message_batch(message, i, &record)) {
            node->stats.messages_invalid++;
            break;
        }
        take_record(node, message, &record, origin_map, &applied);
    }
    return inbox_drain(node) || applied;
}
