/*
 * table: all keys that owe something, in memory fixed at creation.
 *
 * The one idea: keys live in groups of slots, found by tags; a key stays within a small window of groups
 * after its home, so that every operation touches a bounded number of slots. A key that is absent is full.
 * When a window is full, a key whose bucket is full makes room first (harmless); otherwise the one that owes
 * for the shortest time does, those that the store keeps last (harmful, counted), and its group remembers the
 * worst state that it evicted: a key that (re)appears there starts from no more than that, so an eviction never
 * raises anyone's allowance.
 * One thread uses a table, or several threads share it. A shared table consists of stripes, each with a lock;
 * table_lock takes the locks of all stripes that the given keys may touch. No clock, no allocation after creation.
 */
#ifndef HEADGATE_LIMIT_TABLE_H
#define HEADGATE_LIMIT_TABLE_H

#include "base/hash.h"
#include "limit/bucket.h"
#include "limit/limit.h"

#include <stddef.h>
#include <stdint.h>

struct table;

enum { TABLE_NOBODY = 4095 }; /* no tenant owns the key; entry.tenant has 12 bits */

struct entry {
    struct key_id id;
    struct bucket bucket;
    uint32_t open_index : 20; /* the cluster's: where the key's untold spends stand (a hint, checked by id). In a
                                 marked entry: how many tokens wait to be paid off, see cluster/spend/deferred_mark.h */
    uint32_t tenant : 12;     /* the owner of the key, or TABLE_NOBODY: see table_claim */
    uint16_t limit : 15;      /* index into the limit set */
    uint16_t several : 1; /* the cluster's: it may owe what several tiers of its rule allow, see charge_stop_debt */
    uint8_t last_spender : 7; /* the cluster's: the peer that spent last; 0: not known */
    uint8_t dirty : 1;        /* the cluster's: touched since the store was last told */
    uint8_t own_batch; /* the cluster's: the number, as a trace, of the own batch that was next at the key's last
                      spend; 0: not known. Above every trace: see cluster/spend/deferred_mark.h */
};
_Static_assert(sizeof(struct entry) == 48, "48 bytes a key: 64 with tags and floors at the working load");

/* X(name, meaning). "(now)" marks a gauge. */
#define TABLE_STATS(X)                                                                                             \
    X(used_keys, "keys that owe something (now)")                                                                  \
    X(capacity_keys, "slots for keys; the working load is 0.8 of them (now)")                                      \
    X(table_bytes, "all memory of the table (now)")                                                                \
    X(expired_keys, "full keys that lookups or rounds of the table have forgotten")                                \
    X(evicted_harmless_keys, "full keys that made room in a crowded place")                                        \
    X(evicted_harmful_keys, "keys that owed something and made room")                                              \
    X(lock_waits, "times that a lock was held by another thread: modulo 2^32 for each stripe")

struct table_stats {
#define X(name, help) uint64_t name;
    TABLE_STATS(X)
#undef X
};

/*
 * A table with room for `keys` keys at a load of 0.8 (rounded up to whole groups; keys >= 1) of 1..TABLE_NOBODY
 * tenants. `limits` and `budgets` (one per limit, limits->room of them) belong to the caller, outlive the table, and
 * may change between calls; the set's room may not. Memory is reserved but not touched. NULL when there is not enough.
 */
struct table *table_create(uint64_t keys, uint32_t tenants, const struct limit_set *limits,
                           const struct budget *budgets);
void table_destroy(struct table **table);

/*
 * The owner knows of entries by the fields that they carry for the cluster, and is asked or told before they go. A
 * table has no owner by default.
 */
struct table_owner {
    bool (*keeps)(void *context,
                  const struct entry *entry); /* true: the entry must not be forgotten, full or not */
    void (*evicts)(void *context,
                   struct entry *entry); /* the entry is evicted though it is not full; its mark is gone already */
    void (*moves)(void *context, struct entry *entry); /* the marked entry has moved to another slot */
    void *context;
    bool forgets; /* the owner calls table_forget_full, so lookups need not look for full neighbours */
};
void table_set_owner(struct table *table, const struct table_owner *owner);

/*
 * table_init makes the same table in the caller's memory, except that its entries cannot be marked. The memory must be
 * zero, aligned as calloc aligns, and table_bytes long (a multiple of a cache line; 0: too many keys). The caller frees
 * that memory and must not call table_destroy.
 */
uint64_t table_bytes(uint64_t keys, uint32_t tenants, const struct limit_set *limits);
struct table *table_init(void *memory, uint64_t keys, uint32_t tenants, const struct limit_set *limits,
                         const struct budget *budgets);

/* The memory of all entries, for callers that ask the system for huge pages. */
void *table_memory(struct table *table, size_t *bytes);

/* ---- several threads ---- */

