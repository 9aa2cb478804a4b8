/*
 * table: all keys that owe something, in memory fixed at creation.
 *
 * The one idea: keys live in groups of slots, found by tags; a key stays within a small window of groups
 * after its home, so that every operation touches a bounded number of slots. A key that is absent is full.
 * When a window is full, a key whose bucket is full makes room first (harmless); otherwise the one that owes
 * for the shortest time does, those that the store keeps last (harmful, counted), and its group remembers the
 * worst state that it evicted: a key that (re)appears there starts from no more than that, so an eviction never
 * raises anyone's allowance.
 * One thread uses a table, or it is shared: then it consists of stripes, each with a lock, and table_lock holds those
 * that keys have to do with. No clock, no allocation after creation.
 */
#ifndef HEADGATE_LIMIT_TABLE_H
#define HEADGATE_LIMIT_TABLE_H

#include "base/hash.h"
#include "limit/bucket.h"
#include "limit/limit.h"

#include <stddef.h>
#include <stdint.h>

struct table;

enum { TABLE_NOBODY = 4095 }; /* instead of a tenant, of which there are fewer: entry.tenant has 12 bits */

struct entry {
    struct key_id id;
    struct bucket bucket;
    uint32_t
        open_index : 20;  /* the cluster's: where its spends stand that are untold, a hint, checked by id; or, of
                                 a marked one, how many tokens wait to be paid off: see cluster/waiting.h */
    uint32_t tenant : 12; /* whose key it is, or TABLE_NOBODY: see table_claim */
    uint16_t limit : 15;  /* index into the limit set */
    uint8_t last_spender : 7; /* the cluster's: which peer spent last; 0 = nobody known */
    uint8_t dirty : 1;        /* the cluster's: touched since the store was last told */
    uint8_t
        own_batch; /* the cluster's: which own batch was the next when it was last spent; a trace; 0 = not known;
                      more than any trace: see cluster/waiting.h */
};
_Static_assert(sizeof(struct entry) == 48, "48 bytes a key: 64 with tags and floors at the working load");

struct table_stats {
    uint64_t capacity_keys; /* slots; the working load is 0.8 of them */
    uint64_t used_keys;
    uint64_t bytes;        /* all memory of the table */
    uint64_t expired_keys; /* full buckets forgotten, by lookups that passed by or by table_forget_full */
    uint64_t evicted_harmless_keys;
    uint64_t evicted_harmful_keys;
    uint64_t lock_waits; /* locks of stripes that another thread held: modulo 2^32 for each stripe */
};

/*
 * A table with room for `keys` keys at a load of 0.8 (rounded up to whole groups; keys >= 1) of 1..TABLE_NOBODY
 * tenants. `limits` and `budgets` (one per limit, limits->room of them) belong to the caller, outlive the table, and
 * may change between calls; the set's room may not. Memory is reserved but not touched. NULL when there is not enough.
 */
struct table *table_create(uint64_t keys, uint32_t tenants, const struct limit_set *limits,
                           const struct budget *budgets);
void table_destroy(struct table **table);

/* Who else knows of entries, by what they carry for the cluster; belongs to nobody by default. */
struct table_owner {
    bool (*keeps)(void *context, const struct entry *entry); /* it is not forgotten yet, however full */
    void (*evicts)(void *context,
                   struct entry *entry); /* it goes at the expense of its key, and is not marked any more then */
    void (*moves)(void *context, struct entry *entry); /* it is marked, and was put elsewhere */
    void *context;
    bool forgets; /* the owner goes through the table by table_forget_full: hits need not look at neighbours */
};
void table_set_owner(struct table *table, const struct table_owner *owner);

/*
 * The same, but that no entry of it can be marked, in memory of the caller's, who frees it instead of destroying the
 * table: zeros, aligned as calloc does, of so many bytes (a multiple of a cache line; 0: more than there can be).
 */
uint64_t table_bytes(uint64_t keys, uint32_t tenants, const struct limit_set *limits);
struct table *table_init(void *memory, uint64_t keys, uint32_t tenants, const struct limit_set *limits,
                         const struct budget *budgets);

/* All of its memory, for those who know how it is best backed. */
void *table_memory(struct table *table, size_t *bytes);

/* ---- several threads ---- */

/*
 * From now on several threads use the table: each holds the locks of the keys that it touches, or is alone, all others
 * being kept out by other means. Alone and without locks are: whatever is done to more than some keys, table_clear and
 * table_check. The pool of events is shared along with it. Once, before they start.
 */
void table_share(struct table *table);

enum { TABLE_LOCK_KEYS_MAX = 32 };

/* Which stripes one thread has locked, each once; on its stack. All zero: none. */
struct table_held {
    uint32_t count;
    uint16_t stripe[2 * TABLE_LOCK_KEYS_MAX];
};

