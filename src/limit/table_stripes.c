#include "limit/table_slots.h"

/* Counts the used slots of a stripe, and those of tenant 0 among them. */
static void count_stripe(const struct table *table, uint64_t index, uint64_t *used, uint64_t *configs)
{
    uint64_t last = (table->groups - 1) >> table->stripe_bits, first_slot = (index << table->stripe_bits) * GROUP;
    uint64_t end = (index == last ? table->groups : (index + 1) << table->stripe_bits) * GROUP;
    *used = *configs = 0;
    for (uint64_t slot = first_slot; slot < end; slot++) {
        *used += table->tags[slot] != 0;
        *configs += table->tags[slot] != 0 && table->entries[slot].tenant == 0;
    }
}

/* ---- many threads ---- */

void table_share(struct table *table)
{
    assert(!table->shared);
    bool used = table->stripes->used_keys > 0;
    (void)stripes_for(table->groups, &table->stripe_bits);
    table->shared = true;
    for (uint64_t i = 0; used && i < stripe_count(table); i++)
        count_stripe(table, i, &table->stripes[i].used_keys, &table->stripes[i].config_keys);
    table->stripe_keys_max = table_stripe_keys_max(table);
    if (table->limits->events)
        events_share(table->limits->events);
}

/* Locks the stripe. False: another thread held it first. */
static inline bool lock_stripe(struct stripe *stripe)
{
    if (!atomic_exchange_explicit(&stripe->locked, true, memory_order_acquire))
        return true;
    spin_wait_and_lock(&stripe->locked);
    stripe->lock_waits++;
    return false;
}

/* The first and the last stripe that calls for keys of this home touch. They are neighbours, or the same. */
struct reach {
    uint16_t first, last;
};

static inline struct reach reach_of(const struct table *table, uint64_t home)
{
    uint64_t first = home < WINDOW ? 0 : home - WINDOW + 1, last = home + WINDOW + REACH - 1;
    last = last < table->groups ? last : table->groups - 1;
    return (struct reach){(uint16_t)(first >> table->stripe_bits), (uint16_t)(last >> table->stripe_bits)};
}

/* Locks the stripes of one key; none of them is held yet. */
static inline void lock_reach(struct table *table, struct reach reach, struct table_held *held)
{
    held->stripe[0] = reach.first;
    held->stripe[1] = reach.last;
    held->count = 1 + (reach.last > reach.first);
    (void)lock_stripe(&table->stripes[reach.first]);
    if (reach.last > reach.first)
        (void)lock_stripe(&table->stripes[reach.last]);
}

/*
 * The stripes of several keys are tried in the order of the keys, without waiting: nearly always all are free, and
 * sorting them costs more than taking them. If another thread holds one, all are let go and taken anew in ascending
 * order, each once, waiting for each. So a thread that waits holds lower stripes only, and no two threads wait for
 * each other.
 */

/* Inserts the stripe so that all are ascending, each once. */
static void add_stripe(struct table_held *held, uint16_t stripe)
{
    uint32_t at = held->count;
    while (at > 0 && held->stripe[at - 1] > stripe)
        at--;
    if (at > 0 && held->stripe[at - 1] == stripe)
        return;
    for (uint32_t i = held->count++; i > at; i--)
        held->stripe[i] = held->stripe[i - 1];
    held->stripe[at] = stripe;
}

/* `taken`: a stripe that another thread held a moment ago. */
__attribute__((noinline)) static void lock_in_order(struct table *table, const struct key_id *ids, uint32_t count,
                                                    struct table_held *held, uint16_t taken)
{
    held->count = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct reach reach = reach_of(table, home_of(table, ids[i]));
        add_stripe(held, reach.first);
        add_stripe(held, reach.last);
    }
    for (uint32_t i = 0; i < held->count; i++) {
        struct stripe *stripe = &table->stripes[held->stripe[i]];
        if (lock_stripe(stripe) && held->stripe[i] == taken)
            stripe->lock_waits++;
    }
}

