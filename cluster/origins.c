#include "cluster/state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { MERGE_PATIENCE_INTERVALS = 64 };

int origin_find(const struct node *node, uint32_t member, uint64_t incarnation)
{
    for (int i = 0; i < ORIGINS_MAX; i++) {
        const struct origin *origin = &node->origin[i];
        if (origin->uid && origin->member == member && origin->incarnation == incarnation)
            return i;
    }
    return -1;
}

int origin_find_uid(const struct node *node, uint32_t uid)
{
    for (int i = 0; i < ORIGINS_MAX; i++)
        if (node->origin[i].uid == uid)
            return i;
    return -1;
}

int origin_obtain(struct node *node, uint32_t member, uint64_t incarnation)
{
    int found = origin_find(node, member, incarnation);
    if (found >= 0)
        return found;
    if (incarnation == 0 || incarnation <= node->member[member].retired_incarnation)
        return -1;
    int slot = origin_find_uid(node, 0);
    if (slot < 0) {
        node->stats.limit_drops++;
        return -1;
    }
    struct origin *origin = &node->origin[slot];
    memset(origin, 0, sizeof *origin);
    origin->uid = ++node->last_uid;
    origin->member = member;
    origin->incarnation = incarnation;
    list_init(&origin->log);
    for (int m = 0; m < NODE_PEERS_MAX; m++) {
        node->member[m].known[slot] = 0;
        node->member[m].knows_ended[slot / 64] &= ~((uint64_t)1 << (slot % 64));
    }
    for (uint32_t p = 0; p < node->snapshot.page_count; p++)
        node->snapshot.page[p].applied[slot] = 0;
    return slot;
}

bool origin_is_ghost(const struct node *node, const struct origin *origin)
{
    const struct member *member = &node->member[origin->member];
    return origin->incarnation != member->incarnation || member->state == PEER_LEFT;
}

void origin_log_remove(struct node *node, struct origin *origin, struct batch *batch)
{
    assert(origin->log_count > 0 && origin->log_keys >= batch->spend_count);
    origin->log_count--;
    origin->log_keys -= batch->spend_count;
    node->log_keys -= batch->spend_count;
    batch_destroy(&batch);
}

void origin_log_append(struct node *node, struct origin *origin, struct batch *batch)
{
    /* A merged batch stands for those that it overlaps. */
    while (!list_empty(&origin->log)) {
        struct batch *newest = LIST_OWNER(origin->log.previous, struct batch, link);
        if (newest->first < batch->first)
            break;
        origin_log_remove(node, origin, newest);
    }
    list_insert_before(&origin->log, &batch->link);
    origin->log_count++;
    origin->log_keys += batch->spend_count;
    node->log_keys += batch->spend_count;
}

/* The highest number of `slot` that every needed member is known to have applied. */
static uint64_t known_everywhere(const struct node *node, uint32_t slot)
{
    uint64_t least = node->origin[slot].applied;
    for (int m = 0; m < NODE_PEERS_MAX; m++) {
        const struct member *member = &node->member[m];
        if (!member_needed(member) || (uint32_t)m == node->origin[slot].member)
            continue;
        if (member->known[slot] < least)
            least = member->known[slot];
    }
    return least;
}

/*
 * A ghost may go when nobody can learn anything new of it: all needed members, each having said itself that
 * this incarnation is over (so that it takes no late message of it), have what the best informed has.
 */
static bool ghost_is_done(const struct node *node, uint32_t slot)
{
    const struct origin *origin = &node->origin[slot];
    if (inbox_holds(node, origin->uid))
        return false;
    for (uint32_t o = 0; o < ORIGINS_MAX; o++) /* in order: a retired incarnation speaks for all before it */
        if (node->origin[o].uid && node->origin[o].member == origin->member &&
            node->origin[o].incarnation < origin->incarnation)
            return false;
    for (int m = 0; m < NODE_PEERS_MAX; m++) {
        const struct member *member = &node->member[m];
        if (!member_needed(member))
            continue;
        bool said_so = (member->knows_ended[slot / 64] >> (slot % 64) & 1) != 0;
        if (!said_so || member->known[slot] != origin->applied)
            return false;
    }
    return true;
}