/*
 * From here to table_unlock the caller may do everything with these keys, at most TABLE_LOCK_KEYS_MAX, that is done
 * with single keys, and what that does to their neighbours is covered. The locks spin: hold them briefly, and wait for
 * nothing meanwhile; a thread that holds some asks for no more. Without table_share they do nothing.
 */
void table_lock(struct table *table, const struct key_id *ids, uint32_t count, struct table_held *held);
void table_unlock(struct table *table, const struct table_held *held);
/* For one key after the other: holds this one's instead of what is held (nothing, at first), unless it is the same. */
void table_lock_next(struct table *table, struct key_id id, struct table_held *held);

/* ---- looking up ---- */

/*
 * Asks for no more than what table_prefetch reads itself: for several keys, first this of all, then that of all. Both
 * may be called without any lock while other threads change the table.
 */
void table_prefetch_tags(const struct table *table, struct key_id id);
/*
 * Asks the processor to fetch the slots of `id`: worth it when several lookups follow. Returns a guess of where the key
 * stands, never 0: see table_find_at.
 */
uint64_t table_prefetch(const struct table *table, struct key_id id);
/*
 * What stands as open_index in the entry of such a guess, never 0, in a table that table_create made; false: it is
 * marked. A hint as well: any number, as the guess may be wrong, and what was there a moment ago, as no lock is needed.
 */
bool table_glance_open(const struct table *table, uint64_t guess, uint32_t *open_index);

/*
 * The same for the few keys of one request, which are looked up at once: loads (see touch.h) are faster then, where a
 * prefetch would have no time. First table_touch_likely of all, then table_touch of all.
 */
void table_touch_likely(const struct table *table, struct key_id id);
void table_touch(const struct table *table, struct key_id id);

/* The entry of `id`, or NULL: then the key is as table_start says. Valid until the next table_obtain. */
struct entry *table_find(struct table *table, struct key_id id);
/* The same for who has a guess, as old as it may be: if it is right, there is no search. 0: there is none. */
struct entry *table_find_at(struct table *table, uint64_t guess, struct key_id id);

/*
 * Grows with every key that is inserted, moved or forgotten near `id`: as long as it stays, so does a pointer to the
 * key's entry.
 */
uint64_t table_changes(const struct table *table, struct key_id id);

/* No key was evicted at its own expense: whoever is absent starts full. */
bool table_absent_start_full(const struct table *table);

/*
 * The entry of `id`, inserted as table_start says if it was absent. Never NULL. It is not refilled. Valid until
 * the next table_obtain. An insertion where few slots are empty looks at a few neighbours and forgets those that are
 * full, one hit in some at one (unless the owner forgets): so full keys may take up three quarters of the table, but
 * keep nobody out. now_ns may lie in the past, where a spend is to be charged. `expires_ns`: of a new CELL. An entry
 * that is found may have another limit.
 */
struct entry *table_obtain(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                           uint64_t now_ns);
/* The same for who has such a guess. */
struct entry *table_obtain_at(struct table *table, uint64_t guess, struct key_id id, uint16_t limit,
                              uint64_t expires_ns, uint64_t now_ns);
/* table_obtain for who has just not found it, and has obtained or inserted no other key of that id since. */
struct entry *table_insert(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                           uint64_t now_ns);
/*
 * Forgets the keys of `count` places, from that one on, that are full and not kept; up to table_places. Returns how
 * many. Cheap: memory is read in order, where a lookup's neighbours would have to be waited for. Alone.
 */
uint64_t table_forget_full(struct table *table, uint64_t from, uint64_t count, uint64_t now_ns);

/*
 * Keys per tenant. A new entry belongs to tenant 0; table_claim gives it to another one, or to nobody (TABLE_NOBODY).
 * Claiming is constant-time.
 */
void table_claim(struct table *table, struct entry *entry, uint16_t tenant);
/* Of a tenant, not of nobody. Tenant 0's are summed up over the stripes. */
uint64_t table_tenant_keys(const struct table *table, uint16_t tenant);
/* How many the one has that has most. */
uint64_t table_most_tenant_keys(const struct table *table);
/*
 * table_obtain for what others say of a key: nobody has asked for a new one here, so it is nobody's until a request
 * claims it.
 */
struct entry *table_obtain_nobodys(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                                   uint64_t now_ns);
/* From now on tenants shall have at most so many keys, and tenant 0 the latter number; 0: as many as fit. Alone. */
void table_set_tenant_keys_max(struct table *table, uint64_t keys, uint64_t zero_keys);
/*
 * Whether the tenant may have `count` keys more near `id`: for whoever inserts them, no insertion asks. A shared table
 * bounds tenant 0 in each of its stripes, which threads need not share: all together it may have somewhat more keys.
 */
bool table_tenant_has_room(const struct table *table, struct key_id id, uint16_t tenant, uint64_t count);

