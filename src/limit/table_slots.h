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

#include "limit/floor.h"
#include "limit/table.h"

#include <assert.h>

enum {
    GROUP = 16,
    WINDOW = 4,
    REACH = 32,      /* how many groups behind a full window are searched for an empty slot */
    QUAD = 4,        /* entries in three cache lines: an insertion looks at those where it would like to be */
    ROOMY = 8,       /* unless so many slots of the group are empty */
    EXPIRE_BITS = 5, /* every 32nd hit looks at one neighbour */
    LINE_BYTES = 64,
    TENANTS_MAX = 4096, /* entry.tenant has 12 bits */
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
    struct table_owner owner;
    /*
     * When a full BUCKET of each limit, or of any, was last forgotten. An absent key is known to be full only from
     * then on: a spend that is charged to it late, as of a moment before, must not find it full at that moment.
     */
    uint64_t *forgotten_ns; /* by limit */
    uint64_t forgotten_any_ns;
    uint32_t tenants;
    uint64_t *tenant_keys; /* by tenant */
};

static inline uint64_t home_of(const struct table *table, struct key_id id)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)(((wide)id.high * table->homes) >> 64);
}

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

/* ---- table_floors.c: what was evicted ---- */

/* The entry goes; `bucket` is what it has, refilled up to now. */
void table_remember_evicted(struct table *table, const struct entry *entry, const struct bucket *bucket,
                            uint64_t now_ns);
/* What a new entry, whose id and limit are set, starts from. */
void table_begin(struct table *table, struct entry *entry, uint64_t expires_ns, uint64_t now_ns);

#endif
