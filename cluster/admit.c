#include "cluster/state.h"

#include <assert.h>

bool is_in_open(const struct node *node, const struct entry *entry)
{
    return entry->open_index < node->open_count && key_id_equal(node->open[entry->open_index].id, entry->id) &&
           node->open[entry->open_index].limit == entry->limit;
}

/* Notes a spend for the next batch; there is room. */
static void record_spend(struct node *node, struct entry *entry, uint64_t cost)
{
    if (!is_in_open(node, entry)) {
        entry->open_index = (uint16_t)node->open_count;
        entry->own_batch = batch_trace(node->origin[node->my_slot].applied + 1);
        node->open[node->open_count++] = (struct spend){.id = entry->id, .limit = entry->limit};
    }
    struct spend *spend = &node->open[entry->open_index];
    spend->tokens += cost;
    const struct limit *limit = &node->limits.limit[entry->limit];
    int64_t units;
    if (__builtin_mul_overflow(spend->tokens, limit->units_per_token, &units) ||
        units >= node->early_units[entry->limit] || node->open_count > node->open_max / 2)
        node->push_wanted = true;
}

static uint64_t clamp_now(const struct node *node, uint64_t now_ns)
{
    return now_ns > node->now_ns ? now_ns : node->now_ns;
}

/* NULL with a reason when nothing can be admitted whatever the key. */
static struct entry *entry_for(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns,
                               enum verdict_reason *reason)
{
    assert(limit_set_has(&node->limits, limit));
    if (node->state != PEER_ACTIVE || node->stopping || node->superseded) {
        *reason = VERDICT_JOINING;
        return NULL;
    }
    if (cost > node->limits.limit[limit].capacity) {
        *reason = VERDICT_TOO_LARGE;
        return NULL;
    }
    struct entry *entry = table_obtain(node->table, id, limit, 0, now_ns);
    if (!node->budget[limit].alone &&
        (node->log_full || (node->open_count >= node->open_max && !is_in_open(node, entry)))) {
        *reason = VERDICT_OVERLOAD;
        node->push_wanted = true;
        return NULL;
    }
    return entry;
}

static bool take(struct node *node, struct entry *entry, uint64_t cost, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->budget[entry->limit];
    if (!bucket_take(&entry->bucket, limit, budget, cost, 0, now_ns)) {
        node->stats.refused_requests++;
        node->hurry_wanted |= is_in_open(node, entry);
        return false;
    }
    if (!budget->alone && cost > 0) {
        record_spend(node, entry, cost);
        node->hurry_wanted |= entry->bucket.unsettled > bucket_allowance(&entry->bucket, budget) / 2;
    }
    entry->last_spender = (node->me + 1) & 0x7f;
    node->stats.admitted_requests++;
    node->stats.admitted_tokens += cost;
    return true;
}

bool node_can_access(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns)
{
    enum verdict_reason reason;
    now_ns = clamp_now(node, now_ns);
    struct entry *entry = entry_for(node, id, limit, cost, now_ns, &reason);
    if (!entry) {
        node->stats.refused_requests++;
        return false;
    }
    return take(node, entry, cost, now_ns);
}

/* How long until own spends are expected to be known everywhere. */
static uint64_t settling_ns(const struct node *node)
{
    return node->somebody_silent ? UINT64_MAX : node->settle_ns;
}

static struct verdict verdict_of(const struct node *node, const struct bucket *bucket, uint16_t index,
                                 uint64_t cost, bool allowed)
{
    const struct limit *limit = &node->limits.limit[index];
    const struct budget *budget = &node->budget[index];
    struct verdict verdict = {
        .allowed = allowed,
        .reason = VERDICT_ALLOWED,
        .limit_tokens = limit->capacity,
        .remaining_tokens = bucket_remaining(bucket, limit, budget, 0),
        .reset_after_ns = bucket_reset_after_ns(bucket, limit, node->now_ns, 0),
    };
    if (allowed)
        return verdict;
    const struct bucket_wait wait = {.cost = cost, .settle_ns = settling_ns(node)};
    verdict.retry_after_ns = bucket_retry_after_ns(bucket, limit, budget, &wait);
    int64_t left = bucket->settled - bucket->unsettled;
    if (verdict.retry_after_ns == UINT64_MAX)
        verdict.reason = VERDICT_TOO_LARGE;
    else if (cost > limit->capacity || left < (int64_t)cost * limit->units_per_token)
        verdict.reason = VERDICT_NO_TOKENS;
    else
        verdict.reason = VERDICT_NO_SHARE;
    return verdict;
}

static struct verdict refusal(const struct node *node, uint16_t limit, enum verdict_reason reason)
{
    struct verdict verdict = {.reason = reason, .limit_tokens = node->limits.limit[limit].capacity};
    verdict.retry_after_ns = reason == VERDICT_TOO_LARGE ? UINT64_MAX : node->options.interval_ns;
    return verdict;
}

struct verdict node_admit(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns)
{
    enum verdict_reason reason = VERDICT_ALLOWED;
    now_ns = clamp_now(node, now_ns);
    struct entry *entry = entry_for(node, id, limit, cost, now_ns, &reason);
    if (!entry) {
        node->stats.refused_requests++;
        return refusal(node, limit, reason);
    }
    bool allowed = take(node, entry, cost, now_ns);
    return verdict_of(node, &entry->bucket, limit, cost, allowed);
}

struct bucket node_bucket(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    struct bucket bucket;
    const struct entry *entry = table_find(node->table, id);
    if (entry && entry->limit == limit)
        bucket = entry->bucket;
    else
        table_start(node->table, id, limit, 0, now_ns, &bucket);
    bucket_refill(&bucket, &node->limits.limit[limit], &node->budget[limit], clamp_now(node, now_ns));
    return bucket;
}

struct verdict node_peek(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns)
{
    assert(limit_set_has(&node->limits, limit));
    if (node->state != PEER_ACTIVE || node->stopping || node->superseded)
        return refusal(node, limit, VERDICT_JOINING);
    if (cost > node->limits.limit[limit].capacity)
        return refusal(node, limit, VERDICT_TOO_LARGE);
    now_ns = clamp_now(node, now_ns);
    struct bucket bucket = node_bucket(node, id, limit, now_ns), after = bucket;
    bool allowed = bucket_take(&after, &node->limits.limit[limit], &node->budget[limit], cost, 0, now_ns);
    return verdict_of(node, &bucket, limit, cost, allowed);
}

void node_prefetch(const struct node *node, struct key_id id)
{
    table_prefetch(node->table, id);
}

bool node_wants_step(const struct node *node)
{
    return (node->push_wanted && !node->push_waits) || (node->hurry_wanted && !node->hurry_waits);
}
