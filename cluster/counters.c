#include "cluster/effects.h"
#include "cluster/state.h"

#include <stdlib.h>

/*
 * Keys whose limits are persistent stand in a ring from the moment when they change until the store is told. Where
 * the ring is full, own spends of other keys are refused; those of others are left out: whoever made them tells his
 * own store.
 */
enum {
    COUNTERS_PER_STEP = 4096, /* the rest in the next interval */
    RING_KEYS_MAX = 1 << 20,
};

bool counters_create(struct node *node)
{
    uint64_t keys = node->options.table_keys < RING_KEYS_MAX ? node->options.table_keys : RING_KEYS_MAX;
    node->changed.room = (uint32_t)keys;
    node->changed.id = calloc(keys, sizeof *node->changed.id);
    return node->changed.id != NULL;
}

bool counters_have_room(const struct node *node, const struct entry *entry)
{
    return (node->limits.limit[entry->limit].flags & LIMIT_PERSISTENT) == 0 || entry->dirty ||
           node->changed.count < node->changed.room;
}

void counters_touch(struct node *node, struct entry *entry)
{
    struct changed *changed = &node->changed;
    if ((node->limits.limit[entry->limit].flags & LIMIT_PERSISTENT) == 0 || entry->dirty)
        return;
    if (changed->count == changed->room) {
        node->stats.limit_drops++;
        return;
    }
    changed->id[(changed->first + changed->count++) % changed->room] = entry->id;
    entry->dirty = 1;
}

void counters_emit(struct node *node, struct effects *effects)
{
    struct changed *changed = &node->changed;
    for (int i = 0; i < COUNTERS_PER_STEP && changed->count > 0; i++) {
        struct key_id id = changed->id[changed->first];
        changed->first = (changed->first + 1) % changed->room;
        changed->count--;
        struct entry *entry = table_find(node->table, id);
        if (!entry || !entry->dirty)
            continue;
        const struct limit *limit = &node->limits.limit[entry->limit];
        entry->dirty = 0;
        if ((limit->flags & LIMIT_PERSISTENT) == 0)
            continue;
        bucket_refill(&entry->bucket, limit, &node->budget[entry->limit], node->now_ns);
        const struct counter counter = {
            .terms = limit_terms_of(limit),
            .id = id,
            .number = bucket_number(&entry->bucket, limit),
            .expires_ns = limit->kind == LIMIT_CELL ? entry->bucket.expires_ns : 0,
        };
        effects_counter(effects, &counter);
    }
}

/* A quarter of the ring stays free: until it has been told, new spends need it. */
static void retell(void *context, const struct entry *visited)
{
    struct node *node = context;
    if (node->changed.count < node->changed.room - node->changed.room / 4)
        counters_touch(node, table_find(node->table, visited->id));
}

void counters_retell(struct node *node)
{
    table_visit(node->table, 0, 0, retell, node);
}

static void restore_one(struct node *node, const struct counter *counter, uint64_t now_ns)
{
    struct error error;
    int limit = node_intern_limit(node, &counter->terms, &error);
    bool cell = counter->terms.kind == LIMIT_CELL;
    if (limit < 0) {
        node->stats.limit_drops++;
        return;
    }
    if (counter->number == 0 || (cell && counter->expires_ns <= now_ns))
        return;
    struct entry *entry = table_obtain(node->table, counter->id, (uint16_t)limit, counter->expires_ns, now_ns);
    if (entry->limit != limit)
        return; /* told twice under different limits: the first one holds */
    const struct limit *of = &node->limits.limit[limit];
    bucket_refill(&entry->bucket, of, &node->budget[limit], now_ns);
    bucket_lower_to(&entry->bucket, of, counter->number, now_ns);
}

void counters_restore(struct node *node, const struct counter *counters, size_t count)
{
    for (size_t i = 0; i < count; i++)
        restore_one(node, &counters[i], node->now_ns);
}
