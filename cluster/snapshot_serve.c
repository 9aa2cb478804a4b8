#include "cluster/effects.h"
#include "cluster/state.h"

#include <assert.h>
#include <stdlib.h>

enum { NUMBER_ENCODED_MAX_BYTES = 16 + 9 };

struct collection {
    const struct node *node;
    struct spend *numbers;
    uint32_t count, room;
};

static void collect(void *context, const struct entry *entry)
{
    struct collection *collection = context;
    const struct limit *limit = &collection->node->limits.limit[entry->limit];
    struct bucket bucket = entry->bucket;
    bucket_refill(&bucket, limit, &collection->node->budget[entry->limit], collection->node->now_ns);
    uint64_t full_in_ns = bucket_number(&bucket, limit);
    if (full_in_ns == 0)
        return;
    if (collection->count < collection->room)
        collection->numbers[collection->count] =
            (struct spend){.id = entry->id, .tokens = full_in_ns, .limit = entry->limit};
    collection->count++;
}

static int by_limit(const void *a, const void *b)
{
    const struct spend *x = a, *y = b;
    return x->limit < y->limit ? -1 : x->limit > y->limit;
}

/* Closing the own batch first makes the page and the digest in the header speak of the same spends. */
static void serve_page(struct node *node, uint64_t prefix, uint32_t bits, struct effects *effects)
{
    struct message_writer writer;
    close_batch(node);
    gossip_header(node, MESSAGE_REPLY);
    message_begin(&writer, effects, &node->header);
    message_begin_batches(&writer, 0);
    size_t head = message_size(&writer) + NAMED_LIMITS_MAX * 16 + MESSAGE_SEAL_BYTES;
    size_t room = node->options.message_max_bytes > head ? node->options.message_max_bytes - head : 0;
    struct collection page = {.node = node, .room = (uint32_t)(room / NUMBER_ENCODED_MAX_BYTES)};
    struct table_stats table;
    page.numbers = calloc(page.room + 1, sizeof *page.numbers);
    assert(page.numbers && "out of memory");
    /* Ids are hashes, so that the number of keys tells what a part holds without a look at all of them. */
    table_stats(node->table, &table);
    bool split = table.used_keys >> bits > 2 * (uint64_t)page.room;
    if (!split)
        table_visit(node->table, prefix, bits, collect, &page);
    split |= page.count > page.room && bits < SNAPSHOT_PREFIX_BITS_MAX;
    uint32_t count = split ? 0 : page.count < page.room ? page.count : page.room;
    qsort(page.numbers, count, sizeof *page.numbers, by_limit);
    struct table_owed owed = {0};
    if (!split)
        table_owed(node->table, prefix, bits, node->now_ns, &owed);
    message_end_with_page(&writer, prefix, bits, split, owed.refill_ns, page.numbers, count, &node->limits);
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
