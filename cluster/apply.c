#include "cluster/parts.h"

#include <string.h>

void prefetch_spends(const struct node *node, const struct batch *batch, uint32_t index)
{
    if (index + TAGS_AHEAD < batch->spend_count)
        table_prefetch_tags(node->table, batch->spend[index + TAGS_AHEAD].id);
    if (index + SLOTS_AHEAD < batch->spend_count) {
        struct key_id id = batch->spend[index + SLOTS_AHEAD].id;
        table_prefetch(node->table, id);
        peaks_prefetch(&node->peaks, id);
    }
}

/* What of a merged batch's spend was applied before it was merged, as far as the log still tells. */
static struct spend applied_already(const struct origin *origin, const struct batch *batch, const struct spend *of)
{
    struct spend applied = {.id = of->id, .limit = of->limit};
    for (struct list *at = origin->log.next; at != &origin->log; at = at->next) {
        const struct batch *other = LIST_OWNER(at, const struct batch, link);
        if (other->first < batch->first)
            continue;
        const struct spend *spend = batch_find(other, of->limit, of->id);
        if (spend)
            spend_add(&applied, spend, false);
    }
    return applied;
}

/* The log tells all that is applied of a batch that reaches back. */
static bool log_covers(const struct origin *origin, const struct batch *batch)
{
    uint64_t covered = batch->first;
    for (struct list *at = origin->log.next; at != &origin->log; at = at->next) {
        const struct batch *applied = LIST_OWNER(at, const struct batch, link);
        if (applied->first == covered && !batch_is_beside(applied, batch))
            covered = applied->last + 1;
    }
    return covered > origin->applied;
}

/*
 * The rest. Only the sum of both figures counts, so that one may be made up for by the other. If the log does not tell
 * all (not `covered`), more may be charged than the rest, but nothing that was heeded before is given back once more.
 */
static struct spend fresh_part(const struct origin *origin, const struct batch *batch, const struct spend *spend,
                               bool covered)
{
    struct spend fresh = *spend, applied = applied_already(origin, batch, spend);
    if (!covered) {
        fresh.tokens -= applied.tokens < fresh.tokens ? applied.tokens : fresh.tokens;
        fresh.returned = 0;
        return fresh;
    }
    fresh.tokens += applied.returned;
    fresh.returned += applied.tokens;
    uint64_t both = fresh.tokens < fresh.returned ? fresh.tokens : fresh.returned;
    if (applied.tokens == 0 && applied.returned == 0)
        return *spend;
    fresh.tokens -= both;
    fresh.returned -= both;
    return fresh;
}

/* A bucket that is not there has been full until then. A LOG begins with what an evicted one had used, as of now. */
struct entry *entry_of_spend(struct node *node, const struct spend *spend, uint64_t at_ns)
{
    enum limit_kind kind = node->limits.limit[spend->limit].kind;
    if (kind == LIMIT_CELL && spend->expires_ns <= node->now_ns)
        return table_find(node->table, spend->id);
    return table_obtain(node->table, spend->id, spend->limit, spend->expires_ns,
                        kind == LIMIT_LOG ? node->now_ns : at_ns);
}

int64_t lost_units(struct node *node, const struct entry *entry, uint64_t tokens, const struct batch *batch)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (limit->kind != LIMIT_BUCKET || tokens == 0)
        return 0;
    struct bucket now = entry->bucket;
    bucket_refill(&now, limit, &node->budget[entry->limit], node->now_ns);
    uint64_t age_ns = node->now_ns - batch_opened_ns(batch);
    int64_t units = tokens < limit->capacity ? (int64_t)tokens * limit->units_per_token : limit->capacity_units;
    return units - peaks_credit(&node->peaks, entry->id, &now, limit, units, age_ns, node->now_ns);
}

void note_peak(struct node *node, const struct entry *entry)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (limit->kind != LIMIT_BUCKET)
        return;
    struct bucket now = entry->bucket;
    bucket_refill(&now, limit, &node->budget[entry->limit], node->now_ns);
    peaks_note(&node->peaks, entry->id, &now, limit, node->now_ns);
}

