/*
 * decide_fast: the kernel that decides nearly every request, always in line.
 *
 * The one idea: requests of a run share their terms. The caller looks the terms up once (terms_of).
 * The kernel then decides each request over keys that stand in the table under these terms, or that
 * start full. It either decides as decide_full.c would, bit for bit, or changes nothing and leaves
 * the request to that file. Only for decide.c, which instantiates the kernel for one charge without
 * figures, and for any number of charges with figures.
 */
#ifndef HEADGATE_CLUSTER_SPEND_DECIDE_FAST_H
#define HEADGATE_CLUSTER_SPEND_DECIDE_FAST_H

#include "cluster/spend/contest.h"
#include "cluster/spend/record.h"
#include "cluster/spend/voucher.h"
#include "limit/bucket_inline.h"
#include "limit/kind.h"

#include <assert.h>

/* The terms of a charge, for any key. Valid until the next step. */
struct terms {
    const struct charge *charge; /* its id is not read */
    const struct limit *limit;   /* of the charge, like the next two */
    const struct budget *budget;
    struct recording recording;
};

enum fast_outcome {
    FAST_UNDECIDED, /* no charge was made: decide_full.c decides */
    FAST_ALLOWED,   /* every key was charged */
    FAST_REFUSED,   /* no charge was made, and the refusal is final */
};

/* The keys of one request. */
struct fast_keys {
    struct entry *entry[CHARGES_MAX]; /* NULL: the key is not in the table */
    /* after the key's refill; spends under a shared limit do not change it */
    int64_t allowance[CHARGES_MAX];
    /* table_changes when the entry was obtained, if some keys are new */
    uint64_t changes[CHARGES_MAX];
};

/*
 * False: some charge needs decide_full.c, whatever its key. `terms` must have room for one of each
 * charge.
 */
static inline bool terms_of(const struct node *node, const struct charge *charges, size_t count,
                            struct terms *terms)
{
    if (!may_decide(node))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct charge *charge = &charges[i];
        assert(limit_set_has(&node->limits, charge->limit));
        const struct limit *limit = &node->limits.limit[charge->limit];
        if (kind_lists(limit->kind) || charge->sliding || charge->cost > limit->capacity ||
            (charge->on_isolation == ISOLATION_CLOSED && node->awake.somebody_silent))
            return false;
        terms[i] = (struct terms){.charge = charge,
                                  .limit = limit,
                                  .budget = &node->by_limit.budget[charge->limit],
                                  .recording = recording_under(node, charge->limit)};
    }
    return true;
}

/* True if a refusal under these terms refuses the request, and needs no figures. */
static inline bool terms_refuse_finally(const struct node *node, const struct charge *charge)
{
    return !charge->shadow && (charge->on_isolation != ISOLATION_OPEN || !node->awake.somebody_silent);
}

static inline bool fast_is_expected(const struct terms *terms, const struct entry *entry)
{
    const struct charge *charge = terms->charge;
    return entry->limit == charge->limit && entry->tenant == charge->tenant &&
           (kind_refills(terms->limit->kind) ||
            (entry->bucket.expires_ns >= charge->expires_ns && !charge_begins_with_spend(charge)));
}

/* Returns the allowance after the refill. */
static inline int64_t fast_refill(const struct terms *terms, struct entry *entry, uint64_t now_ns)
{
    bucket_refill_inline(&entry->bucket, terms->limit, terms->budget, now_ns);
    return budget_allowance_inline(terms->budget, entry->bucket.settled);
}

static inline bool fast_allows(const struct terms *terms, const struct entry *entry, int64_t allowance)
{
    return bucket_allows_knowing(&entry->bucket, terms->limit, terms->budget, terms->charge->cost,
                                 terms->charge->floor_tokens, allowance);
}

/* Gives key `i` an entry, or finds its entry again, wherever the entry is by now. */
static inline void fast_obtain(struct node *node, const struct terms *terms, struct key_id id, bool absent,
                               uint64_t now_ns, struct fast_keys *keys, size_t i)
{
    const struct charge *charge = terms->charge;
    struct entry *entry =
        (absent ? table_insert : table_obtain)(node->table, id, charge->limit, charge->expires_ns, now_ns);
    if (entry->tenant != charge->tenant)
        table_claim(node->table, entry, charge->tenant);
    keys->entry[i] = entry;
    keys->allowance[i] = fast_refill(terms, entry, now_ns);
    keys->changes[i] = table_changes(node->table, id);
}

/*
 * In decide.c: true if the key, one of several of its request, may start, full, and then allows its
 * charge.
 */
bool fast_allows_new(const struct node *node, const struct terms *terms, struct key_id id, size_t count);
/*
 * In decide.c: every key allows its charge, and some are new. Room for one key may move other
 * entries, or remove full ones, which then start again. False: a key that owed tokens was evicted,
 * so some key may have less than it had.
 */
bool fast_obtain_all(struct node *node, const struct terms *terms, const struct key_id *ids, size_t count,
                     uint64_t now_ns, struct fast_keys *keys);

/* In decide.c: counts the refusal of a charge for good, by the reason that decide_full.c would give. */
void fast_count_refused(struct node *node, struct thread_state *thread, const struct terms *terms,
                        const struct entry *entry, uint64_t now_ns);

/* In decide.c: counts what peers have granted among the available tokens. */
void fast_add_granted(struct node *node, const struct terms *terms, struct key_id id, uint64_t now_ns,
                      struct verdict *verdict);

