/*
 * table_slots: how a table lies in memory; shared by the files of table.h and by nobody else.
 *
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
#ifndef HEADGATE_LIMIT_TABLE_SLOTS_H
#define HEADGATE_LIMIT_TABLE_SLOTS_H

#include "base/number.h"
#include "base/spin.h"
#include "limit/floor.h"
#include "limit/table.h"

#include <assert.h>
#include <stdalign.h>

enum {
    GROUP = 16,
    WINDOW = 4,
    REACH = 32,      /* groups behind a full window that are searched for an empty slot */
    QUAD = 4,        /* entries in three cache lines: an insertion looks at those around its preferred slot */
    ROOMY = 4,       /* unless so many slots of the group are empty */
    EXPIRE_BITS = 5, /* every 32nd hit looks at one neighbour, unless the owner forgets */
    LINE_BYTES = 64,
    LINES_BYTES = 128,  /* processors fetch two lines together, so threads must stay this far apart */
    STRIPES_MAX = 1024, /* enough that two threads seldom want one line at the same time */
    STRIPE_BITS = 8,    /* at least 2^8 groups: at most one key in seven touches two stripes */
    UNSHARED_BITS = 63, /* all groups are one stripe */
};

#define NO_SLOT UINT64_MAX

/*
 * A group, with its slots, tags and floors, belongs to one stripe of consecutive groups. A thread that touches the
 * group holds that stripe's lock. Calls for a key of home h touch the groups [h - WINDOW + 1, h + WINDOW + REACH):
 * - the lookup, the neighbours in a quad, and making room touch [h, h + WINDOW); the key's own floor is at h;
 * - an eviction writes the floor at the home of the evicted key, at most WINDOW - 1 groups before its slot;
 * - moving keys on touches slots from h to the empty one, which lies before h + WINDOW + REACH. Both slots lie in
 *   the window of the key that moves: a thread that looks for that key holds both stripes as well, and sees the key
 *   once.
 * All stripes share the counts of tenants' keys and two things that only grow: forgotten_ns and has_floors. They are
 * relaxed atomics: a thread that looks for a key that is gone sees what was written for it, by its group's lock.
 */
struct stripe {
    alignas(LINES_BYTES) atomic_bool locked;
    uint32_t lock_waits; /* how often another thread held the lock */
    uint64_t hits;
    uint64_t changes;                /* see table_changes */
    uint64_t used_keys, config_keys; /* in these slots; of them, tenant 0's */
    uint64_t expired_keys, evicted_harmless_keys, evicted_harmful_keys;
};
_Static_assert(sizeof(struct stripe) == LINES_BYTES, "a stripe fills its lines");

struct table {
    const struct limit_set *limits;
    const struct budget *budgets;
    struct entry *entries;
    uint8_t *tags;
    uint64_t *marks; /* NULL: no entry can be marked. See below; words do not cross stripes */
    struct floor *floors;
    struct window_floor *window_floors;
    uint64_t homes;  /* groups that are home to keys; WINDOW - 1 more follow */
    uint64_t groups; /* all of them */
    uint64_t bytes;
    struct stripe *stripes;
    unsigned stripe_bits; /* a stripe is 2^stripe_bits groups */
    bool shared;
    bool has_floors; /* false until the first harmful eviction: no lookup reads floors */
    uint64_t share_min;
    struct table_owner owner;
    /*
     * When a full BUCKET of each limit, and of any limit, was last forgotten. An absent key is known to be full
     * only from then on: a spend that is charged late, as of an earlier moment, must not find the key full at that
     * moment.
     */
    uint64_t *forgotten_ns; /* by limit */
    uint64_t forgotten_any_ns;
    uint32_t tenants;
    uint64_t *tenant_keys;                   /* by tenant; [0] is not used: see config_keys */
    uint64_t tenant_keys_max, zero_keys_max; /* UINT64_MAX: no bound */
    uint64_t stripe_keys_max;                /* of tenant 0, in one stripe */
};

static inline uint64_t home_of(const struct table *table, struct key_id id)
{
    return (uint64_t)(((uint128)id.high * table->homes) >> 64);
}

static inline struct stripe *stripe_of(const struct table *table, uint64_t group)
{
    return table->shared ? &table->stripes[group >> table->stripe_bits] : table->stripes;
}

