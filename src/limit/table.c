#include "base/bits.h"
#include "base/number.h"
#include "limit/table_tags.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- slots ---- */

static inline void set_tag(struct table *table, uint64_t slot, uint8_t tag)
{
    __atomic_store_n(&table->tags[slot], tag, __ATOMIC_RELAXED);
}

static void empty_slot(struct table *table, uint64_t slot)
{
    struct entry *entry = &table->entries[slot];
    struct stripe *stripe = stripe_of(table, slot / GROUP);
    bucket_close(&entry->bucket, &table->limits->limit[entry->limit]);
    assert(table->tags[slot] != 0 && stripe->used_keys > 0 && !table_is_marked(table, entry));
    set_tag(table, slot, 0);
    stripe->changes++;
    stripe->used_keys--;
    count_tenant(table, stripe, entry->tenant, -1);
}

/*
 * Empties the slot if its key, refilled up to now into `bucket`, is full. A BUCKET is refilled as a copy: many small
 * refills pay off less than a large one. Windows are refilled where they stand.
 */
static bool forget_if_full(struct table *table, uint64_t slot, uint64_t now_ns, struct bucket *bucket)
{
    struct entry *entry = &table->entries[slot];
    const struct limit *limit = &table->limits->limit[entry->limit];
    if (limit->kind != LIMIT_BUCKET)
        bucket_refill(&entry->bucket, limit, &table->budgets[entry->limit], now_ns);
    *bucket = entry->bucket;
    if (limit->kind == LIMIT_BUCKET)
        bucket_refill(bucket, limit, &table->budgets[entry->limit], now_ns);
    if (!bucket_is_full(bucket, limit) || (table->owner.keeps && table->owner.keeps(table->owner.context, entry)))
        return false;
    if (limit->kind == LIMIT_BUCKET)
        raise_time(forgotten_of(table, entry->limit), bucket->last_refill_ns);
    empty_slot(table, slot);
    return true;
}

static bool expire(struct table *table, uint64_t slot, uint64_t now_ns)
{
    struct bucket bucket;
    bool forgotten = table->tags[slot] != 0 && forget_if_full(table, slot, now_ns, &bucket);
    if (forgotten)
        stripe_of(table, slot / GROUP)->expired_keys++;
    return forgotten;
}

/* ---- making room ---- */

/*
 * How long until the key may be forgotten if no peer spends or settles. Keys that the store keeps go last: they would
 * come back from the store with less.
 */
static uint64_t time_owed_ns(const struct table *table, const struct entry *entry, const struct bucket *bucket,
                             uint64_t now_ns)
{
    const struct limit *limit = &table->limits->limit[entry->limit];
    if (limit->flags & LIMIT_PERSISTENT)
        return UINT64_MAX;
    if (limit->kind != LIMIT_BUCKET) {
        uint64_t over_ns = window_over_ns(bucket, limit);
        return over_ns > now_ns ? over_ns - now_ns : 0;
    }
    uint64_t share = table->budgets[entry->limit].share;
    uint64_t refill_ns = limit_refill_ns(limit, limit->capacity_units - bucket->settled);
    if (bucket->unsettled == 0)
        return refill_ns;
    uint64_t parts = share == 0 ? UINT64_MAX : SHARE_ONE / share, deferred_paid_ns;
    if (__builtin_mul_overflow(limit_refill_ns(limit, bucket->unsettled), parts, &deferred_paid_ns))
        return UINT64_MAX;
    return number_sum(refill_ns, deferred_paid_ns);
}

/* Empties one slot of a full window: a full bucket's, else the one that owes for the shortest time. */
static uint64_t make_room(struct table *table, uint64_t first, uint64_t now_ns)
{
    uint64_t victim = first, least_ns = 0;
    struct bucket bucket, victim_bucket = {0};
    for (uint64_t slot = first; slot < first + WINDOW * GROUP; slot++) {
        if (forget_if_full(table, slot, now_ns, &bucket)) {
            stripe_of(table, slot / GROUP)->evicted_harmless_keys++;
            return slot;
        }
        uint64_t owes_ns = time_owed_ns(table, &table->entries[slot], &bucket, now_ns);
        if (slot == first || owes_ns < least_ns) {
            least_ns = owes_ns;
            victim = slot;
            victim_bucket = bucket;
        }
    }
    table_remember_evicted(table, &table->entries[victim], &victim_bucket, now_ns);
    if (table->owner.evicts)
        table->owner.evicts(table->owner.context, &table->entries[victim]);
    empty_slot(table, victim);
    stripe_of(table, victim / GROUP)->evicted_harmful_keys++;
    return victim;
}

/* The nearest empty slot in the first of the groups [group, end) that has any, or NO_SLOT. */
static uint64_t empty_in(const struct table *table, uint64_t group, uint64_t end, unsigned preferred)
{
    for (; group < end; group++) {
        uint32_t empty = group_match(table->tags + group * GROUP, 0);
        if (empty != 0)
            return group * GROUP + nearest_of(empty, preferred);
    }
    return NO_SLOT;
}

