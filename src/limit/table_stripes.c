#include "limit/table_slots.h"

/* The slots of a stripe that are taken, and of them tenant 0's. */
static void count_stripe(const struct table *table, uint64_t index, uint64_t *used, uint64_t *nobodys)
{
    uint64_t last = (table->groups - 1) >> table->stripe_bits, first_slot = (index << table->stripe_bits) * GROUP;
    uint64_t end = (index == last ? table->groups : (index + 1) << table->stripe_bits) * GROUP;
    *used = *nobodys = 0;
    for (uint64_t slot = first_slot; slot < end; slot++) {
        *used += table->tags[slot] != 0;
        *nobodys += table->tags[slot] != 0 && table->entries[slot].tenant == 0;
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
        count_stripe(table, i, &table->stripes[i].used_keys, &table->stripes[i].nobody_keys);
    if (table->limits->events)
        events_share(table->limits->events);
}

/* A bit for each stripe that has to do with keys of this home. */
static inline uint64_t stripes_near(const struct table *table, uint64_t home)
{
    uint64_t first = home < WINDOW ? 0 : home - WINDOW + 1, last = home + WINDOW + REACH - 1;
    last = last < table->groups ? last : table->groups - 1;
    return (uint64_t)1 << (first >> table->stripe_bits) | (uint64_t)1 << (last >> table->stripe_bits);
}

static inline void lock_stripe(struct stripe *stripe)
{
    if (!atomic_exchange_explicit(&stripe->locked, true, memory_order_acquire))
        return;
    spin_wait_and_lock(&stripe->locked);
    stripe->lock_waits++;
}

__attribute__((noinline)) static struct table_held lock_stripes(struct table *table, uint64_t stripes)
{
    for (uint64_t left = stripes; left != 0; left &= left - 1)
        lock_stripe(&table->stripes[__builtin_ctzll(left)]);
    return (struct table_held){stripes};
}

/* Most keys are far from the borders of their stripe. */
struct table_held table_lock_one(struct table *table, struct key_id id)
{
    if (!table->shared)
        return (struct table_held){0};
    uint64_t home = home_of(table, id), size = (uint64_t)1 << table->stripe_bits, at = home & (size - 1);
    if (at - WINDOW >= size - (WINDOW + WINDOW + REACH))
        return lock_stripes(table, stripes_near(table, home));
    uint64_t stripe = home >> table->stripe_bits;
    lock_stripe(&table->stripes[stripe]);
    return (struct table_held){(uint64_t)1 << stripe};
}

struct table_held table_lock_all(struct table *table, const struct key_id *ids, uint32_t count)
{
    uint64_t stripes = 0;
    for (uint32_t i = 0; table->shared && i < count; i++)
        stripes |= stripes_near(table, home_of(table, ids[i]));
    return lock_stripes(table, stripes);
}

void table_let_go(struct table *table, struct table_held held)
{
    for (uint64_t left = held.stripes; left != 0; left &= left - 1)
        spin_unlock(&table->stripes[__builtin_ctzll(left)].locked);
}

/* ---- for those who look ---- */

uint64_t table_changes(const struct table *table, struct key_id id)
{
    uint64_t home = home_of(table, id);
    const struct stripe *first = stripe_of(table, home), *last = stripe_of(table, home + WINDOW - 1);
    return first == last ? first->changes : first->changes + last->changes;
}

uint64_t table_tenant_keys(const struct table *table, uint16_t tenant)
{
    if (tenant >= table->tenants)
        return 0;
    uint64_t keys = tenant > 0 ? __atomic_load_n(&table->tenant_keys[tenant], __ATOMIC_RELAXED) : 0;
    for (uint64_t i = 0; tenant == 0 && i < stripe_count(table); i++)
        keys += table->stripes[i].nobody_keys;
    return keys;
}

void table_stats(const struct table *table, struct table_stats *stats)
{
    *stats = (struct table_stats){.capacity_keys = table->groups * GROUP, .bytes = table->bytes};
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
        uint64_t keys = 0, nobodys = 0;
        count_stripe(table, i, &keys, &nobodys);
        assert(keys == stripe->used_keys && nobodys == stripe->nobody_keys && !stripe->locked);
        used += keys;
    }
    for (uint32_t tenant = 1; tenant < table->tenants; tenant++)
        of_tenants += table->tenant_keys[tenant];
    assert(of_tenants == used);
    return used;
}