/*
 * From now on several threads use the table. A thread must hold the locks of the keys that it touches, or must be
 * alone: the caller keeps all other threads out. Functions marked "Alone" must be called alone and without locks;
 * so must table_check. The pool of events is shared with the table. Call it once, before the
 * threads start.
 */
void table_share(struct table *table);

enum { TABLE_LOCK_KEYS_MAX = 32 };

/* The stripes that one thread has locked, each once. Lives on the thread's stack. All zero: none. */
struct table_held {
    uint32_t count;
    uint16_t stripe[2 * TABLE_LOCK_KEYS_MAX];
};

/*
 * From here to table_unlock the caller may call every function that takes one of these keys (at most
 * TABLE_LOCK_KEYS_MAX); the locks cover the neighbours that such calls change. The locks spin: the caller must hold
 * them briefly, must not wait for anything meanwhile, and must not lock more keys. Without table_share both calls
 * do nothing.
 */
void table_lock(struct table *table, const struct key_id *ids, uint32_t count, struct table_held *held);
void table_unlock(struct table *table, const struct table_held *held);
/*
 * For one key after the other: unlocks the stripes in `held` (none at first) and locks those of `id`, unless they
 * are the same.
 */
void table_lock_next(struct table *table, struct key_id id, struct table_held *held);

/* ---- looking up ---- */

/*
 * Prefetches the tags that table_prefetch reads. For several keys: first table_prefetch_tags for each, then
 * table_prefetch for each. Both may be called without any lock while other threads change the table.
 */
void table_prefetch_tags(const struct table *table, struct key_id id);
/*
 * Prefetches the slots of `id`; pays when several lookups follow. Returns a hint of the key's slot, never 0: see
 * table_find_at.
 */
uint64_t table_prefetch(const struct table *table, struct key_id id);
/*
 * Reads open_index from the slot of a hint that is not 0, in a table that table_create made. False: the entry is
 * marked. The result is a hint and may be any number: the hint may be wrong, and no lock protects the read.
 */
bool table_peek_open(const struct table *table, uint64_t slot_hint, uint32_t *open_index);

/* The entry of `id`, or NULL: the key then has the state that table_start gives. Valid until the next table_obtain. */
struct entry *table_find(struct table *table, struct key_id id);
/* The same with a hint of any age; 0: no hint. A right hint saves the search. */
struct entry *table_find_at(struct table *table, uint64_t slot_hint, struct key_id id);

/*
 * A number that grows with every insertion, move or removal near `id`. While it stays the same, a pointer to the key's
 * entry stays valid.
 */
uint64_t table_changes(const struct table *table, struct key_id id);

/* True: no key that was not full was ever evicted, so every absent key starts full. */
bool table_absent_start_full(const struct table *table);

/*
 * The entry of `id`, inserted as table_start says if it was absent. Never NULL. The bucket is not refilled. Valid
 * until the next table_obtain. An insertion where few slots are empty looks at a few neighbours and forgets the
 * full ones; some hits look at one neighbour (unless the owner forgets). So full keys may take up three quarters of
 * the table, but never keep a new key out. now_ns may lie in the past, at the moment of a spend that must be
 * charged. `expires_ns`: for a new CELL. An entry that was there may have another limit.
 */
struct entry *table_obtain(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                           uint64_t now_ns);
/* table_obtain after a lookup that did not find `id`, with no other insertion near `id` since. */
struct entry *table_insert(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                           uint64_t now_ns);
/*
 * Looks at `count` slots from slot `from` on, up to table_places, and forgets the full keys that the owner does not
 * keep. Returns how many it forgot. Cheap, since memory is read in order. Alone.
 */
uint64_t table_forget_full(struct table *table, uint64_t from, uint64_t count, uint64_t now_ns);

/*
 * Keys per tenant. A new entry belongs to tenant 0; table_claim gives it to another one, or to nobody (TABLE_NOBODY).
 * Claiming is constant-time.
 */
void table_claim(struct table *table, struct entry *entry, uint16_t tenant);
/* The keys of one tenant (not TABLE_NOBODY). Those of tenant 0 are summed up over the stripes. */
uint64_t table_tenant_keys(const struct table *table, uint16_t tenant);
/* The keys of the tenant that has the most. */
uint64_t table_most_tenant_keys(const struct table *table);
/*
 * table_obtain for a spend of another peer. A new entry belongs to TABLE_NOBODY until a request claims it here.
 */
struct entry *table_obtain_nobodys(struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns,
                                   uint64_t now_ns);
/* Bounds the keys of each tenant by `keys`, and those of tenant 0 by `zero_keys`; 0: no bound. Alone. */
void table_set_tenant_keys_max(struct table *table, uint64_t keys, uint64_t zero_keys);
/*
 * Whether the tenant may have `count` keys more near `id`. Insertions do not check this; their callers must. A shared
 * table bounds tenant 0 in each stripe separately, so its sum over all stripes may be somewhat above the bound.
 */