/* Finds the keys and decides over them; makes no charge. */
__attribute__((always_inline)) static inline enum fast_outcome
fast_decide_keys(struct node *node, struct thread_state *thread, const struct terms *terms,
                 const struct key_id *ids, const uint64_t *hints, size_t count, bool final, uint64_t now_ns,
                 struct fast_keys *keys, bool *some_new)
{
    if (count > 1 && !can_record_any(node, thread, (uint32_t)count))
        return FAST_UNDECIDED;
    for (size_t i = 0; i < count; i++) {
        struct entry *entry = keys->entry[i] = table_find_at(node->table, hints[i], ids[i]);
        if (!entry && count == 1) {
            if (!thread_has_room(node, thread, 0) ||
                !table_tenant_has_room(node->table, ids[0], terms->charge->tenant, 1))
                return FAST_UNDECIDED;
            fast_obtain(node, terms, ids[0], true, now_ns, keys, 0);
            entry = keys->entry[0];
        } else if (!entry) {
            if (!fast_allows_new(node, &terms[i], ids[i], count))
                return FAST_UNDECIDED;
            *some_new = true;
            continue;
        } else {
            if (!fast_is_expected(&terms[i], entry))
                return FAST_UNDECIDED;
            keys->allowance[i] = fast_refill(&terms[i], entry, now_ns);
        }
        if (count == 1 && !can_record_inline(node, thread, &terms->recording, entry))
            return FAST_UNDECIDED;
        if (fast_allows(&terms[i], entry, keys->allowance[i])) {
            if (__builtin_expect(contest_concerns(node, ids[i]), 0))
                return FAST_UNDECIDED;
            continue;
        }
        if (!final || voucher_may_help(node, ids[i], &entry->bucket, terms[i].limit, terms[i].charge->cost) ||
            contest_samples(node, thread, now_ns))
            return FAST_UNDECIDED;
        fast_count_refused(node, thread, &terms[i], entry, now_ns);
        record_hurry_if_in_outbox(node, entry);
        return FAST_REFUSED;
    }
    return FAST_ALLOWED;
}

/* Makes an allowed charge and records it; there must be room. Returns the allowance afterwards. */
static inline int64_t fast_spend(struct node *node, const struct terms *terms, struct entry *entry,
                                 int64_t allowance, uint64_t now_ns)
{
    const uint64_t cost = terms->charge->cost;
    (void)bucket_spend_inline(&entry->bucket, terms->limit, terms->budget, cost, now_ns);
    record_inline(node, &terms->recording, entry, cost);
    if (terms->budget->alone)
        return entry->bucket.settled;
    if (cost > 0)
        record_hurry_if_low(node, entry, allowance);
    return allowance;
}

__attribute__((always_inline)) static inline void fast_describe(const struct terms *terms,
                                                                const struct bucket *bucket, int64_t allowance,
                                                                uint64_t now_ns, struct verdict *verdict)
{
    const struct charge *charge = terms->charge;
    verdict->allowed = true;
    verdict->reason = VERDICT_ALLOWED;
    verdict->limit_tokens = terms->limit->capacity;
    verdict->remaining_tokens = bucket_remaining_inline(bucket, terms->limit, charge->floor_tokens);
    if (__builtin_expect(charge->floor_tokens > 0, 0))
        verdict->available_tokens =
            bucket_available_inline(bucket, terms->limit, terms->budget, charge->floor_tokens);
    else if (allowance == bucket->settled) /* all that remains is available: saves a division */
        verdict->available_tokens = verdict->remaining_tokens;
    else
        verdict->available_tokens = bucket_available_of(bucket, terms->limit, allowance);
    verdict->retry_after_ns = 0;
    const uint64_t window_end_ns =
        kind_refills(terms->limit->kind) ? 0 : charge_window_end_ns(charge, bucket); /* 0: it has no window */
    verdict->reset_after_ns = bucket_reset_after_ns_inline(bucket, terms->limit, now_ns, window_end_ns);
}

/*
 * Decides one request over `count` keys, which the caller must have locked, and makes all charges
 * or none. `hints`: of table_prefetch, or 0. `final`: see terms_refuse_finally; for one charge
 * only. `verdicts` is NULL if no figures are wanted.
 */
__attribute__((always_inline)) static inline enum fast_outcome
decide_fast(struct node *node, const struct terms *terms, const struct key_id *ids, const uint64_t *hints,
            size_t count, bool final, uint64_t now_ns, struct verdict *verdicts)
{
    struct fast_keys keys;
    struct thread_state *thread = own_thread(node);
    bool some_new = false;
    uint64_t tokens = 0;
    enum fast_outcome outcome =
        fast_decide_keys(node, thread, terms, ids, hints, count, final, now_ns, &keys, &some_new);
    if (outcome != FAST_ALLOWED)
        return outcome;
    if (some_new && !fast_obtain_all(node, terms, ids, count, now_ns, &keys))
        return FAST_UNDECIDED;
    if (count > 0)
        note_open(thread, now_ns);
    for (size_t i = 0; i < count; i++) {
        if (some_new && keys.changes[i] != table_changes(node->table, ids[i]))
            fast_obtain(node, &terms[i], ids[i], false, now_ns, &keys, i);
        int64_t allowance = fast_spend(node, &terms[i], keys.entry[i], keys.allowance[i], now_ns);
        if (verdicts) {
            fast_describe(&terms[i], &keys.entry[i]->bucket, allowance, now_ns, &verdicts[i]);
            if (__builtin_expect(voucher_may_be_held(node, ids[i]), 0))
                fast_add_granted(node, &terms[i], ids[i], now_ns, &verdicts[i]);
        }
        tokens += terms[i].charge->cost;
    }
    thread->admitted_tokens += tokens;
    thread->admitted_requests++;
    return FAST_ALLOWED;
}

#endif