/* The same key may have got another limit here than where it was spent from: a token is a token. */
static void apply_spend(struct node *node, struct entry *entry, const struct batch *batch,
                        const struct spend *spend)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->budget[entry->limit];
    uint64_t returned = spend->returned;
    int64_t lost = 0;
    if (limit->kind == LIMIT_CELL && spend->expires_ns > entry->bucket.expires_ns)
        entry->bucket.expires_ns = spend->expires_ns; /* somebody's clock is behind: his window is not over */
    if (limit->kind == LIMIT_LOG)
        returned = spend->expires_ns > node->now_ns ? returned : 0;
    else if (returned > spend->tokens)
        lost = lost_units(node, entry, returned - spend->tokens, batch);
    else
        note_peak(node, entry);
    bucket_apply(&entry->bucket, limit, budget, spend->tokens, returned, batch->at_ns);
    entry->bucket.settled -= lost;
    int64_t left = entry->bucket.settled - entry->bucket.unsettled;
    if (-left > node->worst_debt_units[entry->limit])
        node->worst_debt_units[entry->limit] = -left;
}

static void apply_batch(struct node *node, uint32_t slot, struct batch *batch)
{
    struct origin *origin = &node->origin[slot];
    bool is_new = batch->first > origin->applied, has_pages = node->snapshot.page_count > 0;
    bool has_untold = untold_count(node) > 0;
    uint64_t tokens = 0;
    bool covered = is_new || log_covers(origin, batch);
    for (uint32_t i = 0; i < batch->spend_count; i++) {
        const struct spend *spend = &batch->spend[i];
        prefetch_spends(node, batch, i);
        tell_for_room(node);
        uint64_t there = has_pages ? snapshot_contains(node, spend->id, slot) : 0;
        bool contained = there >= batch->last;
        struct spend fresh = is_new ? *spend : fresh_part(origin, batch, spend, covered);
        fresh.returned = there >= batch->first ? 0 : fresh.returned; /* it may be in the page's figures already */
        struct entry *entry =
            contained ? table_find(node->table, spend->id) : entry_of_spend(node, spend, batch->at_ns);
        if (entry && has_untold) /* own spends of the key that are older than our knowing of this one */
            untold_urge(node, entry);
        if (!entry || contained || (fresh.tokens == 0 && fresh.returned == 0))
            continue;
        apply_spend(node, entry, batch, &fresh);
        entry->last_spender = (origin->member + 1) & 0x7f;
        counters_touch(node, entry);
        tokens += fresh.tokens;
    }
    bool goes_on = batch->part + 1 < batch->parts;
    origin->merge = goes_on ? batch->merge : 0;
    origin->next_part = goes_on ? batch->part + 1 : 0;
    if (!goes_on)
        origin->applied = batch->last;
    step_works(node, batch->spend_count);
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

/*
 * A merged batch may reach back to what is applied here already. If the log still tells what that was, only the
 * rest is charged. If not (it came with a snapshot), another snapshot is exact where charging all of it would count
 * it twice; when none is to be had for long, counting twice is the safe side. One that has been asked for is awaited:
 * asking ends by itself.
 */
static bool is_next(struct node *node, const struct origin *origin, const struct batch *batch)
{
    /* What has begun goes on: until its last part is applied, none of it counts as applied. */
    if (origin->next_part > 0)
        return batch->merge == origin->merge && batch->part == origin->next_part;
    if (batch->parts > 0 && (batch->part > 0 || !inbox_has_all(node, batch)))
        return false;
    if (batch->first > origin->applied)
        return batch->first == origin->applied + 1;
    if (log_covers(origin, batch))
        return true;
    node->snapshot_wanted = true;
    return !node->snapshot.running && inbox_waited_long(node, batch);
}

static bool is_its_turn(const struct node *node, uint32_t slot, const struct batch *batch)
{
    return depends_are_met(node, batch) || origin_has_begun(&node->origin[slot], batch) ||
           inbox_breaks_ring(node, batch);
}

/* What is kept whatever the limit, since its maker is gone, comes when merging has made room, or could not. */
static bool waits_for_room(const struct node *node, uint32_t slot)
{
    const struct origin *origin = &node->origin[slot];
    return compact_comes_first(node) && origin_is_ghost(node, origin) && origin->next_part == 0;
}

/* What stands before it was lost with the crash of its maker: nobody has it, nobody can make it again. */
static bool is_orphan(const struct node *node, uint32_t slot, const struct batch *batch)
{
    const struct origin *origin = &node->origin[slot];
    if (!origin_is_ghost(node, origin) || origin_has_begun(origin, batch) || !inbox_waited_long(node, batch))
        return false;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]) && node->member[i].known[slot] > origin->applied)
            return false;
    return true;
}