bool table_tenant_has_room(const struct table *table, struct key_id id, uint16_t tenant, uint64_t count);

/*
 * What table_obtain would start an absent key from: full, but not before the moment when the last full key of
 * this limit was forgotten, and no higher than its group's floor. For reading only: a LOG that starts lower has no list
 * yet.
 */
void table_start(const struct table *table, struct key_id id, uint16_t limit, uint64_t expires_ns, uint64_t now_ns,
                 struct bucket *bucket);

/*
 * Sets the least share of all budgets (0 at first); must be called when it changes. Floors of keys that were evicted
 * under several limits are paid off at that share.
 */
void table_set_share_min(struct table *table, uint64_t share);

/* ---- marks: a few entries are found among many ---- */

/*
 * Where the mark of an entry is. A marked entry is found by the functions below, wherever it moves. Marks may be
 * set, unset and read under the key's lock. Only entries of a table that table_create made can be marked. A mark
 * goes with its entry: see table_owner. Valid as long as a pointer to the entry.
 */
struct table_mark {
    uint64_t *marks; /* two words: marks set since table_age_marks last came by, and older ones */
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
/* Always false in a table that table_init made. */
bool table_is_marked(const struct table *table, const struct entry *entry);
/*
 * True: the entry is marked and was so when table_age_marks last came by. A mark that moved since may be young
 * again.
 */
bool table_is_marked_long(const struct table *table, const struct entry *entry);
/* The number of slots. */
uint64_t table_places(const struct table *table);
/*
 * The first marked entry in slots [*from, end), behind which *from moves. NULL: there is none, and *from is `end`. Fast
 * where few are marked. Alone.
 */
struct entry *table_find_marked(const struct table *table, uint64_t *from, uint64_t end);

/*
 * Visits every marked entry whose id begins with the prefix, as table_visit does. `visit` may unmark the entry.
 * Alone.
 */
void table_visit_marked(const struct table *table, uint64_t prefix, unsigned prefix_bits,
                        void (*visit)(void *context, struct entry *entry), void *context);

/* Marks grow old in words: `from` and `end` below must be multiples of TABLE_MARKS, or the number of slots. */
enum { TABLE_MARKS = 64 };
struct table_aged {
    uint32_t count;
    struct entry *entry[TABLE_MARKS]; /* prefetched */
    uint64_t forgotten, young;        /* marks that were removed; marks made since the last call for these slots */
};
/* Which marked entries table_age_marks finds. */
enum table_aging {
    AGING_ALL,
    AGING_OLD,    /* entries marked before the last call for these slots */
    AGING_FORGET, /* old entries that were marked again since; other old marks go without a look at the entry */
};
/* Goes on from *from until several entries are found, or to `end` (then fewer or none are found). Alone. */
void table_age_marks(struct table *table, uint64_t *from, uint64_t end, enum table_aging aging,
                     struct table_aged *aged);

/* Visits every entry whose id.high begins with the `prefix_bits` (0..32) low bits of `prefix`; read-only. */
void table_visit(const struct table *table, uint64_t prefix, unsigned prefix_bits,
                 void (*visit)(void *context, const struct entry *entry), void *context);

/*
 * The most that evicted keys may owe. All zero: nothing. Durations and parts of the capacity mean the same under every
 * limit and at every peer.
 */
struct table_owed {
    uint64_t refill_ns; /* BUCKETs: ns of refill until full and paid off */
    uint64_t window_ns; /* CELLs and LOGs: until all of it is over */
    uint64_t
        window_used; /* the used part of the capacity until then, in 1/TABLE_USED_ONE; unsettled spends weigh more */
};
#define TABLE_USED_ONE ((uint64_t)1 << 24)

/* The worst of all evicted keys whose ids begin with the prefix. */
void table_owed(const struct table *table, uint64_t prefix, unsigned prefix_bits, uint64_t now_ns,
                struct table_owed *owed);

/*
 * Takes over what another table's evicted keys of that prefix may owe. Absent keys of the prefix start from no
 * more, and entries for which `spared` returns false are lowered to it.
 */
void table_lower(struct table *table, uint64_t prefix, unsigned prefix_bits, const struct table_owed *owed,
                 uint64_t now_ns, bool (*spared)(void *context, const struct entry *entry), void *context);

/* Absent keys are known to be full at now_ns, not earlier: they start at that moment, whatever time a caller gives. */
void table_absent_are_full(struct table *table, uint64_t now_ns);

/* The caller holds no locks. While other threads go on, each stripe is read at a moment of its own. */
void table_stats(const struct table *table, struct table_stats *stats);

/* Asserts every invariant of the structure: for tests and the simulator. */
void table_check(const struct table *table);

#endif
