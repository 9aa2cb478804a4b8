/*
 * snapshot_serve answers a peer that asks for a part of this node's table. An answer has the digest
 * of the moment and the levels of the part's keys. Own spends that are told and not settled are
 * charged in full, as batches charge them. A part with too many keys for one answer is refused with
 * the advice to ask for its halves.
 */
#include "cluster/snapshot/snapshot_serve.h"

#include "base/array.h"
#include "base/number.h"
#include "cluster/apply/apply.h"
#include "cluster/apply/pages.h"
#include "cluster/apply/uncharged.h"
#include "cluster/codec/batch.h"
#include "cluster/codec/message_parts.h"
#include "cluster/log/aside.h"
#include "cluster/log/tell.h"
#include "cluster/members/header.h"
#include "cluster/members/stores.h"
#include "cluster/snapshot/snapshot_page.h"
#include "cluster/state/node_state.h"
#include "cluster/state/step.h"
#include "limit/kind.h"

#include <assert.h>
#include <stdlib.h>

enum {
    PAGE_HEAD_BYTES = 64,
    BEYOND_ENCODED_BYTES = 9, /* of an origin */
    PAGE_SLOTS_MAX = 1 << 19, /* the most slots of the table that one part looks at */
};

struct collection {
    const struct node *node;
    struct spend *numbers;
    uint32_t count, room;
    /* own spends of buckets, told and not settled, by id, in the order of batches */
    struct spend *own;
    uint32_t own_count;
    size_t own_room;
    struct number_parts *parts; /* of the logs among the numbers: see put_parts */
    uint32_t parts_count;
    size_t parts_room;
};

/* ---- own spends ---- */

/* `expires_ns` takes the time at which the batch was closed: buckets do not expire. */
static void add_own(struct collection *collection, const struct spend *spend, uint64_t at_ns)
{
    ARRAY_REQUIRE(collection->own, collection->own_room, collection->own_count + 1);
    collection->own[collection->own_count] = *spend;
    collection->own[collection->own_count++].expires_ns = at_ns;
}

/*
 * The refill that has paid off own spends here has refilled spends of others elsewhere, so settling
 * charges own spends in full. They count in full here, as they do in batches.
 */
static void gather_batch(struct collection *collection, struct batch *batch, uint64_t first, uint64_t last)
{
    for (uint32_t i = 0, end; i < batch->spend_count; i = end) {
        end = batch_next_limit(batch, i);
        bool is_bucket = kind_refills(collection->node->limits.limit[batch->spend[i].limit].kind);
        if (!is_bucket)
            continue;
        for (i = batch_first_from(batch, first, i, end); i < end && batch->spend[i].id.high <= last; i++)
            add_own(collection, &batch->spend[i], batch->at_ns);
    }
}

static void sort_own(struct collection *collection)
{
    struct spend *sorted = malloc(collection->own_count * sizeof *sorted);
    assert(sorted && "out of memory");
    spends_sort(sorted, collection->own, collection->own_count, SPENDS_BY_ID);
    free(collection->own);
    collection->own = sorted;
    collection->own_room = collection->own_count;
}

static void gather_own(struct collection *collection, uint64_t prefix, uint32_t bits)
{
    uint64_t first = bits == 0 ? 0 : prefix << (64 - bits);
    uint64_t last = bits == 0 ? UINT64_MAX : first | UINT64_MAX >> bits;
    for (uint32_t slot = 0; slot < collection->node->origin_end; slot++) {
        const struct origin *own = &collection->node->origin[slot];
        if (!own->mine)
            continue;
        LIST_EACH(const struct batch, batch, &own->log, link)
            batch_prefetch_found(batch);
        LIST_EACH(struct batch, batch, &own->log, link)
            gather_batch(collection, batch, first, last);
    }
    if (collection->own_count > 0)
        sort_own(collection);
}

