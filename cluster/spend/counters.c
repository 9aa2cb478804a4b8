/*
 * counters keeps the keys of persistent limits that the store must be told of: in a ring for each
 * thread, from their first change until the store is told. When a ring is full, own spends of further
 * keys are refused. Spends of other peers are charged all the same and not told: their makers tell
 * their own stores. The figures are read when the store is told, not when the key changes.
 */
#include "cluster/spend/counters.h"

#include "cluster/codec/effects.h"
#include "cluster/spend/spenders.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "cluster/state/step.h"
#include "limit/kind.h"

#include <stdlib.h>

enum {
    COUNTERS_PER_STEP = 4096, /* the next interval tells further keys */
    /* of logs, one step looks at about so many to say when they end; further logs are told by the last one alone */
    EVENTS_PER_STEP = 1 << 14,
    RING_KEYS_MAX = 1 << 20,
    /* of ids: this many bits cut the table into parts that are visited one after the other */
    RETELL_BITS_MAX = 32,
};

bool counters_create(struct node *node)
{
    uint64_t keys = node->options.table_keys < RING_KEYS_MAX ? node->options.table_keys : RING_KEYS_MAX;
    bool created = true;
    for (uint32_t i = 0; i < node->thread_count; i++) {
        struct changed *changed = &node->thread[i].changed;
        changed->room = (uint32_t)((keys + node->thread_count - 1) / node->thread_count);
        changed->id = calloc(changed->room, sizeof *changed->id);
        created &= changed->id != NULL;
    }
    return created;
}

void counters_destroy(struct node *node)
{
    for (uint32_t i = 0; i < node->thread_count; i++)
        free(node->thread[i].changed.id);
}

bool counters_have_room(const struct node *node, const struct entry *entry)
{
    const struct changed *changed = &own_thread(node)->changed;
    return (node->limits.limit[entry->limit].flags & LIMIT_PERSISTENT) == 0 || entry->dirty ||
           changed->count < changed->room;
}

static void mark_dirty_in(struct node *node, struct thread_state *thread, struct entry *entry)
{
    struct changed *changed = &thread->changed;
    if ((node->limits.limit[entry->limit].flags & LIMIT_PERSISTENT) == 0 || entry->dirty)
        return;
    if (changed->count == changed->room) {
        thread->limit_drops++;
        return;
    }
    changed->id[(changed->first + changed->count++) % changed->room] = entry->id;
    entry->dirty = 1;
}

void counters_mark_dirty(struct node *node, struct entry *entry)
{
    mark_dirty_in(node, own_thread(node), entry);
}

static uint64_t ends_ns(const struct limit *limit, const struct bucket *bucket)
{
    if (kind_lists(limit->kind))
        return bucket->events.newest == 0
                   ? 0
                   : number_sum(events_at(limit->events, bucket->events.newest)->at_ns, limit->period_ns);
    return kind_expires(limit->kind) ? bucket->expires_ns : 0;
}

/* When the tokens of a log end. Those that end together, or with the last one, need no parts. */
static uint32_t parts_of(const struct limit *limit, const struct bucket *bucket, struct counter_part *parts)
{
    struct events_part part[COUNTER_PARTS_MAX];
    if (bucket->events.newest == bucket->events.oldest)
        return 0;
    const uint32_t count = events_parts(limit->events, &bucket->events, COUNTER_PARTS_MAX, part);
    for (uint32_t i = 0; i < count; i++)
        parts[i] =
            (struct counter_part){.ends_ns = number_sum(part[i].at_ns, limit->period_ns), .tokens = part[i].tokens};
    return count > 1 ? count : 0;
}

/* `with_parts`: this step has time to say when the tokens of a log end. */
static void emit_one(struct node *node, struct key_id id, bool with_parts, struct effects *effects)
{
    struct counter_part parts[COUNTER_PARTS_MAX];
    struct entry *entry = table_find(node->table, id);
    if (!entry || !entry->dirty)
        return;
    const struct limit *limit = &node->limits.limit[entry->limit];
    entry->dirty = 0;
    if ((limit->flags & LIMIT_PERSISTENT) == 0)
        return;
    bucket_refill(&entry->bucket, limit, &node->by_limit.budget[entry->limit], node->now_ns);
    const struct counter counter = {
        .terms = limit_terms_of(limit),
        .id = id,
        .number = bucket_number(&entry->bucket, limit),
        .expires_ns = ends_ns(limit, &entry->bucket),
        .part_count = with_parts && kind_lists(limit->kind) ? parts_of(limit, &entry->bucket, parts) : 0,
    };
    effects_counter(effects, &counter, parts);
}

