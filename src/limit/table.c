#include "limit/table.h"

#include "limit/floor.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * Slots come in groups of 16. A key's home is the group at its place among all ids, (id.high * groups) >> 64,
 * and it lives in one of the WINDOW groups that start there; the last homes have spare groups behind them, so
 * that windows do not wrap and a range of ids is a range of groups.
 *
 * Each slot has a tag, a byte of the id that is not 0; 0 is an empty slot. Tags of a window are 64 adjacent
 * bytes: a miss costs one or two cache lines, a hit one or two more. A lookup always reads the whole window
 * before it says no, so that a slot can be emptied at any time without a tombstone.
 *
 * At a load of 0.8 one key in twenty lives outside its home group; windows of which every slot is taken are rare
 * (one in a thousand) and are relieved by moving keys on.
 */
enum {
    GROUP = 16,
    WINDOW = 4,
    REACH = 32,      /* how many groups behind a full window are searched for an empty slot */
    QUAD = 4,        /* entries in three cache lines: every insertion looks at those where it would like to be */
    EXPIRE_BITS = 3, /* every 8th hit looks at one neighbour */
    LINE_BYTES = 64,
    TENANTS_MAX = 65536,
};

#define NO_SLOT UINT64_MAX

struct table {
    const struct limit_set *limits;
    const struct budget *budgets;
    struct entry *entries;
    uint8_t *tags;
    struct floor *floors;
    struct window_floor *window_floors;
    uint64_t homes;  /* groups that are home to keys; WINDOW - 1 more follow */
    uint64_t groups; /* all of them */
    uint64_t bytes;
    uint64_t used_keys, expired_keys, evicted_harmless_keys, evicted_harmful_keys;
    uint64_t hits;
    uint64_t changes; /* see table_changes */
    bool has_floors;  /* until the first harmful eviction nobody needs to look */
    uint64_t share_min;
    /*
     * When a full BUCKET of each limit, or of any, was last forgotten. An absent key is known to be full only from
     * then on: a spend that is charged to it late, as of a moment before, must not find it full at that moment.
     */
    uint64_t *forgotten_ns; /* by limit */
    uint64_t forgotten_any_ns;
    uint32_t tenants;
    uint64_t *tenant_keys; /* by tenant */
};

/* ---- slots ---- */

/* A bit for each of the 16 tags that equals `tag`. */
static inline uint32_t group_match(const uint8_t *tags, uint8_t tag)
{
#ifdef __SSE2__
    __m128i group = _mm_load_si128((const __m128i *)(const void *)tags);
    return (uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(group, _mm_set1_epi8((char)tag)));
#else
    uint32_t mask = 0;
    for (unsigned i = 0; i < GROUP; i++)
        mask |= (uint32_t)(tags[i] == tag) << i;
    return mask;
#endif
}

static inline uint64_t home_of(const struct table *table, struct key_id id)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)id.high * table->homes) >> 64);
}

static inline uint8_t tag_of(struct key_id id)
{
    uint8_t tag = (uint8_t)(id.low >> 56);
    return tag == 0 ? 1 : tag;
}

static inline struct entry *lookup(const struct table *table, struct key_id id)
{
    uint64_t first = home_of(table, id) * GROUP;
    uint8_t tag = tag_of(id);
    for (uint64_t slot = first; slot < first + WINDOW * GROUP; slot += GROUP) {
        for (uint32_t mask = group_match(table->tags + slot, tag); mask != 0; mask &= mask - 1) {
            struct entry *entry = &table->entries[slot + (uint64_t)__builtin_ctz(mask)];
            if (key_id_equal(entry->id, id))
                return entry;
        }
    }
    return NULL;
}

static void empty_slot(struct table *table, uint64_t slot)
{
    struct entry *entry = &table->entries[slot];
    uint64_t *tenant_keys = &table->tenant_keys[entry->tenant];
    bucket_close(&entry->bucket, &table->limits->limit[entry->limit]);
    assert(table->tags[slot] != 0 && table->used_keys > 0 && *tenant_keys > 0);
    table->tags[slot] = 0;
    table->changes++;
    table->used_keys--;
    --*tenant_keys;
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
    if (!bucket_is_full(bucket, limit))
        return false;
    uint64_t *forgotten_ns = &table->forgotten_ns[entry->limit];
    if (limit->kind == LIMIT_BUCKET && *forgotten_ns < bucket->last_refill_ns)
        *forgotten_ns = bucket->last_refill_ns;
    empty_slot(table, slot);
    return true;
}

static void expire(struct table *table, uint64_t slot, uint64_t now_ns)
{
    struct bucket bucket;
    if (table->tags[slot] != 0 && forget_if_full(table, slot, now_ns, &bucket))
        table->expired_keys++;
}