/* One pass over what waits, until there is no time; true if something was applied. */
static bool inbox_pass(struct node *node)
{
    bool applied = false;
    for (struct list *at = node->inbox.next, *next; at != &node->inbox && !node->apply_left; at = next) {
        next = at->next;
        struct batch *batch = LIST_OWNER(at, struct batch, link);
        int slot = origin_find_uid(node, batch->origin_uid);
        if (slot < 0 || batch->last <= node->origin[slot].applied || is_orphan(node, (uint32_t)slot, batch)) {
            inbox_take(node, batch);
            batch_destroy(&batch);
        } else if (is_next(node, &node->origin[slot], batch) && is_its_turn(node, (uint32_t)slot, batch)) {
            if (waits_for_room(node, (uint32_t)slot)) {
                node->apply_waits = true;
                continue;
            }
            if (!step_has_time(node, batch->spend_count)) {
                node->apply_left = true;
                break;
            }
            inbox_take(node, batch);
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
        while (!node->apply_left && inbox_pass(node))
            applied = true;
    if (applied)
        snapshot_forget_pages(node);
    return applied;
}

int limit_of_terms(struct node *node, const struct limit_terms *terms)
{
    struct error error;
    if ((terms->flags & LIMIT_SPLIT) != 0)
        return -1; /* nobody tells of such spends */
    return node_intern_limit(node, terms, &error);
}

/* A message whose batches are taken in. */
struct arrival {
    const struct message *message;
    const int *origin_map;
    uint64_t made_ns; /* or later */
};

/*
 * When what is said to end in `live_ns` does. A message is older than it looks: cells are kept for too long rather than
 * forgotten too early, and a LOG's returns, which nobody may heed too late, are taken to be as old as they can be.
 */
static uint64_t end_of(const struct node *node, const struct arrival *arrival, const struct number_record *number)
{
    if (number->terms.kind == LIMIT_LOG)
        return arrival->made_ns > 0 ? arrival->made_ns + number->live_ns : 0;
    return number->terms.kind == LIMIT_CELL ? node->now_ns + number->live_ns : 0;
}

/* What it had been open for when it was made, and what it was on its way for: nothing in it is older. */
static uint64_t open_of(const struct node *node, const struct arrival *arrival, const struct batch *batch,
                        const struct batch_record *record)
{
    uint64_t open_ns;
    if (__builtin_add_overflow(record->open_ns, node->now_ns - arrival->made_ns, &open_ns))
        return batch->at_ns;
    return open_ns < batch->at_ns ? open_ns : batch->at_ns;
}

/* The batch of a record, with its spends under known limits and its dependencies under known origins. */
static struct batch *batch_of_record(struct node *node, const struct arrival *arrival,
                                     const struct batch_record *record, uint32_t uid)
{
    const struct message *message = arrival->message;
    struct batch *batch = batch_create(message->origin_count, record->spend_count);
    if (!batch)
        return NULL;
    struct number_reader reader = {.groups = record->groups};
    struct number_record number;
    batch->spend_count = 0;
    int limit = -1;
    uint32_t group = UINT32_MAX;
    while (number_next(&reader, &number)) {
        if (number.group != group)
            limit = limit_of_terms(node, &number.terms);
        group = number.group;
        if (limit < 0) {
            node->stats.limit_drops++;
            continue;
        }
        batch->spend[batch->spend_count++] = (struct spend){
            .id = number.id,
            .tokens = number.number < SPEND_TOKENS_MAX ? number.number : SPEND_TOKENS_MAX,
            .returned = number.returned < SPEND_TOKENS_MAX ? number.returned : SPEND_TOKENS_MAX,
            .expires_ns = end_of(node, arrival, &number),
            .limit = (uint16_t)limit,
        };
    }
    batch_sort(batch);
    batch->depend_count = 0;
    for (uint32_t o = 0; o < message->origin_count; o++)
        if (record->depends[o] > 0 && arrival->origin_map[o] >= 0 && o != record->origin)
            batch->depend[batch->depend_count++] =
                (struct depend){node->origin[arrival->origin_map[o]].uid, record->depends[o]};
    batch->origin_uid = uid;
    batch->first = record->first;
    batch->last = record->last;
    batch->merge = record->merge;
    batch->part = record->part;
    batch->parts = record->parts;
    batch->at_ns = node->now_ns > record->age_ns ? node->now_ns - record->age_ns : 0;
    batch->open_ns = open_of(node, arrival, batch, record);
    batch->arrived_ns = node->now_ns;
    return batch;
}

/* A batch that stands for several and cannot be applied: its dependencies may have been merged past us. */
static bool is_stuck_merge(const struct node *node, const struct batch *batch, uint32_t slot)
{
    return batch->first < batch->last &&
           (batch->first > node->origin[slot].applied + 1 || !depends_are_met(node, batch));
}

static bool is_applied_part(const struct origin *origin, const struct batch_record *record)
{
    return origin->next_part > 0 && record->merge == origin->merge && record->part < origin->next_part;
}

static void take_record(struct node *node, const struct arrival *arrival, const struct batch_record *record,
                        bool *applied)
{
    int slot = arrival->origin_map[record->origin];
    if (slot < 0 || (uint32_t)slot == node->my_slot || record->last <= node->origin[slot].applied ||
        inbox_has(node, node->origin[slot].uid, record) || is_applied_part(&node->origin[slot], record)) {
        node->stats.batches_duplicate++;
        return;
    }
    if (record->spend_count > OPEN_KEYS_MAX) {
        node->stats.messages_invalid++;
        return;
    }
    struct batch *batch = batch_of_record(node, arrival, record, node->origin[slot].uid);
    if (!batch)
        return;
    if (is_stuck_merge(node, batch, (uint32_t)slot))
        node->snapshot_wanted = true;
    step_works(node, batch->spend_count);
    /* What can be applied at once needs no place; of what waits, whoever holds it sends it again. */
    bool next = !node->apply_left && is_next(node, &node->origin[slot], batch) && depends_are_met(node, batch) &&
                !waits_for_room(node, (uint32_t)slot);
    bool wanted = next || ((batch->parts == 0 || inbox_wants_part(node, batch)) && inbox_make_room(node, batch));
    if (!wanted) {
        node->stats.limit_drops++;
        batch_destroy(&batch);
        return;
    }
    inbox_put(node, batch);
    if (next)
        *applied |= inbox_drain(node);
}

bool receive_batches(struct node *node, const struct message *message, const int *member_map, uint64_t made_ns)
{
    int origin_map[ORIGINS_MAX];
    struct batch_record record;
    bool applied = false;
    for (uint32_t o = 0; o < message->origin_count; o++) {
        int member = member_map[message->origins[o].member];
        origin_map[o] = member < 0 ? -1 : origin_find(node, (uint32_t)member, message->origins[o].incarnation);
    }
    const struct arrival arrival = {.message = message, .origin_map = origin_map, .made_ns = made_ns};
    for (uint32_t i = 0; i < message->batch_count; i++) {
        if (!message_batch(message, i, &record)) {
            node->stats.messages_invalid++;
            break;
        }
        take_record(node, &arrival, &record, &applied);
    }
    return inbox_drain(node) || applied;
}