static void count_moved(struct table *table, uint64_t slot, uint64_t hole)
{
    struct stripe *from = stripe_of(table, slot / GROUP), *to = stripe_of(table, hole / GROUP);
    from->changes++;
    if (from == to)
        return;
    bool configs = table->entries[hole].tenant == 0;
    to->changes++;
    from->used_keys--;
    to->used_keys++;
    from->config_keys -= configs;
    to->config_keys += configs;
}

/* The age of a moved mark is not known any more: both words get it, as an old mark that was set again. */
static void move_mark(struct table *table, uint64_t slot, uint64_t hole)
{
    if (!table_is_marked(table, &table->entries[slot]))
        return;
    table_unmark(table, &table->entries[slot]);
    for (unsigned i = 0; i < 2; i++)
        marks_of(table, hole)[i] |= mark_of(hole);
    table->owner.moves(table->owner.context, &table->entries[hole]);
}

/* Moves a key that may live as far as `hole` into it, from as near to the front as can be: its old slot. */
static uint64_t move_hole(struct table *table, uint64_t hole)
{
    uint64_t group = hole / GROUP;
    for (uint64_t slot = (group - WINDOW + 1) * GROUP; slot < group * GROUP; slot++) {
        if (home_of(table, table->entries[slot].id) + WINDOW <= group)
            continue;
        table->entries[hole] = table->entries[slot];
        set_tag(table, hole, table->tags[slot]);
        set_tag(table, slot, 0);
        move_mark(table, slot, hole);
        count_moved(table, slot, hole);
        return slot;
    }
    return NO_SLOT;
}

/*
 * The first keys take the nearest slots, so whole windows fill up long before the table does. Then the next empty slot
 * behind the window is brought into it by moving keys whose windows reach further.
 */
static uint64_t free_slot(struct table *table, struct key_id id, uint64_t now_ns)
{
    unsigned preferred = preferred_slot(id);
    uint64_t home = home_of(table, id);
    uint64_t end = home + WINDOW, reach = end + REACH < table->groups ? end + REACH : table->groups;
    uint64_t slot = empty_in(table, home, end, preferred);
    if (slot != NO_SLOT)
        return slot;
    slot = empty_in(table, end, reach, preferred);
    while (slot != NO_SLOT && slot >= end * GROUP)
        slot = move_hole(table, slot);
    return slot != NO_SLOT ? slot : make_room(table, home * GROUP, now_ns);
}

/*
 * Most entries are not in a cache, and a look at one costs more than everything else here. While a quarter of a
 * group is empty, no entry is in the way and none is read. Otherwise all neighbours are looked at, not only until
 * one may go: groups would fill up.
 */
static void forget_neighbours(struct table *table, struct key_id id, uint64_t now_ns)
{
    uint64_t home = home_of(table, id) * GROUP, near = home + preferred_slot(id) / QUAD * QUAD;
    if (bits_count(group_match(table->tags + home, 0)) >= ROOMY)
        return;
    for (uint64_t neighbour = near; neighbour < near + QUAD; neighbour++)
        (void)expire(table, neighbour, now_ns);
}

/* noinline, as pass_by: keeps its registers and stack off the path of a hit. */
__attribute__((noinline)) struct entry *table_insert(struct table *table, struct key_id id, uint16_t limit,
                                                     uint64_t expires_ns, uint64_t now_ns)
{
    forget_neighbours(table, id, now_ns);
    uint64_t slot = free_slot(table, id, now_ns);
    struct entry *entry = &table->entries[slot];
    memset(entry, 0, sizeof *entry);
    entry->id = id;
    entry->limit = limit & (unsigned)LIMITS_MAX;
    table_begin(table, entry, expires_ns, now_ns);
    set_tag(table, slot, tag_of(id));
    struct stripe *stripe = stripe_of(table, slot / GROUP);
    stripe->changes++;
    stripe->used_keys++;
    stripe->config_keys++;
    return entry;
}

__attribute__((noinline)) static void pass_by(struct table *table, const struct entry *entry, uint64_t drawn,
                                              uint64_t now_ns)
{
    (void)expire(table, (uint64_t)(entry - table->entries) ^ (1 + (drawn >> 32) % (QUAD - 1)), now_ns);
}

/* ---- the contract ---- */

/* The number of groups in which `keys` keys are a load of 0.8; 0: too many. */
static uint64_t homes_for(uint64_t keys)
{
    uint64_t slots = keys / 4 + (keys % 4 != 0);
    if (__builtin_add_overflow(slots, keys, &slots) || slots > UINT64_MAX / 2 / sizeof(struct entry) / 2)
        return 0;
    return (slots + GROUP - 1) / GROUP;
}