static void forget_log_up_to(struct node *node, struct origin *origin, uint64_t stable)
{
    if (origin->mine)
        settle_up_to(node, origin, stable);
    while (!list_empty(&origin->log)) {
        struct batch *batch = LIST_OWNER(origin->log.next, struct batch, link);
        if (batch->last > stable)
            return;
        origin->forgotten = batch->last;
        origin_log_remove(node, origin, batch);
    }
}

static void retire(struct node *node, struct origin *origin)
{
    struct member *member = &node->member[origin->member];
    forget_log_up_to(node, origin, UINT64_MAX);
    if (member->retired_incarnation < origin->incarnation)
        member->retired_incarnation = origin->incarnation;
    memset(origin, 0, sizeof *origin);
}

/* A part of a snapshot that is on its way may be older than that, and is corrected by what is kept. */
void origins_forget_stable(struct node *node)
{
    if (node->snapshot.running)
        return;
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid)
            continue;
        /* Own batches leave the log by settling. */
        if (slot != node->my_slot)
            forget_log_up_to(node, origin, known_everywhere(node, slot));
        if (slot != node->my_slot && origin_is_ghost(node, origin) && ghost_is_done(node, slot))
            retire(node, origin);
    }
}

void origins_retire(struct node *node, uint32_t member, uint64_t incarnation)
{
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) {
        struct origin *origin = &node->origin[slot];
        if (origin->uid && slot != node->my_slot && origin->member == member && origin->incarnation <= incarnation)
            retire(node, origin);
    }
    if (node->member[member].retired_incarnation < incarnation)
        node->member[member].retired_incarnation = incarnation;
}

void origins_close(struct node *node)
{
    for (int slot = 0; slot < ORIGINS_MAX; slot++) {
        node->origin[slot].mine = false; /* nothing is left to settle in */
        if (node->origin[slot].uid)
            forget_log_up_to(node, &node->origin[slot], UINT64_MAX);
    }
}

/* ---- compaction ---- */

/*
 * Whoever is charged more than a full bucket and the declared debt together stands at the declared debt anyway; a LOG
 * lists no more than that either.
 */
static uint64_t clip_to_limit(const struct node *node, const struct spend *spend)
{
    const struct limit *limit = &node->limits.limit[spend->limit];
    uint64_t most = limit->capacity + limit->overshoot + spend->returned;
    return spend->tokens < most ? spend->tokens : most;
}

/* All spends of the run, one per key, in a new array; *count is how many. */
static struct spend *merged_spends(struct node *node, struct list *first, struct list *end, uint32_t *count)
{
    size_t total = 0;
    for (struct list *at = first; at != end; at = at->next)
        total += LIST_OWNER(at, struct batch, link)->spend_count;
    struct spend *spends = malloc((total + 1) * sizeof *spends), *unsorted = malloc((total + 1) * sizeof *spends);
    if (!spends || !unsorted) {
        free(spends);
        free(unsorted);
        return NULL;
    }
    size_t filled = 0;
    for (struct list *at = first; at != end; at = at->next) {
        const struct batch *batch = LIST_OWNER(at, struct batch, link);
        memcpy(unsorted + filled, batch->spend, batch->spend_count * sizeof *spends);
        filled += batch->spend_count;
    }
    spends_sort(spends, unsorted, filled, SPENDS_BY_LIMIT);
    free(unsorted);
    uint32_t kept = 0;
    for (size_t i = 0, next; i < filled; i = next) {
        struct spend sum = spends[i];
        for (next = i + 1; next < filled && spend_compare(&spends[next], &sum) == 0; next++)
            spend_add(&sum, &spends[next], node->limits.limit[sum.limit].kind == LIMIT_LOG);
        sum.tokens = clip_to_limit(node, &sum);
        spends[kept++] = sum;
    }
    *count = kept;
    return spends;
}

