#include "base/number.h"
#include "limit/table_slots.h"

#include <string.h>

/* A floor that has passed is forgotten like a key that is full. */
static struct floor *aged_floor(struct table *table, uint64_t home, uint64_t now_ns)
{
    struct floor *floor = &table->floors[home];
    if (floor->full_at_ns != 0 && floor_age(floor, table->limits, table->budgets, table->share_min, now_ns)) {
        raise_time(forgotten_of(table, floor->limit), now_ns);
        memset(floor, 0, sizeof *floor);
    }
    return floor;
}

void table_remember_evicted(struct table *table, const struct entry *entry, const struct bucket *bucket,
                            uint64_t now_ns)
{
    uint64_t home = home_of(table, entry->id);
    const struct limit *limit = &table->limits->limit[entry->limit];
    struct bucket charged = *bucket;
    if (table->budgets[entry->limit].share == 0 && table->share_min > 0 && charged.unsettled > 0) {
        charged.settled -= charged.unsettled; /* no share pays it off: as if it had settled */
        charged.unsettled = 0;
        bucket = &charged;
    }
    if (limit->kind == LIMIT_BUCKET)
        floor_deepen(aged_floor(table, home, now_ns), table->limits, entry->limit, bucket);
    else
        window_floor_deepen(&table->window_floors[home], limit->of_tiers ? FLOOR_MIXED : entry->limit,
                            window_used(bucket, limit, &table->budgets[entry->limit]),
                            window_over_ns(bucket, limit), now_ns);
    set_has_floors(table, true);
}

void table_start(const struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns, uint64_t now_ns,
                 struct bucket *bucket)
{
    const struct limit *of = &table->limits->limit[limit];
    uint64_t known_ns = time_of(&table->forgotten_ns[limit]), any_ns = time_of(&table->forgotten_any_ns);
    known_ns = any_ns > known_ns ? any_ns : known_ns;
    bucket_fill(bucket, of, now_ns > known_ns ? now_ns : known_ns, expires_ns);
    if (!has_floors(table))
        return;
    uint64_t home = home_of(table, id);
    if (of->kind == LIMIT_BUCKET)
        floor_apply(&table->floors[home], table->limits, table->budgets, limit, bucket);
    else
        bucket->settled = window_floor_level(&table->window_floors[home], of, limit, now_ns);
}

/* A LOG that starts lower lists the difference as a spend of now, which ends no later than the floor allows. */
void table_begin(struct table *table, struct entry *entry, uint64_t expires_ns, uint64_t now_ns)
{
    const struct limit *limit = &table->limits->limit[entry->limit];
    table_start(table, entry->id, entry->limit, expires_ns, now_ns, &entry->bucket);
    if (limit->kind == LIMIT_LOG && entry->bucket.settled < limit->capacity_units) {
        uint64_t until_ns = table->window_floors[home_of(table, entry->id)].until_ns;
        uint64_t at_ns = until_ns > limit->period_ns ? until_ns - limit->period_ns : 0;
        int64_t level = entry->bucket.settled;
        entry->bucket.settled = limit->capacity_units;
        bucket_lower_level(&entry->bucket, limit, level, at_ns < now_ns ? at_ns : now_ns);
    }
}

void table_set_share_min(struct table *table, uint64_t share)
{
    table->share_min = share;
}

void table_absent_are_full(struct table *table, uint64_t now_ns)
{
    raise_time(&table->forgotten_any_ns, now_ns);
}

void table_owed(const struct table *table, uint64_t prefix, unsigned prefix_bits, uint64_t now_ns,
                struct table_owed *owed)
{
    struct key_id first, last;
    *owed = (struct table_owed){0};
    prefix_range(prefix, prefix_bits, &first, &last);
    for (uint64_t home = home_of(table, first); has_floors(table) && home <= home_of(table, last); home++) {
        const struct window_floor *windows = &table->window_floors[home];
        uint64_t refill_ns = floor_owed_ns(&table->floors[home], now_ns);
        owed->refill_ns = refill_ns > owed->refill_ns ? refill_ns : owed->refill_ns;
        if (windows->until_ns <= now_ns)
            continue;
        uint64_t window_ns = windows->until_ns - now_ns;
        owed->window_ns = window_ns > owed->window_ns ? window_ns : owed->window_ns;
        owed->window_used = windows->used > owed->window_used ? windows->used : owed->window_used;
    }
}

/* `windows`: the floor of keys that another table has evicted. */
static void lower_window(struct table *table, struct entry *entry, const struct window_floor *windows,
                         uint64_t now_ns)
{
    const struct limit *limit = &table->limits->limit[entry->limit];
    bucket_refill(&entry->bucket, limit, &table->budgets[entry->limit], now_ns);
    bucket_lower_level(&entry->bucket, limit, window_floor_level(windows, limit, entry->limit, now_ns), now_ns);
}

static void lower_bucket(struct table *table, struct entry *entry, const struct floor *floor, uint64_t now_ns)
{
    const struct limit *limit = &table->limits->limit[entry->limit];
    struct bucket lowest;
    bucket_refill(&entry->bucket, limit, &table->budgets[entry->limit], now_ns);
    bucket_fill(&lowest, limit, now_ns, 0);
    floor_apply(floor, table->limits, table->budgets, entry->limit, &lowest);
    bucket_lower_level(&entry->bucket, limit, lowest.settled, now_ns);
}

void table_lower(struct table *table, uint64_t prefix, unsigned prefix_bits, const struct table_owed *owed,
                 uint64_t now_ns, bool (*spared)(void *context, const struct entry *entry), void *context)
{
    struct key_id first, last;
    const struct floor floor = {.full_at_ns = number_sum(now_ns, owed->refill_ns), .limit = FLOOR_MIXED};
    struct window_floor windows = {0};
    uint32_t used = owed->window_used < UINT32_MAX ? (uint32_t)owed->window_used : UINT32_MAX;
    window_floor_deepen(&windows, FLOOR_MIXED, used, number_sum(now_ns, owed->window_ns), now_ns);
    if (owed->refill_ns == 0 && windows.until_ns == 0)
        return;
    prefix_range(prefix, prefix_bits, &first, &last);
    for (uint64_t home = home_of(table, first); home <= home_of(table, last); home++) {
        if (owed->refill_ns > 0)
            floor_lower(aged_floor(table, home, now_ns), owed->refill_ns, now_ns);
        window_floor_deepen(&table->window_floors[home], FLOOR_MIXED, used, windows.until_ns, now_ns);
    }
    set_has_floors(table, true);
    uint64_t end = (home_of(table, last) + WINDOW) * GROUP;
    for (uint64_t slot = home_of(table, first) * GROUP; slot < end; slot++) {
        struct entry *entry = &table->entries[slot];
        if (table->tags[slot] == 0 || entry->id.high < first.high || entry->id.high > last.high ||
            spared(context, entry))
            continue;
        if (table->limits->limit[entry->limit].kind != LIMIT_BUCKET)
            lower_window(table, entry, &windows, now_ns);
        else if (owed->refill_ns > 0)
            lower_bucket(table, entry, &floor, now_ns);
    }
}