/* The first of the key's own spends, or NULL, and the number of them. */
static const struct spend *own_of(const struct collection *collection, struct key_id id, uint32_t *count)
{
    struct spend key = {.id = id};
    uint32_t low = 0, high = collection->own_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (spend_compare_ids(&collection->own[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (*count = 0; low + *count < collection->own_count; ++*count)
        if (!key_id_equal(collection->own[low + *count].id, id))
            break;
    return *count > 0 ? &collection->own[low] : NULL;
}

static uint32_t own_keys(const struct collection *collection)
{
    uint32_t keys = 0;
    for (uint32_t i = 0; i < collection->own_count; i++)
        keys += i == 0 || !key_id_equal(collection->own[i].id, collection->own[i - 1].id);
    return keys;
}

/* The units that settling all of these own spends would charge to the key. */
static int64_t own_units(const struct node *node, const struct entry *entry, const struct spend *own,
                         uint32_t count)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    struct spend sum = {0};
    for (uint32_t i = 0; i < count; i++)
        spend_add(&sum, &own[i], false);
    uint64_t tokens = sum.tokens > sum.credit ? sum.tokens - sum.credit : 0;
    uint64_t most = limit->capacity + limit->overshoot;
    int64_t units = (int64_t)(tokens < most ? tokens : most) * limit->units_per_token;
    int64_t lowered = aside_lowers(node, entry, own, count);
    return lowered < units ? lowered : units;
}

/* ---- numbers ---- */

/*
 * When the spends of a log end, its own ones as well: whoever takes the part does not tell them apart. `credit` of the
 * number says where they stand, since numbers are sorted afterwards.
 */
static void put_parts(struct collection *collection, struct spend *number, const struct bucket *bucket)
{
    const struct node *node = collection->node;
    const struct limit *limit = &node->limits.limit[number->limit];
    struct events_part part[LOG_PARTS_MAX];
    ARRAY_REQUIRE(collection->parts, collection->parts_room, collection->parts_count + 1);
    number->credit = collection->parts_count;
    struct number_parts *parts = &collection->parts[collection->parts_count++];
    parts->count = events_parts(limit->events, &bucket->events, LOG_PARTS_MAX, part);
    for (uint32_t p = 0; p < parts->count; p++)
        parts->part[p] =
            (struct number_part){.left_ns = number_minus(part[p].at_ns + limit->period_ns, node->now_ns),
                                 .tokens = part[p].tokens};
}

static void put_number(struct collection *collection, struct key_id id, uint16_t limit, const struct bucket *bucket)
{
    const struct limit *of = &collection->node->limits.limit[limit];
    uint64_t number = bucket_number(bucket, of);
    if (number == 0)
        return;
    if (collection->count < collection->room) {
        struct spend *put = &collection->numbers[collection->count];
        *put = (struct spend){.id = id,
                              .tokens = number,
                              .expires_ns = kind_expires(of->kind) ? bucket->expires_ns : 0,
                              .limit = limit};
        if (kind_lists(of->kind))
            put_parts(collection, put, bucket);
    }
    collection->count++;
}

static void collect(void *context, const struct entry *visited)
{
    struct collection *collection = context;
    const struct node *node = collection->node;
    const struct limit *limit = &node->limits.limit[visited->limit];
    /* The key itself, not a copy: a copy of a LOG shares the list of the original. */
    struct entry *entry = table_find(node->table, visited->id);
    if ((limit->flags & LIMIT_SPLIT) != 0) /* a split key belongs to this node alone */
        return;
    bucket_refill(&entry->bucket, limit, &node->by_limit.budget[entry->limit], node->now_ns);
    struct bucket bucket = entry->bucket;
    uint32_t count = 0;
    const struct spend *own = kind_refills(limit->kind) ? own_of(collection, entry->id, &count) : NULL;
    int64_t units = count > 0 ? own_units(node, entry, own, count) : 0;
    if (units > bucket.unsettled || (count > 0 && aside_lowers(node, entry, own, count) < INT64_MAX))
        bucket.unsettled = units;
    put_number(collection, entry->id, entry->limit, &bucket);
}

/*
 * Own keys that are not in the table any more: they were full, or were evicted. Whoever takes the part holds what was
 * evicted against keys that it does not list, so a listed one starts from there.
 */
static void collect_absent(struct collection *collection)
{
    const struct node *node = collection->node;
    uint32_t count;
    for (uint32_t i = 0; i < collection->own_count; i += count) {
        const struct spend *own = own_of(collection, collection->own[i].id, &count);
        if (table_find(node->table, own->id))
            continue;
        struct entry absent = {.id = own->id, .limit = own->limit & (unsigned)LIMITS_MAX};
        table_start(node->table, own->id, own->limit, 0, node->now_ns, &absent.bucket);
        int64_t units = own_units(node, &absent, own, count);
        if (units > absent.bucket.unsettled)
            absent.bucket.unsettled = units;
        put_number(collection, own->id, own->limit, &absent.bucket);
    }
}

static int by_limit(const void *a, const void *b)
{
    const struct spend *x = a, *y = b;
    return x->limit < y->limit ? -1 : x->limit > y->limit;
}

/* Numbers mostly have one limit, and are sorted already. */
static void sort_by_limit(struct spend *numbers, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        if (numbers[i].limit < numbers[i - 1].limit) {
            qsort(numbers, count, sizeof *numbers, by_limit);
            return;
        }
    }
}

static size_t page_bytes(const struct spend *numbers, uint32_t count)
{
    return (size_t)count * NUMBER_ENCODED_MAX_BYTES +
           (size_t)spends_groups(numbers, count) * GROUP_ENCODED_MAX_BYTES;
}

/*
 * The parts of the logs among the numbers that are told, in their order. There are fewer parts of each where these
 * would be too many, and none where one of each is too many: whoever takes the part does without. Returns how many logs
 * there are.
 */
static uint32_t told_parts(const struct collection *collection, uint32_t count, size_t room_bytes,
                           struct number_parts *told)
{
    uint32_t logs = 0;
    for (uint32_t i = 0; i < count; i++)
        if (kind_lists(collection->node->limits.limit[collection->numbers[i].limit].kind))
            told[logs++] = collection->parts[collection->numbers[i].credit];
    const size_t room = room_bytes / PARTS_NUMBER_MAX_BYTES;
    const uint64_t most = number_least(PARTS_NUMBERS_MAX, room > 0 ? room - 1 : 0);
    for (uint32_t parts = LOG_PARTS_MAX; parts_numbers(told, logs) > most; parts /= 2) {
        if (parts == 1)
            return 0;
        parts_halve(told, logs);
    }
    return logs;
}

/*
 * Ids are hashes, so the counts of the whole table tell how many keys a part has, and how many
 * slots it takes to look at, without a visit to them.
 */
static bool is_too_large(const struct node *node, uint32_t bits)
{
    struct table_stats table;
    table_stats(node->table, &table);
    return bits < SNAPSHOT_PREFIX_BITS_MAX &&
           (table.used_keys >> bits > 2 * (uint64_t)snapshot_page_keys_max(node) ||
            table.capacity_keys >> bits > PAGE_SLOTS_MAX);
}

/* False: the part has too many keys for one answer. */
static bool gather_page(struct node *node, uint64_t prefix, uint32_t bits, struct collection *page)
{
    if (is_too_large(node, bits))
        return false;
    gather_own(page, prefix, bits); /* the table may lack most keys of own spends */
    if (bits < SNAPSHOT_PREFIX_BITS_MAX && own_keys(page) > 2 * snapshot_page_keys_max(node))
        return false;
    table_visit(node->table, prefix, bits, collect, page);
    collect_absent(page);
    return page->count <= page->room || bits == SNAPSHOT_PREFIX_BITS_MAX;
}

/* Writes what was gathered. Where that is too much for `room_bytes`, the content says that the part is split. */
static void end_page(const struct node *node, struct message_writer *writer, const struct collection *page,
                     struct page_content *content, size_t room_bytes)
{
    uint32_t count = content->split ? 0 : (uint32_t)number_least(page->count, page->room);
    sort_by_limit(page->numbers, count);
    while (count > 0 && page_bytes(page->numbers, count) > room_bytes) {
        content->split = content->bits < SNAPSHOT_PREFIX_BITS_MAX;
        count = content->split ? 0 : count / 2;
    }
    struct number_parts *parts = calloc(page->parts_count + 1, sizeof *parts);
    assert(parts && "out of memory");
    content->numbers = page->numbers;
    content->number_count = count;
    content->parts = parts;
    content->parts_count = told_parts(page, count, room_bytes - page_bytes(page->numbers, count), parts);
    if (content->parts_count > 0) /* the field of the parts stands behind that of `beyond`, which may be all zero */
        content->beyond_count = node->header.origin_count;
    if (!content->split)
        table_owed(node->table, content->prefix, content->bits, node->now_ns, &content->owed);
    message_end_with_page(writer, content, &node->limits, node->now_ns);
    free(parts);
}

static void serve_page(struct node *node, uint64_t prefix, uint32_t bits, struct effects *effects)
{
    struct message_writer writer;
    apply_begun(node);
    uncharged_charge(node);
    if (!is_too_large(node, bits)) /* a part that is too large is not given */
        /* so that the part and the digest in the header have the same spends */
        tell_urge_part(node, prefix, bits);
    uint32_t slots[ORIGINS_MAX];
    header_begin_slots(node, MESSAGE_REPLY, slots);
    message_begin(&writer, effects, &node->header);
    message_begin_batches(&writer, 0);
    uint64_t beyond[ORIGINS_MAX] = {0};
    const struct page part = {.prefix = prefix, .bits = bits};
    struct page_content content = {.prefix = prefix, .bits = bits, .beyond = beyond};
    content.beyond_count = pages_beyond(node, &part, slots, node->header.origin_count, beyond);
    const size_t head = message_size(&writer) + PAGE_HEAD_BYTES +
                        node->header.origin_count * (size_t)BEYOND_ENCODED_BYTES + MESSAGE_SEAL_BYTES;
    const size_t room = node->options.message_max_bytes > head ? node->options.message_max_bytes - head : 0;
    struct collection page = {.node = node, .room = (uint32_t)(room / NUMBER_ENCODED_MAX_BYTES)};
    page.room = page.room < snapshot_page_keys_max(node) ? page.room : snapshot_page_keys_max(node);
    page.numbers = calloc(page.room + 1, sizeof *page.numbers);
    assert(page.numbers && "out of memory");
    content.split = !gather_page(node, prefix, bits, &page);
    step_works(node, page.count);
    end_page(node, &writer, &page, &content, room);
    free(page.numbers);
    free(page.own);
    free(page.parts);
    header_emit(node, &writer, EFFECT_REPLY);
    node->stats.snapshots_served++;
}

void snapshot_serve(struct node *node, const struct message *request, struct effects *effects)
{
    bool of_store = stores_may_be_given(node);
    if ((node->life.state == PEER_ACTIVE || of_store) && !node->life.superseded && request->has_page) {
        node->stores.asked_ns = of_store ? node->now_ns : node->stores.asked_ns;
        serve_page(node, request->page_prefix, request->page_bits, effects);
        return;
    }
    struct message_writer writer;
    header_begin(node, MESSAGE_REPLY);
    message_begin(&writer, effects, &node->header);
    message_begin_batches(&writer, 0);
    message_end(&writer);
    header_emit(node, &writer, EFFECT_REPLY);
}
