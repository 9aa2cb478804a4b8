#include "limit/table_tags.h"

static void check_entry(const struct table *table, const struct entry *entry, uint64_t slot)
{
    uint64_t home = home_of(table, entry->id), count;
    assert(table->tags[slot] == tag_of(entry->id));
    assert(home <= slot / GROUP && slot / GROUP < home + WINDOW);
    assert(lookup(table, entry->id) == entry); /* and so nowhere else before */
    assert(limit_set_has(table->limits, entry->limit) &&
           (entry->tenant < table->tenants || entry->tenant == TABLE_NOBODY));
    const struct limit *limit = &table->limits->limit[entry->limit];
    const struct bucket *bucket = &entry->bucket;
    assert(bucket->settled <= limit->capacity_units && bucket->unsettled >= 0);
    assert(limit->kind != LIMIT_BUCKET || bucket->last_refill_ns % limit->tick_ns == 0);
    if (limit->kind == LIMIT_LOG)
        assert((int64_t)events_check(limit->events, &bucket->events, &count) ==
               limit->capacity_units - bucket->settled + bucket->unsettled);
}

void table_check(const struct table *table)
{
    uint64_t used = 0;
    assert(table->groups == table->homes + WINDOW - 1);
    for (uint64_t slot = 0; slot < table->groups * GROUP; slot++) {
        if (table->tags[slot] == 0)
            continue;
        used++;
        check_entry(table, &table->entries[slot], slot);
    }
    assert(used == table_check_stripes(table));
    for (uint64_t group = 0; group < table->groups; group++) {
        const struct floor *floor = &table->floors[group];
        const struct window_floor *windows = &table->window_floors[group];
        assert(floor->full_at_ns == 0 || (table->has_floors && group < table->homes));
        assert(windows->until_ns == 0 || (table->has_floors && group < table->homes));
        assert(floor->limit == FLOOR_MIXED || floor->limit < table->limits->room);
        assert(windows->limit == FLOOR_MIXED || windows->limit < table->limits->room);
    }
}
