#include "limit/table_tags.h"

/* The owners of keys, and how many keys each may have. */

struct entry *table_obtain_nobodys(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                                   uint64_t now_ns)
{
    struct entry *entry = lookup(table, id);
    if (!entry) {
        entry = table_insert(table, id, limit, expires_ns, now_ns);
        table_claim(table, entry, TABLE_NOBODY);
    }
    return entry;
}

void table_claim(struct table *table, struct entry *entry, uint16_t tenant)
{
    assert(tenant < table->tenants || tenant == TABLE_NOBODY);
    struct stripe *stripe = stripe_of(table, (uint64_t)(entry - table->entries) / GROUP);
    count_tenant(table, stripe, entry->tenant, -1);
    count_tenant(table, stripe, tenant, 1);
    entry->tenant = tenant & 0xfffu;
}

uint64_t table_tenant_keys(const struct table *table, uint16_t tenant)
{
    if (tenant >= table->tenants)
        return 0;
    uint64_t keys = tenant > 0 ? __atomic_load_n(&table->tenant_keys[tenant], __ATOMIC_RELAXED) : 0;
    for (uint64_t i = 0; tenant == 0 && i < stripe_count(table); i++)
        keys += table->stripes[i].config_keys;
    return keys;
}

/*
 * Hashes spread keys over the stripes. With n keys of tenant 0 in each stripe on average, hardly any stripe has
 * more than four times the root of n above that. So no stripe refuses keys long before the tenant has all of its
 * keys.
 */
uint64_t table_stripe_keys_max(const struct table *table)
{
    const uint64_t keys = table->zero_keys_max;
    if (keys > table->groups * GROUP || stripe_count(table) == 1)
        return keys;
    uint64_t mean = ((keys << table->stripe_bits) + table->groups - 1) / table->groups, root = 0;
    while ((root + 1) * (root + 1) <= mean)
        root++;
    return mean + 4 * root + 1;
}

void table_set_tenant_keys_max(struct table *table, uint64_t keys, uint64_t zero_keys)
{
    table->tenant_keys_max = keys > 0 ? keys : UINT64_MAX;
    table->zero_keys_max = zero_keys > 0 ? zero_keys : UINT64_MAX;
    table->stripe_keys_max = table_stripe_keys_max(table);
}

bool table_tenant_has_room(const struct table *table, struct key_id id, uint16_t tenant, uint64_t count)
{
    if (tenant > 0)
        return table_tenant_keys(table, tenant) + count <= table->tenant_keys_max;
    return stripe_of(table, home_of(table, id))->config_keys + count <= table->stripe_keys_max;
}

uint64_t table_most_tenant_keys(const struct table *table)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < table->tenants; i++) {
        uint64_t keys = table_tenant_keys(table, (uint16_t)i);
        most = keys > most ? keys : most;
    }
    return most;
}
