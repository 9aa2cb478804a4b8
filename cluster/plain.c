#include "cluster/parts.h"
#include "limit/bucket_inline.h"

#include <assert.h>

/*
 * Most requests concern keys that are in the table, under the limits that their rules have now, and all rules allow
 * them. These are decided in one pass and charged in another, with nothing looked up twice. Whatever is otherwise is
 * left to check.c, as it was.
 */

/* A key of the request, and what it is counted by. */
struct key {
    struct entry *entry;
    const struct limit *limit;
    const struct budget *budget;
};

/* Nothing but the key's tokens has to be seen to. */
static inline bool is_plain(const struct node *node, const struct charge *charge, const struct key *key)
{
    const struct entry *entry = key->entry;
    return entry && entry->limit == charge->limit && entry->tenant == charge->tenant && !charge->sliding &&
           (key->limit->kind == LIMIT_BUCKET ||
            (key->limit->kind == LIMIT_CELL && entry->bucket.expires_ns >= charge->expires_ns)) &&
           !(charge->on_isolation == ISOLATION_CLOSED && node->somebody_silent);
}

/* Spends that are allowed, and told if they are to be told: there is room. */
static inline void spend(struct node *node, const struct charge *charge, const struct key *key, uint64_t now_ns)
{
    struct entry *entry = key->entry;
    (void)bucket_spend_here(&entry->bucket, key->limit, key->budget, charge->cost, now_ns);
    if (node->alone && (key->limit->flags & LIMIT_PERSISTENT) == 0)
        entry->last_spender = (node->me + 1) & 0x7f; /* all that there is to record */
    else
        record_spend(node, entry, charge->cost);
    if (!key->budget->alone && charge->cost > 0)
        hurry_if_low(node, entry, key->budget);
}

static inline void describe(const struct charge *charge, const struct key *key, uint64_t now_ns,
                            struct verdict *verdict)
{
    const struct bucket *bucket = &key->entry->bucket;
    verdict->allowed = true;
    verdict->reason = VERDICT_ALLOWED;
    verdict->limit_tokens = key->limit->capacity;
    verdict->remaining_tokens = bucket_remaining_here(bucket, key->limit, key->budget, charge->floor_tokens);
    verdict->retry_after_ns = 0;
    verdict->reset_after_ns = bucket_reset_after_ns_here(bucket, key->limit, now_ns, charge->window_end_ns);
}

bool take_all_plain(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns,
                    struct verdict *verdicts)
{
    struct key keys[CHARGES_MAX];
    uint64_t tokens = 0;
    assert(count <= CHARGES_MAX);
    if (!may_decide(node) || !can_record_any(node, (uint32_t)count))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct charge *charge = &charges[i];
        struct key *key = &keys[i];
        assert(limit_set_has(&node->limits, charge->limit));
        key->entry = table_find(node->table, charge->id);
        key->limit = &node->limits.limit[charge->limit];
        key->budget = &node->budget[charge->limit];
        if (!is_plain(node, charge, key))
            return false;
        bucket_refill_here(&key->entry->bucket, key->limit, key->budget, now_ns);
        if (!bucket_allows_here(&key->entry->bucket, key->limit, key->budget, charge->cost, charge->floor_tokens))
            return false;
    }
    if (count > 0)
        note_open(node, now_ns);
    for (size_t i = 0; i < count; i++) {
        spend(node, &charges[i], &keys[i], now_ns);
        describe(&charges[i], &keys[i], now_ns, &verdicts[i]);
        tokens += charges[i].cost;
    }
    for (size_t i = 0; i < count; i++)
        table_pass_by(node->table, keys[i].entry, now_ns);
    struct lane *lane = own_lane(node);
    lane->admitted_tokens += tokens;
    lane->admitted_requests++;
    return true;
}