uint32_t batch_end(const struct node *node, const struct spend *spends, uint32_t from, uint32_t count)
{
    uint32_t groups = 0, end = from;
    for (; end < count && end - from < OPEN_KEYS_MAX; end++) {
        groups += end == from || spends[end].limit != spends[end - 1].limit;
        if (!batch_fits(node, end + 1 - from, groups))
            break;
    }
    return end;
}

/* Replaces the batches first..end (exclusive) of `origin` by as few as their keys need. False: nothing gained. */
static bool merge_run(struct node *node, struct origin *origin, struct list *first, struct list *end)
{
    uint32_t count = 0, batches = 0;
    const struct batch *oldest = LIST_OWNER(first, struct batch, link);
    const struct batch *newest = LIST_OWNER(end->previous, struct batch, link);
    uint64_t sequence = oldest->first, opened_ns = batch_opened_ns(oldest);
    for (struct list *at = first; at != end; at = at->next, batches++)
        if (batch_opened_ns(LIST_OWNER(at, struct batch, link)) < opened_ns)
            opened_ns = batch_opened_ns(LIST_OWNER(at, struct batch, link));
    struct spend *spends = merged_spends(node, first, end, &count);
    if (!spends)
        return false;
    uint32_t needed = 1;
    for (uint32_t at = batch_end(node, spends, 0, count); at < count; at = batch_end(node, spends, at, count))
        needed++;
    if (needed >= batches) {
        free(spends);
        return false;
    }
    for (uint32_t i = 0, from = 0, size; i < needed; i++, from += size) {
        size = batch_end(node, spends, from, count) - from;
        struct batch *merged = batch_create(newest->depend_count, size);
        assert(merged && "out of memory");
        memcpy(merged->spend, spends + from, size * sizeof *spends);
        memcpy(merged->depend, newest->depend, newest->depend_count * sizeof *merged->depend);
        merged->origin_uid = origin->uid;
        merged->first = sequence;
        merged->last = i + 1 == needed ? newest->last : sequence;
        sequence = merged->last + 1;
        merged->at_ns = newest->at_ns;
        merged->open_ns = newest->at_ns > opened_ns ? newest->at_ns - opened_ns : 0;
        merged->arrived_ns = newest->arrived_ns;
        merged->sent_ns = newest->sent_ns;
        merged->sends_count = newest->sends_count;
        list_insert_before(first, &merged->link);
        origin->log_count++;
        origin->log_keys += size;
        node->log_keys += size;
    }
    free(spends);
    for (struct list *at = first, *next; at != end; at = next) {
        next = at->next;
        origin_log_remove(node, origin, LIST_OWNER(at, struct batch, link));
    }
    node->stats.batches_compacted += batches;
    return true;
}

/* Merging across a number that some member has reached would make it apply the merged part twice. */
static bool somebody_stands_at(const struct node *node, uint32_t slot, uint64_t sequence)
{
    for (int m = 0; m < NODE_PEERS_MAX; m++)
        if (member_needed(&node->member[m]) && node->member[m].known[slot] == sequence)
            return true;
    return false;
}

enum merging { MERGE_WHAT_WAS_SENT, MERGE_ALL };

/*
 * Whoever hears us but is not heard may have applied all that was sent, and forgotten it. A batch that was never sent
 * reaches him as new while it stands alone; merged with those, it could not be told from them there.
 */
static bool may_merge(const struct node *node, uint32_t slot, const struct batch *left, const struct batch *right,
                      enum merging merging)
{
    bool sent_up_to_here = slot == node->my_slot && left->sends_count > 0 && right->sends_count == 0;
    return !(sent_up_to_here && merging == MERGE_WHAT_WAS_SENT) && !somebody_stands_at(node, slot, left->last);
}