/* The number of stripes of a shared table with `groups` groups; a stripe has 2^*bits of them. */
static inline uint64_t stripes_for(uint64_t groups, unsigned *bits)
{
    for (*bits = STRIPE_BITS; (groups - 1) >> *bits >= STRIPES_MAX;)
        ++*bits;
    return ((groups - 1) >> *bits) + 1;
}

static inline uint64_t stripe_count(const struct table *table)
{
    return ((table->groups - 1) >> table->stripe_bits) + 1;
}

/* ---- figures that all stripes share ---- */

static inline void count_keys(const struct table *table, uint64_t *keys, int64_t more)
{
    if (table->shared)
        (void)__atomic_fetch_add(keys, (uint64_t)more, __ATOMIC_RELAXED);
    else
        *keys += (uint64_t)more;
}

static inline void count_tenant(struct table *table, struct stripe *stripe, uint16_t tenant, int64_t more)
{
    if (tenant == 0)
        stripe->config_keys += (uint64_t)more;
    else if (tenant != TABLE_NOBODY)
        count_keys(table, &table->tenant_keys[tenant], more);
}

static inline uint64_t time_of(const uint64_t *ns)
{
    return __atomic_load_n(ns, __ATOMIC_RELAXED);
}

/* Times only grow. */
static inline void raise_time(uint64_t *ns, uint64_t to_ns)
{
    uint64_t was_ns = time_of(ns);
    bool raised = was_ns >= to_ns;
    while (!raised)
        raised = __atomic_compare_exchange_n(ns, &was_ns, to_ns, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED) ||
                 was_ns >= to_ns;
}

/* When full keys of that limit were last forgotten. A key of a rule with tiers may come again under another one. */
static inline uint64_t *forgotten_of(struct table *table, uint16_t limit)
{
    return limit == FLOOR_MIXED || table->limits->limit[limit].of_tiers ? &table->forgotten_any_ns
                                                                        : &table->forgotten_ns[limit];
}

static inline bool has_floors(const struct table *table)
{
    return __atomic_load_n(&table->has_floors, __ATOMIC_RELAXED);
}

static inline void set_has_floors(struct table *table, bool has)
{
    if (has_floors(table) != has)
        __atomic_store_n(&table->has_floors, has, __ATOMIC_RELAXED);
}

/* ---- marks ---- */

/* Two words for each 64 slots: marks set since table_age_marks last came by, and older ones. */
enum { MARKS = TABLE_MARKS };

static inline uint64_t mark_words(uint64_t groups)
{
    return 2 * ((groups * GROUP + MARKS - 1) / MARKS);
}

static inline uint64_t *marks_of(const struct table *table, uint64_t slot)
{
    return &table->marks[slot / MARKS * 2];
}

static inline uint64_t mark_of(uint64_t slot)
{
    return (uint64_t)1 << slot % MARKS;
}

/* ---- ranges ---- */

/* The first and the last id that begin with the prefix. */
static inline void prefix_range(uint64_t prefix, unsigned prefix_bits, struct key_id *first, struct key_id *last)
{
    assert(prefix_bits <= 32);
    *first = (struct key_id){0, 0};
    *last = (struct key_id){UINT64_MAX, 0};
    if (prefix_bits > 0) {
        first->high = prefix << (64 - prefix_bits);
        last->high = first->high | UINT64_MAX >> prefix_bits;
    }
}

/* ---- table_floors.c: floors of evicted keys ---- */

/* The entry is about to go; `bucket` is its state, refilled up to now. */
void table_remember_evicted(struct table *table, const struct entry *entry, const struct bucket *bucket,
                            uint64_t now_ns);
/* Fills the state of a new entry whose id and limit are set. */
void table_begin(struct table *table, struct entry *entry, uint64_t expires_ns, uint64_t now_ns);

/* ---- table_tenants.c ---- */

/* The right value of table->stripe_keys_max. */
uint64_t table_stripe_keys_max(const struct table *table);

/* ---- table_stripes.c ---- */

/* Asserts the counts of all stripes; returns the number of keys. */
uint64_t table_check_stripes(const struct table *table);

#endif
