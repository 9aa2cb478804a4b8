#include "cluster/record.h"
#include "limit/bucket_inline.h"

#include <assert.h>

/*
 * Most requests concern keys that are in the table, under the limits that their rules have now, or new ones that start
 * full, and all rules allow them. These are decided in one pass and charged in another. Whatever is otherwise is left
 * to check.c, as it was. What both do comes to the same, down to which neighbours are looked at.
 */

/* A key of the request, and what it is counted by. */
struct key {
    struct entry *entry; /* NULL: it is not in the table */
    const struct limit *limit;
    const struct budget *budget;
    int64_t allowance; /* after its refill; where others share the limit, spends leave it as it is */
    uint64_t changes;  /* of the table, when the entry was obtained */
};

/* Nothing but tokens has to be seen to. */
static inline bool is_plain(const struct node *node, const struct charge *charge, const struct limit *limit)
{
    return limit->kind != LIMIT_LOG && !charge->sliding &&
           !(charge->on_isolation == ISOLATION_CLOSED && node->somebody_silent);
}

static inline bool is_plain_entry(const struct charge *charge, const struct limit *limit, const struct entry *entry)
{
    return entry->limit == charge->limit && entry->tenant == charge->tenant &&
           (limit->kind == LIMIT_BUCKET || entry->bucket.expires_ns >= charge->expires_ns);
}

/* So many keys more may be in the table, all in the name of that tenant. */
static inline bool admits_keys(const struct node *node, uint16_t tenant, size_t count)
{
    return tenant == 0 || node->tenant_keys_max == 0 ||
           table_tenant_keys(node->table, tenant) + count <= node->tenant_keys_max;
}

/* It may start, full, and is allowed then. `count`: of keys that the request may add. */
static bool allows_new(const struct node *node, const struct charge *charge, const struct key *key, size_t count)
{
    const struct bucket full = {.settled = key->limit->capacity_units};
    return table_absent_start_full(node->table) && admits_keys(node, charge->tenant, count) &&
           bucket_allows_here(&full, key->limit, key->budget, charge->cost, charge->floor_tokens);
}

/* Spends what is allowed, and tells if it is to be told: there is room. Returns the allowance afterwards. */
static inline int64_t spend(struct node *node, const struct charge *charge, const struct key *key, uint64_t now_ns)
{
    struct entry *entry = key->entry;
    (void)bucket_spend_here(&entry->bucket, key->limit, key->budget, charge->cost, now_ns);
    const struct recording recording = recording_under(node, charge->limit);
    record_here(node, &recording, entry, charge->cost);
    if (key->budget->alone)
        return entry->bucket.settled;
    if (charge->cost > 0)
        hurry_if_low(node, entry, key->allowance);
    return key->allowance;
}

static inline void describe(const struct charge *charge, const struct key *key, int64_t allowance, uint64_t now_ns,
                            struct verdict *verdict)
{
    const struct bucket *bucket = &key->entry->bucket;
    verdict->allowed = true;
    verdict->reason = VERDICT_ALLOWED;
    verdict->limit_tokens = key->limit->capacity;
    verdict->remaining_tokens = __builtin_expect(charge->floor_tokens > 0, 0)
                                    ? bucket_remaining_here(bucket, key->limit, key->budget, charge->floor_tokens)
                                    : bucket_remaining_of(bucket, key->limit, allowance);
    verdict->retry_after_ns = 0;
    verdict->reset_after_ns = bucket_reset_after_ns_here(bucket, key->limit, now_ns, charge->window_end_ns);
}

/* A key that an earlier charge of the request is of as well. */
static bool is_repeated(const struct charge *charges, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (key_id_equal(charges[i].id, charges[index].id))
            return true;
    return false;
}

static inline void refill(struct key *key, uint64_t now_ns)
{
    bucket_refill_here(&key->entry->bucket, key->limit, key->budget, now_ns);
    key->allowance = budget_allowance_here(key->budget, key->entry->bucket.settled);
}

/* After its refill. */
static inline bool allows(const struct charge *charge, const struct key *key)
{
    return bucket_allows_knowing(&key->entry->bucket, key->limit, key->budget, charge->cost, charge->floor_tokens,
                                 key->allowance);
}

/* The key gets an entry, or keeps the one it has, wherever that is by now. */
static inline void obtain(struct node *node, const struct charge *charge, bool absent, uint64_t now_ns,
                          struct key *key)
{
    key->entry =
        (absent ? table_insert : table_obtain)(node->table, charge->id, charge->limit, charge->expires_ns, now_ns);
    if (key->entry->tenant != charge->tenant)
        table_claim(node->table, key->entry, charge->tenant);
    refill(key, now_ns);
    key->changes = table_changes(node->table, charge->id);
}

/*
 * All of them are allowed, and some are new. Making room for one may move others, or forget those that are full, which
 * then begin anew. Only if somebody is evicted at his own expense, some key may have less than it had: then false, with
 * nothing charged.
 */
static bool obtain_all(struct node *node, const struct charge *charges, size_t count, struct key *keys,
                       uint64_t now_ns)
{
    for (size_t i = 0; i < count; i++)
        obtain(node, &charges[i], !keys[i].entry && !is_repeated(charges, i), now_ns, &keys[i]);
    return table_absent_start_full(node->table);
}

static void spend_all(struct node *node, const struct charge *charges, size_t count, struct key *keys,
                      bool some_new, uint64_t now_ns, struct verdict *verdicts)
{
    uint64_t tokens = 0;
    if (count > 0)
        note_open(own_lane(node), now_ns);
    for (size_t i = 0; i < count; i++) {
        if (some_new && keys[i].changes != table_changes(node->table, charges[i].id))
            obtain(node, &charges[i], false, now_ns, &keys[i]);
        int64_t allowance = spend(node, &charges[i], &keys[i], now_ns);
        describe(&charges[i], &keys[i], allowance, now_ns, &verdicts[i]);
        tokens += charges[i].cost;
    }
    struct lane *lane = own_lane(node);
    lane->admitted_tokens += tokens;
    lane->admitted_requests++;
}

bool take_all_plain(struct node *node, const struct charge *charges, const uint64_t *guesses, size_t count,
                    uint64_t now_ns, struct verdict *verdicts)
{
    struct key keys[CHARGES_MAX];
    struct entry *entries[CHARGES_MAX];
    bool some_new = false;
    assert(count <= CHARGES_MAX);
    if (!may_decide(node) || !can_record_any(node, (uint32_t)count))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct charge *charge = &charges[i];
        struct key *key = &keys[i];
        struct entry *entry = table_find_at(node->table, guesses ? guesses[i] : 0, charge->id);
        assert(limit_set_has(&node->limits, charge->limit));
        key->entry = entries[i] = entry;
        key->limit = &node->limits.limit[charge->limit];
        key->budget = &node->budget[charge->limit];
        if (!is_plain(node, charge, key->limit))
            return false;
        if (!entry) {
            if (!allows_new(node, charge, key, count))
                return false;
            some_new = true;
            continue;
        }
        if (!is_plain_entry(charge, key->limit, entry))
            return false;
        refill(key, now_ns);
        if (!allows(charge, key))
            return false;
    }
    if (some_new && !obtain_all(node, charges, count, keys, now_ns))
        return false;
    spend_all(node, charges, count, keys, some_new, now_ns, verdicts);
    if (!some_new)
        table_pass_by(node->table, entries, count, now_ns);
    return true;
}
