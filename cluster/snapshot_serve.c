#include "cluster/effects.h"
#include "cluster/parts.h"

#include <assert.h>
#include <stdlib.h>

enum {
    PAGE_HEAD_BYTES = 64,
    PAGE_SLOTS_MAX = 1 << 19, /* of the table, looked at for a page */
};

struct collection {
    const struct node *node;
    struct spend *numbers;
    uint32_t count, room;
};

static void collect(void *context, const struct entry *visited)
{
    struct collection *collection = context;
    const struct node *node = collection->node;
    const struct limit *limit = &node->limits.limit[visited->limit];
    /* The key itself, not a copy: what a LOG lists is one and the same. */
    struct entry *entry = table_find(node->table, visited->id);
    if ((limit->flags & LIMIT_SPLIT) != 0) /* a split key is nobody else's */
        return;
    bucket_refill(&entry->bucket, limit, &node->budget[entry->limit], node->now_ns);
    uint64_t number = bucket_number(&entry->bucket, limit);
    if (number == 0)
        return;
    if (collection->count < collection->room)
        collection->numbers[collection->count] =
            (struct spend){.id = entry->id,
                           .tokens = number,
                           .expires_ns = limit->kind == LIMIT_CELL ? entry->bucket.expires_ns : 0,
                           .limit = entry->limit};
    collection->count++;
}

static int by_limit(const void *a, const void *b)
{
    const struct spend *x = a, *y = b;
    return x->limit < y->limit ? -1 : x->limit > y->limit;
}

static size_t page_bytes(const struct spend *numbers, uint32_t count)
{
    return (size_t)count * NUMBER_ENCODED_MAX_BYTES +
           (size_t)spends_groups(numbers, count) * GROUP_ENCODED_MAX_BYTES;
}

static void urge(void *context, const struct entry *entry)
{
    untold_urge(context, entry);
}

/* As many as a step works on; of a table so large that these were too many pages, more. */
static uint32_t page_keys_max(const struct node *node)
{
    struct table_stats table;
    table_stats(node->table, &table);
    uint64_t fit = node->options.message_max_bytes / NUMBER_ENCODED_MAX_BYTES;
    uint64_t keys = table.used_keys / (PAGES_MAX / 4);
    keys = keys > node->step_keys ? keys : node->step_keys;
    return (uint32_t)(keys < fit ? keys : fit);
}

/*
 * Ids are hashes: the number of keys tells what a part holds without a look at all of them, and that of slots how long
 * a look would take.
 */
static bool is_too_large(const struct node *node, uint32_t bits)
{
    struct table_stats table;
    table_stats(node->table, &table);
    return bits < SNAPSHOT_PREFIX_BITS_MAX && (table.used_keys >> bits > 2 * (uint64_t)page_keys_max(node) ||
                                               table.capacity_keys >> bits > PAGE_SLOTS_MAX);
}

/* So that the page and the digest in the header speak of the same spends. What has too many keys is not given. */
static void urge_part(struct node *node, uint64_t prefix, uint32_t bits)
{
    if (!is_too_large(node, bits) && untold_count(node) > 0)
        table_visit(node->table, prefix, bits, urge, node);
}

static void serve_page(struct node *node, uint64_t prefix, uint32_t bits, struct effects *effects)
{
    struct message_writer writer;
    urge_part(node, prefix, bits);
    gossip_header(node, MESSAGE_REPLY);
    message_begin(&writer, effects, &node->header);
    message_begin_batches(&writer, 0);
    size_t head = message_size(&writer) + PAGE_HEAD_BYTES + MESSAGE_SEAL_BYTES;
    size_t room = node->options.message_max_bytes > head ? node->options.message_max_bytes - head : 0;
    struct collection page = {.node = node, .room = (uint32_t)(room / NUMBER_ENCODED_MAX_BYTES)};
    page.room = page.room < page_keys_max(node) ? page.room : page_keys_max(node);
    page.numbers = calloc(page.room + 1, sizeof *page.numbers);
    assert(page.numbers && "out of memory");
    bool split = is_too_large(node, bits);
    if (!split)
        table_visit(node->table, prefix, bits, collect, &page);
    step_works(node, page.count);
    split |= page.count > page.room && bits < SNAPSHOT_PREFIX_BITS_MAX;
    uint32_t count = split ? 0 : page.count < page.room ? page.count : page.room;
    qsort(page.numbers, count, sizeof *page.numbers, by_limit);
    while (count > 0 && page_bytes(page.numbers, count) > room) {
        split = bits < SNAPSHOT_PREFIX_BITS_MAX;
        count = split ? 0 : count / 2;
    }
    struct table_owed owed = {0};
    if (!split)
        table_owed(node->table, prefix, bits, node->now_ns, &owed);
    message_end_with_page(&writer, prefix, bits, split, &owed, page.numbers, count, &node->limits, node->now_ns);
    free(page.numbers);
    emit_message(node, &writer, EFFECT_REPLY, NULL);
    node->stats.snapshots_served++;
}

void snapshot_serve(struct node *node, const struct message *request, struct effects *effects)
{
    if (node->state == PEER_ACTIVE && !node->superseded && request->has_page) {
        serve_page(node, request->page_prefix, request->page_bits, effects);
        return;
    }
    struct message_writer writer;
    gossip_header(node, MESSAGE_REPLY);
    message_begin(&writer, effects, &node->header);
    message_begin_batches(&writer, 0);
    message_end(&writer);
    emit_message(node, &writer, EFFECT_REPLY, NULL);
}