static void compact_log(struct node *node, uint32_t slot, enum merging merging)
{
    struct origin *origin = &node->origin[slot];
    struct list *first = origin->log.next;
    while (first != &origin->log) {
        struct list *end = first->next;
        while (end != &origin->log && may_merge(node, slot, LIST_OWNER(end->previous, struct batch, link),
                                                LIST_OWNER(end, struct batch, link), merging))
            end = end->next;
        if (first->next != end)
            (void)merge_run(node, origin, first, end);
        first = end;
    }
}

/* The origin whose log is largest, this node's own included; -1 when all are empty. */
static int largest_log(const struct node *node)
{
    int largest = -1;
    for (int slot = 0; slot < ORIGINS_MAX; slot++)
        if (node->origin[slot].log_count > 1 &&
            (largest < 0 || node->origin[slot].log_keys > node->origin[largest].log_keys))
            largest = slot;
    return largest;
}

/* What others made is kept for convenience only: they have it as well. */
static void drop_what_others_made(struct node *node)
{
    for (uint32_t slot = 0; slot < ORIGINS_MAX && node->log_keys > node->options.log_keys_max; slot++) {
        struct origin *origin = &node->origin[slot];
        if (!origin->uid || slot == node->my_slot || origin_is_ghost(node, origin))
            continue;
        while (!list_empty(&origin->log) && node->log_keys > node->options.log_keys_max) {
            struct batch *oldest = LIST_OWNER(origin->log.next, struct batch, link);
            origin->dropped = oldest->last;
            origin_log_remove(node, origin, oldest);
            node->stats.limit_drops++;
        }
    }
}

/* Merging sorts all spends of a log: it is tried again when the log has grown by so much since, or after a while. */
static bool has_grown(uint64_t now, uint64_t then)
{
    return now > then + then / 16;
}

/* The largest logs first, until a quarter of the limit is free. */
static void merge_largest(struct node *node, enum merging merging)
{
    node->compacted_ns = node->now_ns;
    for (int rounds = 0; rounds < ORIGINS_MAX && node->log_keys > node->options.log_keys_max * 3 / 4; rounds++) {
        int slot = largest_log(node);
        uint64_t before = node->log_keys;
        if (slot >= 0)
            compact_log(node, (uint32_t)slot, merging);
        if (node->log_keys == before)
            break;
    }
    node->compacted_keys = node->log_keys;
}

static void merge_to_limit(struct node *node)
{
    merge_largest(node, MERGE_WHAT_WAS_SENT);
    if (node->log_keys > node->options.log_keys_max)
        merge_largest(node, MERGE_ALL);
}

static void merge_long_logs(struct node *node)
{
    for (uint32_t slot = 0; slot < ORIGINS_MAX; slot++) {
        struct origin *origin = &node->origin[slot];
        if (origin->log_count <= LOG_BATCHES_MAX)
            origin->merged_count = 0;
        if (origin->log_count <= LOG_BATCHES_MAX || !has_grown(origin->log_count, origin->merged_count))
            continue;
        node->compacted_ns = node->now_ns;
        compact_log(node, slot, MERGE_WHAT_WAS_SENT);
        origin->merged_count = origin->log_count;
    }
}

/* Merging takes time, and waits an interval; the limit holds at once. */
void origins_compact(struct node *node)
{
    bool merges = !node->compacted_ns || node->now_ns - node->compacted_ns >= node->options.interval_ns;
    if (node->log_keys <= node->options.log_keys_max) {
        node->log_full = false;
        node->compacted_keys = 0;
    }
    if (merges)
        merge_long_logs(node);
    if (node->log_keys <= node->options.log_keys_max)
        return;
    uint64_t patience_ns = MERGE_PATIENCE_INTERVALS * node->options.interval_ns;
    if (merges &&
        (has_grown(node->log_keys, node->compacted_keys) || node->now_ns - node->compacted_ns > patience_ns))
        merge_to_limit(node);
    drop_what_others_made(node);
    node->log_full = node->log_keys > node->options.log_keys_max;
}