/* ---- making room ---- */

/*
 * How long until the key may be forgotten if nobody spends or settles. What the store keeps goes last: it would come
 * back from there with less.
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
    uint64_t parts = share == 0 ? UINT64_MAX : SHARE_ONE / share, pay_ns;
    if (__builtin_mul_overflow(limit_refill_ns(limit, bucket->unsettled), parts, &pay_ns))
        return UINT64_MAX;
    return refill_ns > UINT64_MAX - pay_ns ? UINT64_MAX : refill_ns + pay_ns;
}

/* A floor that has passed is forgotten like a key that is full. */
static struct floor *aged_floor(struct table *table, uint64_t home, uint64_t now_ns)
{
    struct floor *floor = &table->floors[home];
    if (floor->full_at_ns != 0 && floor_age(floor, table->limits, table->budgets, table->share_min, now_ns)) {
        uint64_t *forgotten_ns =
            floor->limit == FLOOR_MIXED ? &table->forgotten_any_ns : &table->forgotten_ns[floor->limit];
        if (*forgotten_ns < now_ns)
            *forgotten_ns = now_ns;
        memset(floor, 0, sizeof *floor);
    }
    return floor;
}

static void remember_evicted(struct table *table, const struct entry *entry, const struct bucket *bucket,
                             uint64_t now_ns)
{
    uint64_t home = home_of(table, entry->id);
    const struct limit *limit = &table->limits->limit[entry->limit];
    if (limit->kind == LIMIT_BUCKET)
        floor_deepen(aged_floor(table, home, now_ns), table->limits, entry->limit, bucket);
    else
        window_floor_deepen(&table->window_floors[home], entry->limit,
                            window_used(bucket, limit, &table->budgets[entry->limit]),
                            window_over_ns(bucket, limit), now_ns);
    table->has_floors = true;
}

/* Empties one slot of a full window: a full bucket's, else the one that owes for the shortest time. */
static uint64_t make_room(struct table *table, uint64_t first, uint64_t now_ns)
{
    uint64_t victim = first, least_ns = 0;
    struct bucket bucket, victim_bucket = {0};
    for (uint64_t slot = first; slot < first + WINDOW * GROUP; slot++) {
        if (forget_if_full(table, slot, now_ns, &bucket)) {
            table->evicted_harmless_keys++;
            return slot;
        }
        uint64_t owes_ns = time_owed_ns(table, &table->entries[slot], &bucket, now_ns);
        if (slot == first || owes_ns < least_ns) {
            least_ns = owes_ns;
            victim = slot;
            victim_bucket = bucket;
        }
    }
    remember_evicted(table, &table->entries[victim], &victim_bucket, now_ns);
    empty_slot(table, victim);
    table->evicted_harmful_keys++;
    return victim;
}

/* The next empty slot from the `preferred` one on in the first of the groups [group, end) that has any, or NO_SLOT. */
static uint64_t empty_in(const struct table *table, uint64_t group, uint64_t end, unsigned preferred)
{
    for (; group < end; group++) {
        uint32_t empty = group_match(table->tags + group * GROUP, 0), behind = empty >> preferred << preferred;
        if (empty != 0)
            return group * GROUP + (uint64_t)__builtin_ctz(behind != 0 ? behind : empty);
    }
    return NO_SLOT;
}

/* Moves a key that may live as far as `hole` into it, from as near to the front as can be: its old slot. */
static uint64_t move_hole(struct table *table, uint64_t hole)
{
    uint64_t group = hole / GROUP;
    for (uint64_t slot = (group - WINDOW + 1) * GROUP; slot < group * GROUP; slot++) {
        if (home_of(table, table->entries[slot].id) + WINDOW <= group)
            continue;
        table->entries[hole] = table->entries[slot];
        table->tags[hole] = table->tags[slot];
        table->tags[slot] = 0;
        table->changes++;
        return slot;
    }
    return NO_SLOT;
}

/*
 * Keys that come first take the nearest slots, so that whole windows fill up long before the table does. The
 * next empty slot behind the window is then brought into it by moving keys whose windows reach further.
 */