bool counters_emit(struct node *node, struct effects *effects)
{
    uint32_t most = COUNTERS_PER_STEP / node->thread_count;
    const uint64_t looked = events_looked();
    bool all = true;
    for (uint32_t i = 0; i < node->thread_count; i++) {
        struct changed *changed = &node->thread[i].changed;
        for (uint32_t k = 0; k < most && changed->count > 0; k++) {
            struct key_id id = changed->id[changed->first];
            changed->first = (changed->first + 1) % changed->room;
            changed->count--;
            emit_one(node, id, events_looked() - looked < EVENTS_PER_STEP, effects);
        }
        all &= changed->count == 0;
    }
    return all;
}

/* A quarter of each ring stays free for new spends until all keys are told. */
static void retell(void *context, const struct entry *visited)
{
    struct node *node = context;
    for (uint32_t i = 0; i < node->thread_count; i++) {
        struct thread_state *thread = &node->thread[i];
        if (thread->changed.count < thread->changed.room - thread->changed.room / 4) {
            mark_dirty_in(node, thread, table_find(node->table, visited->id));
            return;
        }
    }
}

void counters_retell(struct node *node)
{
    node->retelling.bits = 0;
    while (node->retelling.bits < RETELL_BITS_MAX &&
           table_places(node->table) >> node->retelling.bits > node->step.keys)
        node->retelling.bits++;
    node->retelling.next = 0;
    todo_add(&node->todo, DO_RETELL);
}

void counters_step(struct node *node)
{
    uint64_t places = table_places(node->table) >> node->retelling.bits;
    while (todo_has(&node->todo, DO_RETELL) && step_has_time(node, places)) {
        table_visit(node->table, node->retelling.next, node->retelling.bits, retell, node);
        step_works(node, places);
        todo_put(&node->todo, DO_RETELL, ++node->retelling.next >> node->retelling.bits == 0);
    }
}

/*
 * The tokens of a log that have not ended, each until its part does. The store knows nobody's times but those of the
 * parts: without them all tokens count as the last of them.
 */
static void restore_log(const struct limit *limit, struct bucket *bucket, const struct counter *counter,
                        const struct counter_part *parts, uint64_t now_ns)
{
    struct events_part part[COUNTER_PARTS_MAX];
    struct log_told told = {.parts = part};
    uint64_t left = 0, at_ns = UINT64_MAX;
    for (uint32_t i = 0; i < counter->part_count && i < COUNTER_PARTS_MAX && parts[i].ends_ns > now_ns; i++) {
        at_ns = number_least(at_ns, number_minus(parts[i].ends_ns, limit->period_ns));
        part[told.count++] = (struct events_part){.at_ns = at_ns, .tokens = parts[i].tokens};
        left = number_sum(left, parts[i].tokens);
    }
    if (told.count > 0)
        bucket_lower_log(bucket, limit, bucket_level_of(limit, number_least(left, counter->number)), &told, now_ns);
    else
        bucket_lower_to(bucket, limit, counter->number,
                        number_least(now_ns, number_minus(counter->expires_ns, limit->period_ns)));
}

static void restore_one(struct node *node, const struct counter *counter, const struct counter_part *parts,
                        uint64_t now_ns)
{
    struct error error;
    int limit = node_intern_limit(node, &counter->terms, &error);
    const bool ends = kind_expires(counter->terms.kind) || kind_lists(counter->terms.kind);
    if (limit < 0) {
        node->stats.limit_drops++;
        return;
    }
    if (counter->number == 0 || (ends && counter->expires_ns <= now_ns))
        return;
    struct entry *entry =
        table_obtain_nobodys(node->table, counter->id, (uint16_t)limit, counter->expires_ns, now_ns);
    if (entry->limit != limit)
        return; /* the store has the key under two limits: the first one counts */
    const struct limit *of = &node->limits.limit[limit];
    bucket_refill(&entry->bucket, of, &node->by_limit.budget[limit], now_ns);
    const int64_t before = entry->bucket.settled;
    entry->several |= of->of_tiers; /* the store does not know which tiers the key had */
    if (kind_lists(of->kind))
        restore_log(of, &entry->bucket, counter, parts, now_ns);
    else
        bucket_lower_to(&entry->bucket, of, counter->number, now_ns);
    spenders_note_lowered(node, entry, before - entry->bucket.settled);
    node->stores.had_some = true;
}

void counters_restore(struct node *node, const struct counter *counters, size_t count,
                      const struct counter_part *parts)
{
    for (size_t i = 0; i < count; i++)
        restore_one(node, &counters[i], counters[i].part_count > 0 ? parts + counters[i].first_part : NULL,
                    node->now_ns);
}
