#include "cluster/plain.h"
#include "limit/bucket_inline.h"

#include <assert.h>

/*
 * All keys are decided over in one pass, and charged in another. What comes of it is what check.c would come to.
 */

/* The keys of one request. */
struct keys {
    struct entry *entry[CHARGES_MAX]; /* NULL: it is not in the table */
    int64_t allowance[CHARGES_MAX];   /* after its refill; where others share the limit, spends leave it as it is */
    uint64_t changes[CHARGES_MAX];    /* of the table, when the entry was obtained, if some are new */
};

bool plain_of(const struct node *node, const struct charge *charges, size_t count, struct plain *plain)
{
    assert(count <= CHARGES_MAX);
    if (!may_decide(node))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct charge *charge = &charges[i];
        assert(limit_set_has(&node->limits, charge->limit));
        plain[i] = (struct plain){.charge = charge,
                                  .limit = &node->limits.limit[charge->limit],
                                  .budget = &node->budget[charge->limit],
                                  .recording = recording_under(node, charge->limit)};
        if (plain[i].limit->kind == LIMIT_LOG || charge->sliding ||
            (charge->on_isolation == ISOLATION_CLOSED && node->somebody_silent))
            return false;
    }
    return true;
}

static inline bool is_plain_entry(const struct plain *plain, const struct entry *entry)
{
    const struct charge *charge = plain->charge;
    return entry->limit == charge->limit && entry->tenant == charge->tenant &&
           (plain->limit->kind == LIMIT_BUCKET || entry->bucket.expires_ns >= charge->expires_ns);
}

/* It may start, full, and is allowed then. `count`: of keys that the request may add, all of one tenant at most. */
static bool allows_new(const struct node *node, const struct plain *plain, struct key_id id, size_t count)
{
    const struct charge *charge = plain->charge;
    const struct bucket full = {.settled = plain->limit->capacity_units};
    return table_absent_start_full(node->table) && table_tenant_has_room(node->table, id, charge->tenant, count) &&
           bucket_allows_here(&full, plain->limit, plain->budget, charge->cost, charge->floor_tokens);
}

/* Spends what is allowed, and tells if it is to be told: there is room. Returns the allowance afterwards. */
static inline int64_t spend(struct node *node, const struct plain *plain, struct entry *entry, int64_t allowance,
                            uint64_t now_ns)
{
    const uint64_t cost = plain->charge->cost;
    (void)bucket_spend_here(&entry->bucket, plain->limit, plain->budget, cost, now_ns);
    record_here(node, &plain->recording, entry, cost);
    if (plain->budget->alone)
        return entry->bucket.settled;
    if (cost > 0)
        hurry_if_low(node, entry, allowance);
    return allowance;
}

static inline void describe(const struct plain *plain, const struct bucket *bucket, int64_t allowance,
                            uint64_t now_ns, struct verdict *verdict)
{
    const struct charge *charge = plain->charge;
    verdict->allowed = true;
    verdict->reason = VERDICT_ALLOWED;
    verdict->limit_tokens = plain->limit->capacity;
    verdict->remaining_tokens =
        __builtin_expect(charge->floor_tokens > 0, 0)
            ? bucket_remaining_here(bucket, plain->limit, plain->budget, charge->floor_tokens)
            : bucket_remaining_of(bucket, plain->limit, allowance);
    verdict->retry_after_ns = 0;
    verdict->reset_after_ns = bucket_reset_after_ns_here(bucket, plain->limit, now_ns, charge->window_end_ns);
}

/* A key that an earlier charge of the request is of as well. */
static bool is_repeated(const struct key_id *ids, size_t index)
{
    for (size_t i = 0; i < index; i++)
        if (key_id_equal(ids[i], ids[index]))
            return true;
    return false;
}

/* Returns the allowance that is left then. */
static inline int64_t refill(const struct plain *plain, struct entry *entry, uint64_t now_ns)
{
    bucket_refill_here(&entry->bucket, plain->limit, plain->budget, now_ns);
    return budget_allowance_here(plain->budget, entry->bucket.settled);
}

/* Key number `i` gets an entry, or keeps the one it has, wherever that is by now. */
static void obtain(struct node *node, const struct plain *plain, struct key_id id, bool absent, uint64_t now_ns,
                   struct keys *keys, size_t i)
{
    const struct charge *charge = plain->charge;
    struct entry *entry =
        (absent ? table_insert : table_obtain)(node->table, id, charge->limit, charge->expires_ns, now_ns);
    if (entry->tenant != charge->tenant)
        table_claim(node->table, entry, charge->tenant);
    keys->entry[i] = entry;
    keys->allowance[i] = refill(plain, entry, now_ns);
    keys->changes[i] = table_changes(node->table, id);
}

/*
 * All of them are allowed, and some are new. Making room for one may move others, or forget those that are full, which
 * then begin anew. Only if somebody is evicted at his own expense, some key may have less than it had: then false, with
 * nothing charged.
 */
static bool obtain_all(struct node *node, const struct plain *plain, const struct key_id *ids, size_t count,
                       uint64_t now_ns, struct keys *keys)
{
    for (size_t i = 0; i < count; i++)
        obtain(node, &plain[i], ids[i], !keys->entry[i] && !is_repeated(ids, i), now_ns, keys, i);
    return table_absent_start_full(node->table);
}

static inline void spend_all(struct node *node, const struct plain *plain, const struct key_id *ids, size_t count,
                             bool some_new, uint64_t now_ns, struct keys *keys, struct verdict *verdicts)
{
    struct lane *lane = own_lane(node);
    if (count > 0)
        note_open(lane, now_ns);
    for (size_t i = 0; i < count; i++) {
        if (some_new && keys->changes[i] != table_changes(node->table, ids[i]))
            obtain(node, &plain[i], ids[i], false, now_ns, keys, i);
        struct entry *entry = keys->entry[i];
        int64_t allowance = spend(node, &plain[i], entry, keys->allowance[i], now_ns);
        describe(&plain[i], &entry->bucket, allowance, now_ns, &verdicts[i]);
        lane->admitted_tokens += plain[i].charge->cost;
    }
    lane->admitted_requests++;
}

bool take_plain(struct node *node, const struct plain *plain, const struct key_id *ids, const uint64_t *guesses,
                size_t count, uint64_t now_ns, struct verdict *verdicts)
{
    struct keys keys;
    bool some_new = false;
    assert(count <= CHARGES_MAX);
    if (!can_record_any(node, (uint32_t)count))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct charge *charge = plain[i].charge;
        struct entry *entry = table_find_at(node->table, guesses[i], ids[i]);
        keys.entry[i] = entry;
        if (!entry) {
            if (!allows_new(node, &plain[i], ids[i], count))
                return false;
            some_new = true;
            continue;
        }
        if (!is_plain_entry(&plain[i], entry))
            return false;
        keys.allowance[i] = refill(&plain[i], entry, now_ns);
        if (!bucket_allows_knowing(&entry->bucket, plain[i].limit, plain[i].budget, charge->cost,
                                   charge->floor_tokens, keys.allowance[i]))
            return false;
    }
    if (some_new && !obtain_all(node, plain, ids, count, now_ns, &keys))
        return false;
    spend_all(node, plain, ids, count, some_new, now_ns, &keys, verdicts);
    return true;
}