static bool holds(const struct table_held *held, uint16_t stripe)
{
    for (uint32_t i = 0; i < held->count; i++)
        if (held->stripe[i] == stripe)
            return true;
    return false;
}

/* False: another thread holds the stripe. */
static inline bool try_stripe(struct table *table, uint16_t stripe, struct table_held *held)
{
    if (atomic_exchange_explicit(&table->stripes[stripe].locked, true, memory_order_acquire))
        return holds(held, stripe);
    held->stripe[held->count++] = stripe;
    return true;
}

static void lock_several(struct table *table, const struct key_id *ids, uint32_t count, struct table_held *held)
{
    assert(count <= TABLE_LOCK_KEYS_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct reach reach = reach_of(table, home_of(table, ids[i]));
        bool has_first = try_stripe(table, reach.first, held);
        if (has_first && (reach.last == reach.first || try_stripe(table, reach.last, held)))
            continue;
        table_unlock(table, held);
        lock_in_order(table, ids, count, held, has_first ? reach.last : reach.first);
        return;
    }
}

void table_lock(struct table *table, const struct key_id *ids, uint32_t count, struct table_held *held)
{
    held->count = 0;
    if (!table->shared)
        return;
    if (count == 1)
        lock_reach(table, reach_of(table, home_of(table, ids[0])), held);
    else
        lock_several(table, ids, count, held);
}

/* noinline: a table without threads does not pay for its registers and stack. */
__attribute__((noinline)) static void lock_next(struct table *table, struct key_id id, struct table_held *held)
{
    struct reach reach = reach_of(table, home_of(table, id));
    if (held->count > 0 && held->stripe[0] == reach.first && held->stripe[held->count - 1] == reach.last)
        return;
    table_unlock(table, held);
    lock_reach(table, reach, held);
}

void table_lock_next(struct table *table, struct key_id id, struct table_held *held)
{
    if (table->shared)
        lock_next(table, id, held);
}

void table_unlock(struct table *table, const struct table_held *held)
{
    for (uint32_t i = 0; i < held->count; i++)
        spin_unlock(&table->stripes[held->stripe[i]].locked);
}

/* ---- reading ---- */

uint64_t table_changes(const struct table *table, struct key_id id)
{
    uint64_t home = home_of(table, id);
    const struct stripe *first = stripe_of(table, home), *last = stripe_of(table, home + WINDOW - 1);
    return first == last ? first->changes : first->changes + last->changes;
}

bool table_absent_start_full(const struct table *table)
{
    return !has_floors(table);
}

void table_stats(const struct table *table, struct table_stats *stats)
{
    *stats = (struct table_stats){.capacity_keys = table->groups * GROUP, .table_bytes = table->bytes};
    for (uint64_t i = 0; i < stripe_count(table); i++) {
        struct stripe *stripe = &table->stripes[i];
        if (table->shared)
            spin_lock(&stripe->locked);
        stats->lock_waits += stripe->lock_waits;
        stats->used_keys += stripe->used_keys;
        stats->expired_keys += stripe->expired_keys;
        stats->evicted_harmless_keys += stripe->evicted_harmless_keys;
        stats->evicted_harmful_keys += stripe->evicted_harmful_keys;
        if (table->shared)
            spin_unlock(&stripe->locked);
    }
}

uint64_t table_check_stripes(const struct table *table)
{
    uint64_t used = 0, of_tenants = table_tenant_keys(table, 0);
    for (uint64_t i = 0; i < stripe_count(table); i++) {
        const struct stripe *stripe = &table->stripes[i];
        uint64_t keys = 0, configs = 0;
        count_stripe(table, i, &keys, &configs);
        assert(keys == stripe->used_keys && configs == stripe->config_keys && !stripe->locked);
        used += keys;
    }
    for (uint32_t tenant = 1; tenant < table->tenants; tenant++)
        of_tenants += table->tenant_keys[tenant];
    assert(of_tenants <= used); /* the other keys belong to TABLE_NOBODY */
    return used;
}