/*
 * What table_obtain would start an absent key from: full, but not before the moment when the last full key of
 * this limit was forgotten, and no higher than its group's floor. For those who only look: a LOG that starts lower
 * has no list yet.
 */
void table_start(const struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns, uint64_t now_ns,
                 struct bucket *bucket);

/*
 * The least share of all budgets, to be told when it changes (0 until then): keys that were evicted under several
 * limits are taken to be paid off at that share.
 */
void table_set_share_min(struct table *table, uint64_t share);

/* ---- entries that wait: found among many that do not ---- */

/*
 * Where the mark of an entry is. It is set, or anew, and the entry is found as below, wherever it moves. Whoever has
 * the key's lock may set, unset and ask. Only an entry of a table that table_create made can be marked; it is not when
 * it is forgotten: see table_owner. Valid as long as a pointer to the entry.
 */
struct table_mark {
    uint64_t *marks; /* a word of young ones, which table_age_marks has not come by, and one of the others */
    uint64_t bit;
};
struct table_mark table_mark_of(const struct table *table, const struct entry *entry);
static inline bool table_mark_is_set(struct table_mark mark)
{
    return ((mark.marks[0] | mark.marks[1]) & mark.bit) != 0;
}
static inline void table_mark_set(struct table_mark mark)
{
    uint64_t *young = &mark.marks[0];
    *young |= mark.bit;
}
void table_unmark(struct table *table, const struct entry *entry);
/* False in a table that table_init made. */
bool table_is_marked(const struct table *table, const struct entry *entry);
/* ... and was so when table_age_marks last came by; or it has moved since, so that this may come by again. */
bool table_is_marked_long(const struct table *table, const struct entry *entry);
/* How many places there are for entries. */
uint64_t table_places(const struct table *table);
/*
 * The first marked entries in [*from, end), at most `most`. *from moves behind them; to `end`, if there are no more.
 * That is fast where few are marked. Alone.
 */
size_t table_find_marked(const struct table *table, uint64_t *from, uint64_t end, struct entry **entries,
                         size_t most);

/* Visits every marked entry whose id begins with the prefix, as table_visit does; it may unmark that. Alone. */
void table_visit_marked(const struct table *table, uint64_t prefix, unsigned prefix_bits,
                        void (*visit)(void *context, struct entry *entry), void *context);

/* Marks grow old together: `from` and `end` of what follows are multiples of so many places, or the end of them all. */
enum { TABLE_MARKS = 64 };
struct table_aged {
    uint32_t count;
    struct entry *entry[TABLE_MARKS]; /* memory is asked for them */
    uint64_t forgotten, young;        /* how many marks were; and have been made since this last came by */
};
/* What is found. */
enum table_aging {
    AGING_ALL,
    AGING_OLD,    /* what was marked before this last came by */
    AGING_FORGET, /* ... and again since; what was not is forgotten: that takes no look at its entry */
};
/* Goes on from *from until it has found several entries, or to `end`: then none, or less. Alone. */
void table_age_marks(struct table *table, uint64_t *from, uint64_t end, enum table_aging aging,
                     struct table_aged *aged);

/* Visits every entry whose id.high begins with the `prefix_bits` (0..32) low bits of `prefix`; read-only. */
void table_visit(const struct table *table, uint64_t prefix, unsigned prefix_bits,
                 void (*visit)(void *context, const struct entry *entry), void *context);

/*
 * What keys that were evicted may owe at most. All zero: nothing. Durations and parts mean the same under every limit
 * and at every peer.
 */
struct table_owed {
    uint64_t refill_ns;   /* BUCKETs: ns of refill until full and paid off */
    uint64_t window_ns;   /* CELLs and LOGs: until all of it is over */
    uint64_t window_used; /* of the capacity until then, in 1/TABLE_USED_ONE; what is unsettled counts for more */
};
#define TABLE_USED_ONE ((uint64_t)1 << 24)

/* The worst of the keys that were evicted and whose ids begin with the prefix (as above). */
void table_owed(const struct table *table, uint64_t prefix, unsigned prefix_bits, uint64_t now_ns,
                struct table_owed *owed);

/*
 * Another table has evicted keys of that prefix which may owe so much: all absent ones there start from no more, and
 * so do those entries that `spared` does not say true of.
 */
void table_lower(struct table *table, uint64_t prefix, unsigned prefix_bits, const struct table_owed *owed,
                 uint64_t now_ns, bool (*spared)(void *context, const struct entry *entry), void *context);

/* Absent keys are known to be full at now_ns, but not before: they start from there, whatever time is asked for. */
void table_absent_are_full(struct table *table, uint64_t now_ns);

/* Forgets every key and every floor. */
void table_clear(struct table *table);

/* Holding no locks. While others go on, each stripe is seen at a moment of its own. */
void table_stats(const struct table *table, struct table_stats *stats);

/* Asserts every invariant of the structure: for tests and the simulator. */
void table_check(const struct table *table);

#endif