uint64_t table_bytes(uint64_t keys, uint32_t tenants, const struct limit_set *limits)
{
    const uint64_t group_bytes =
        GROUP * sizeof(struct entry) + GROUP + sizeof(struct floor) + sizeof(struct window_floor);
    uint64_t lists = ((uint64_t)limits->room + tenants) * sizeof(uint64_t), homes = homes_for(keys);
    uint64_t groups = homes + WINDOW - 1;
    unsigned bits;
    uint64_t bytes = sizeof(struct table) + lists + LINES_BYTES +
                     stripes_for(groups, &bits) * sizeof(struct stripe) + groups * group_bytes;
    return homes == 0 ? 0 : (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

struct table *table_create(uint64_t keys, uint32_t tenants, const struct limit_set *limits,
                           const struct budget *budgets)
{
    uint64_t bytes = table_bytes(keys, tenants, limits);
    uint64_t marks_bytes = mark_words(homes_for(keys) + WINDOW - 1) * sizeof(uint64_t);
    void *memory = bytes > 0 ? calloc(1, bytes + marks_bytes) : NULL;
    if (!memory)
        return NULL;
    struct table *table = table_init(memory, keys, tenants, limits, budgets);
    table->marks = (uint64_t *)(void *)((char *)memory + bytes);
    table->bytes += marks_bytes;
    return table;
}

struct table *table_init(void *memory, uint64_t keys, uint32_t tenants, const struct limit_set *limits,
                         const struct budget *budgets)
{
    assert(keys >= 1 && tenants >= 1 && tenants <= TABLE_NOBODY && limits && budgets);
    uint64_t homes = homes_for(keys), groups = homes + WINDOW - 1;
    struct table *table = memory;
    unsigned bits;
    table->limits = limits;
    table->budgets = budgets;
    table->tenants = tenants;
    table->homes = homes;
    table->groups = groups;
    table->bytes = table_bytes(keys, tenants, limits);
    table->forgotten_ns = (uint64_t *)(table + 1);
    table->tenant_keys = table->forgotten_ns + limits->room;
    char *entries = (char *)(table->tenant_keys + tenants);
    entries += (0 - (uintptr_t)entries) % LINES_BYTES;
    table->stripes = (struct stripe *)(void *)entries;
    table->stripe_bits = UNSHARED_BITS;
    table_set_tenant_keys_max(table, 0, 0);
    table->entries = (struct entry *)(void *)(table->stripes + stripes_for(groups, &bits));
    table->tags = (uint8_t *)(table->entries + groups * GROUP);
    table->floors = (struct floor *)(void *)(table->tags + groups * GROUP);
    table->window_floors = (struct window_floor *)(void *)(table->floors + groups);
    return table;
}

void table_destroy(struct table **table)
{
    free(*table);
    *table = NULL;
}

void *table_memory(struct table *table, size_t *bytes)
{
    *bytes = table->bytes;
    return table;
}

void table_set_owner(struct table *table, const struct table_owner *owner)
{
    table->owner = *owner;
}

struct entry *table_find(struct table *table, struct key_id id)
{
    return lookup(table, id);
}

static inline struct stripe *stripe_of_key(struct table *table, struct key_id id)
{
    return __builtin_expect(table->shared, 0) ? stripe_of(table, home_of(table, id)) : table->stripes;
}

static inline void count_hit(struct table *table, struct key_id id, const struct entry *entry, uint64_t now_ns)
{
    if (table->owner.forgets)
        return;
    struct stripe *stripe = stripe_of_key(table, id);
    uint64_t scattered = ++stripe->hits * 0x9e3779b97f4a7c15u; /* so that no pattern of requests avoids the look */
    if (scattered >> (64 - EXPIRE_BITS) == 0)
        pass_by(table, entry, scattered, now_ns);
}

struct entry *table_find_at(struct table *table, uint64_t slot_hint, struct key_id id)
{
    struct entry *entry = lookup_hinted(table, slot_hint, id);
    return entry ? entry : table_find(table, id);
}

struct entry *table_obtain(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                           uint64_t now_ns)
{
    assert(limit_set_has(table->limits, limit));
    struct entry *entry = lookup(table, id);
    if (!entry)
        return table_insert(table, id, limit, expires_ns, now_ns);
    count_hit(table, id, entry, now_ns);
    return entry;
}

uint64_t table_forget_full(struct table *table, uint64_t from, uint64_t count, uint64_t now_ns)
{
    uint64_t forgotten = 0;
    assert(from + count <= table_places(table));
    for (uint64_t slot = from; slot < from + count; slot++)
        forgotten += expire(table, slot, now_ns);
    return forgotten;
}

void table_visit(const struct table *table, uint64_t prefix, unsigned prefix_bits,
                 void (*visit)(void *context, const struct entry *entry), void *context)
{
    struct key_id first, last;
    prefix_range(prefix, prefix_bits, &first, &last);
    uint64_t end = (home_of(table, last) + WINDOW) * GROUP;
    for (uint64_t slot = home_of(table, first) * GROUP; slot < end; slot++) {
        const struct entry *entry = &table->entries[slot];
        if (table->tags[slot] != 0 && entry->id.high >= first.high && entry->id.high <= last.high)
            visit(context, entry);
    }
}