static uint64_t free_slot(struct table *table, struct key_id id, uint64_t now_ns)
{
    unsigned preferred = (unsigned)(id.low % GROUP);
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

/* A LOG that starts lower has spent it just now: it is over when everybody's is, or earlier than that. */
static void start(struct table *table, struct entry *entry, uint64_t expires_ns, uint64_t now_ns)
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

static struct entry *insert(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                            uint64_t now_ns)
{
    uint64_t near = home_of(table, id) * GROUP + id.low % GROUP / QUAD * QUAD;
    for (uint64_t neighbour = near; neighbour < near + QUAD; neighbour++)
        expire(table, neighbour, now_ns);
    uint64_t slot = free_slot(table, id, now_ns);
    struct entry *entry = &table->entries[slot];
    memset(entry, 0, sizeof *entry);
    entry->id = id;
    entry->limit = limit;
    start(table, entry, expires_ns, now_ns);
    table->tags[slot] = tag_of(id);
    table->changes++;
    table->used_keys++;
    table->tenant_keys[0]++;
    return entry;
}

/* ---- the contract ---- */

struct table *table_create(uint64_t keys, uint32_t tenants, const struct limit_set *limits,
                           const struct budget *budgets)
{
    assert(keys >= 1 && tenants >= 1 && tenants <= TENANTS_MAX && limits && budgets);
    const uint64_t group_bytes =
        GROUP * sizeof(struct entry) + GROUP + sizeof(struct floor) + sizeof(struct window_floor);
    uint64_t slots = keys / 4 + (keys % 4 != 0); /* so that `keys` keys make a load of 0.8 */
    if (__builtin_add_overflow(slots, keys, &slots) || slots > UINT64_MAX / 2 / group_bytes)
        return NULL;
    uint64_t homes = (slots + GROUP - 1) / GROUP, groups = homes + WINDOW - 1;
    uint64_t lists = ((uint64_t)limits->room + tenants) * sizeof(uint64_t);
    uint64_t bytes = sizeof(struct table) + lists + LINE_BYTES + groups * group_bytes;
    struct table *table = calloc(1, bytes);
    if (!table)
        return NULL;
    table->limits = limits;
    table->budgets = budgets;
    table->tenants = tenants;
    table->homes = homes;
    table->groups = groups;
    table->bytes = bytes;
    table->forgotten_ns = (uint64_t *)(table + 1);
    table->tenant_keys = table->forgotten_ns + limits->room;
    char *memory = (char *)(table->tenant_keys + tenants);
    memory += (0 - (uintptr_t)memory) % LINE_BYTES;
    table->entries = (struct entry *)(void *)memory;
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

/* Tags are a fiftieth of the table and mostly near: they are read now, to fetch the entry that they point at. */
uint64_t table_changes(const struct table *table)
{
    return table->changes;
}

void table_prefetch_tags(const struct table *table, struct key_id id)
{
    __builtin_prefetch(table->tags + home_of(table, id) * GROUP);
}

void table_prefetch(const struct table *table, struct key_id id)
{
    uint64_t slot = home_of(table, id) * GROUP;
    uint32_t mask = group_match(table->tags + slot, tag_of(id)) | 1u << (GROUP - 1);
    const struct entry *entry = &table->entries[slot + (uint64_t)__builtin_ctz(mask)];
    __builtin_prefetch(entry, 1);
    __builtin_prefetch((const char *)(entry + 1) - 1, 1);
}

struct entry *table_find(struct table *table, struct key_id id)
{
    return lookup(table, id);
}

struct entry *table_obtain(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                           uint64_t now_ns)
{
    assert(limit_set_has(table->limits, limit));
    struct entry *entry = lookup(table, id);
    if (!entry)
        return insert(table, id, limit, expires_ns, now_ns);
    uint64_t drawn = ++table->hits * 0x9e3779b97f4a7c15u; /* scattered, so that no pattern of requests escapes it */
    if (drawn >> (64 - EXPIRE_BITS) == 0)
        expire(table, (uint64_t)(entry - table->entries) ^ (1 + (drawn >> 32) % (QUAD - 1)), now_ns);
    return entry;
}

void table_claim(struct table *table, struct entry *entry, uint16_t tenant)
{
    assert(tenant < table->tenants);
    table->tenant_keys[entry->tenant]--;
    table->tenant_keys[tenant]++;
    entry->tenant = tenant;
}

uint64_t table_tenant_keys(const struct table *table, uint16_t tenant)
{
    return tenant < table->tenants ? table->tenant_keys[tenant] : 0;
}

void table_start(const struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns, uint64_t now_ns,
                 struct bucket *bucket)
{
    const struct limit *of = &table->limits->limit[limit];
    uint64_t known_ns = table->forgotten_ns[limit];
    known_ns = table->forgotten_any_ns > known_ns ? table->forgotten_any_ns : known_ns;
    bucket_fill(bucket, of, now_ns > known_ns ? now_ns : known_ns, expires_ns);
    if (!table->has_floors)
        return;
    uint64_t home = home_of(table, id);
    if (of->kind == LIMIT_BUCKET)
        floor_apply(&table->floors[home], table->limits, table->budgets, limit, bucket);
    else
        bucket->settled = window_floor_level(&table->window_floors[home], of, limit, now_ns);
}

void table_set_share_min(struct table *table, uint64_t share)
{
    table->share_min = share;
}

/* The first and the last id that begin with the prefix. */
static void prefix_range(uint64_t prefix, unsigned prefix_bits, struct key_id *first, struct key_id *last)
{
    assert(prefix_bits <= 32);
    *first = (struct key_id){0, 0};
    *last = (struct key_id){UINT64_MAX, 0};
    if (prefix_bits > 0) {
        first->high = prefix << (64 - prefix_bits);
        last->high = first->high | UINT64_MAX >> prefix_bits;
    }
}

void table_owed(const struct table *table, uint64_t prefix, unsigned prefix_bits, uint64_t now_ns,
                struct table_owed *owed)
{
    struct key_id first, last;
    *owed = (struct table_owed){0};
    prefix_range(prefix, prefix_bits, &first, &last);
    for (uint64_t home = home_of(table, first); table->has_floors && home <= home_of(table, last); home++) {
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

/* `windows`: as low as the worst key that was evicted elsewhere. */
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

static uint64_t add_saturated(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

void table_lower(struct table *table, uint64_t prefix, unsigned prefix_bits, const struct table_owed *owed,
                 uint64_t now_ns, bool (*spared)(void *context, const struct entry *entry), void *context)
{
    struct key_id first, last;
    const struct floor floor = {.full_at_ns = add_saturated(now_ns, owed->refill_ns), .limit = FLOOR_MIXED};
    struct window_floor windows = {0};
    uint32_t used = owed->window_used < UINT32_MAX ? (uint32_t)owed->window_used : UINT32_MAX;
    window_floor_deepen(&windows, FLOOR_MIXED, used, add_saturated(now_ns, owed->window_ns), now_ns);
    if (owed->refill_ns == 0 && windows.until_ns == 0)
        return;
    prefix_range(prefix, prefix_bits, &first, &last);
    for (uint64_t home = home_of(table, first); home <= home_of(table, last); home++) {
        if (owed->refill_ns > 0)
            floor_lower(aged_floor(table, home, now_ns), owed->refill_ns, now_ns);
        window_floor_deepen(&table->window_floors[home], FLOOR_MIXED, used, windows.until_ns, now_ns);
    }
    table->has_floors = true;
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

void table_absent_are_full(struct table *table, uint64_t now_ns)
{
    if (table->forgotten_any_ns < now_ns)
        table->forgotten_any_ns = now_ns;
}

void table_clear(struct table *table)
{
    for (uint64_t slot = 0; slot < table->groups * GROUP; slot++)
        if (table->tags[slot] != 0)
            empty_slot(table, slot);
    if (table->has_floors) {
        memset(table->floors, 0, table->groups * sizeof(struct floor));
        memset(table->window_floors, 0, table->groups * sizeof(struct window_floor));
    }
    memset(table->forgotten_ns, 0, table->limits->room * sizeof *table->forgotten_ns);
    table->forgotten_any_ns = 0;
    table->has_floors = false;
}

void table_stats(const struct table *table, struct table_stats *stats)
{
    stats->capacity_keys = table->groups * GROUP;
    stats->used_keys = table->used_keys;
    stats->bytes = table->bytes;
    stats->expired_keys = table->expired_keys;
    stats->evicted_harmless_keys = table->evicted_harmless_keys;
    stats->evicted_harmful_keys = table->evicted_harmful_keys;
}

static void check_entry(const struct table *table, const struct entry *entry, uint64_t slot)
{
    uint64_t home = home_of(table, entry->id), count;
    assert(table->tags[slot] == tag_of(entry->id));
    assert(home <= slot / GROUP && slot / GROUP < home + WINDOW);
    assert(lookup(table, entry->id) == entry); /* and so nowhere else before */
    assert(limit_set_has(table->limits, entry->limit) && entry->tenant < table->tenants);
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
    uint64_t used = 0, of_tenants = 0;
    assert(table->groups == table->homes + WINDOW - 1);
    for (uint64_t slot = 0; slot < table->groups * GROUP; slot++) {
        if (table->tags[slot] == 0)
            continue;
        used++;
        check_entry(table, &table->entries[slot], slot);
    }
    for (uint32_t tenant = 0; tenant < table->tenants; tenant++)
        of_tenants += table->tenant_keys[tenant];
    assert(used == table->used_keys && of_tenants == used);
    for (uint64_t group = 0; group < table->groups; group++) {
        const struct floor *floor = &table->floors[group];
        const struct window_floor *windows = &table->window_floors[group];
        assert(floor->full_at_ns == 0 || (table->has_floors && group < table->homes));
        assert(windows->until_ns == 0 || (table->has_floors && group < table->homes));
        assert(floor->limit == FLOOR_MIXED || floor->limit < table->limits->room);
        assert(windows->limit == FLOOR_MIXED || windows->limit < table->limits->room);
    }
}
