#include "cluster/parts.h"

#include <assert.h>

bool batch_fits(const struct node *node, uint32_t spend_count, uint32_t group_count)
{
    return (uint64_t)spend_count * NUMBER_ENCODED_MAX_BYTES + (uint64_t)group_count * GROUP_ENCODED_MAX_BYTES <=
           node->options.message_max_bytes / 2;
}

bool may_decide(const struct node *node)
{
    return node->state == PEER_ACTIVE && !node->stopping && !node->superseded;
}

uint64_t request_time(const struct node *node, uint64_t now_ns)
{
    return now_ns > node->now_ns ? now_ns : node->now_ns;
}

/* Spends that nobody else counts are not told. */
static bool is_told(const struct node *node, const struct entry *entry)
{
    return !node->alone && (node->limits.limit[entry->limit].flags & LIMIT_SPLIT) == 0;
}

bool can_record(const struct node *node, const struct entry *entry)
{
    if (!counters_have_room(node, entry))
        return false;
    if (!is_told(node, entry))
        return true;
    return !node->log_full && (untold_has_room(node, 1) || is_in_open(node, entry));
}

bool can_record_any(const struct node *node, uint32_t count)
{
    const struct changed *changed = &own_lane(node)->changed;
    if (changed->count + count > changed->room)
        return false;
    return node->alone || (!node->log_full && untold_has_room(node, count));
}

static uint64_t add_up(uint64_t sum, uint64_t more)
{
    return more < SPEND_TOKENS_MAX - sum ? sum + more : SPEND_TOKENS_MAX;
}

/* Refill pays it off before others need to know: see pay.c. */
static bool pays_off_soon(const struct node *node, const struct entry *entry)
{
    return entry->bucket.unsettled <= node->soon_units[entry->limit] &&
           entry->bucket.settled == node->limits.limit[entry->limit].capacity_units;
}

void record_spend(struct node *node, struct entry *entry, uint64_t tokens)
{
    entry->last_spender = (node->me + 1) & 0x7f;
    counters_touch(node, entry);
    if (tokens == 0 || !is_told(node, entry))
        return;
    bool soon = pays_off_soon(node, entry), waited = wait_has(node, entry);
    if (soon && wait_more(node, entry, tokens)) /* most of it may be paid off long since */
        return;
    struct spend *spend = open_spend(node, entry);
    spend->tokens = add_up(spend->tokens, tokens);
    if (waited && !soon)
        untold_urge(node, entry);
    int64_t units;
    if (__builtin_mul_overflow(spend->tokens, node->limits.limit[entry->limit].units_per_token, &units) ||
        units >= node->early_units[entry->limit]) {
        untold_urge(node, entry);
        own_lane(node)->push_wanted = true;
    }
    if (untold_wants_push(node))
        own_lane(node)->push_wanted = true;
}

void record_return(struct node *node, struct entry *entry, uint64_t tokens, uint64_t credit, uint64_t until_ns)
{
    counters_touch(node, entry);
    if (tokens == 0 || !is_told(node, entry))
        return;
    struct spend *spend = open_spend(node, entry);
    if (node->limits.limit[entry->limit].kind == LIMIT_LOG &&
        (spend->returned == 0 || until_ns < spend->expires_ns))
        spend->expires_ns = until_ns;
    spend->returned = add_up(spend->returned, tokens);
    spend->credit = add_up(spend->credit, credit);
    untold_urge(node, entry); /* others may wait for it */
    if (untold_wants_push(node))
        own_lane(node)->push_wanted = true;
}

static void hurry(struct node *node, struct entry *entry)
{
    untold_urge(node, entry);
    own_lane(node)->hurry_wanted = true;
}

void hurry_if_untold(struct node *node, struct entry *entry)
{
    if (is_untold(node, entry))
        hurry(node, entry);
}

void hurry_if_low(struct node *node, struct entry *entry, int64_t allowance_units)
{
    if (entry->bucket.unsettled > allowance_units / 2)
        hurry(node, entry);
}

void note_charged(struct node *node, struct entry *entry, const struct budget *budget, uint64_t cost,
                  uint64_t now_ns)
{
    note_open(node, now_ns);
    record_spend(node, entry, cost);
    if (!budget->alone && cost > 0)
        hurry_if_low(node, entry, bucket_allowance(&entry->bucket, budget));
    own_lane(node)->admitted_tokens += cost;
}

/* ---- one bucket: the fast path ---- */

static bool take(struct node *node, struct entry *entry, uint64_t cost, uint64_t floor_tokens, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->budget[entry->limit];
    if (!bucket_take(&entry->bucket, limit, budget, cost, floor_tokens, now_ns)) {
        own_lane(node)->refused_requests++;
        hurry_if_untold(node, entry);
        return false;
    }
    note_charged(node, entry, budget, cost, now_ns);
    own_lane(node)->admitted_requests++;
    return true;
}

/* A bucket's, with nothing else to be seen to: by far the most are. */
static bool is_plain(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    return limit->kind == LIMIT_BUCKET && charge->cost <= limit->capacity && !charge->shadow && !charge->lease &&
           charge->on_isolation == ISOLATION_BUDGET && may_decide(node);
}

static bool take_held(struct node *node, const struct charge *charge, struct key_id id, uint64_t at_ns)
{
    struct verdict verdict;
    /* A tenant may have as many keys as it may: a new one of his is not for here. */
    struct entry *entry = charge->tenant == 0 && untold_has_room(node, 0)
                              ? table_obtain(node->table, id, charge->limit, 0, at_ns)
                              : table_find(node->table, id);
    if (entry && entry->limit == charge->limit && entry->tenant == charge->tenant && can_record(node, entry))
        return take(node, entry, charge->cost, charge->floor_tokens, at_ns);
    struct charge of_id = *charge;
    of_id.id = id;
    return check_held(node, &of_id, 1, true, at_ns, &verdict);
}

static bool take_like(struct node *node, const struct charge *charge, struct key_id id, uint64_t at_ns)
{
    struct table_held held;
    table_lock(node->table, &id, 1, &held);
    bool taken = take_held(node, charge, id, at_ns);
    table_unlock(node->table, &held);
    return taken;
}

bool node_takes(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    struct verdict verdict;
    assert(limit_set_has(&node->limits, charge->limit));
    return is_plain(node, charge) ? take_like(node, charge, charge->id, request_time(node, now_ns))
                                  : node_check(node, charge, 1, true, now_ns, &verdict);
}

/* Entries tell where their untold spends are: these are asked for side by side as well. */
static void prefetch_untold(struct node *node, const struct key_id *ids, uint32_t count)
{
    struct table_held held = {.count = 0};
    for (uint32_t i = 0; i < count; i++) {
        table_lock_next(node->table, ids[i], &held);
        const struct entry *entry = table_find(node->table, ids[i]);
        if (entry)
            untold_prefetch(node, entry);
    }
    table_unlock(node->table, &held);
}

void node_prefetch_each(struct node *node, const struct key_id *ids, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (i == 0 || !key_id_equal(ids[i], ids[i - 1]))
            table_prefetch(node->table, ids[i]);
    if (count > 1 && untold_is_far(node))
        prefetch_untold(node, ids, count);
}

uint64_t node_takes_each(struct node *node, const struct charge *like, const struct key_id *ids, uint32_t count,
                         uint64_t now_ns)
{
    uint64_t allowed = 0;
    assert(count <= NODE_EACH_MAX && limit_set_has(&node->limits, like->limit));
    node_prefetch_each(node, ids, count);
    if (is_plain(node, like)) {
        uint64_t at_ns = request_time(node, now_ns);
        struct table_held held = {.count = 0};
        for (uint32_t i = 0; i < count; i++) {
            table_lock_next(node->table, ids[i], &held);
            allowed |= (uint64_t)take_held(node, like, ids[i], at_ns) << i;
        }
        table_unlock(node->table, &held);
        return allowed;
    }
    struct charge charge = *like;
    for (uint32_t i = 0; i < count; i++) {
        charge.id = ids[i];
        allowed |= (uint64_t)node_takes(node, &charge, now_ns) << i;
    }
    return allowed;
}

bool node_can_access(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns)
{
    const struct charge charge = {.id = id, .limit = limit, .cost = cost};
    return node_takes(node, &charge, now_ns);
}

/* ---- the rest ---- */

uint64_t settling_ns(const struct node *node)
{
    return node->somebody_silent ? UINT64_MAX : node->settle_ns;
}

struct verdict refusal(const struct node *node, uint16_t limit, enum verdict_reason reason)
{
    struct verdict verdict = {.reason = reason, .limit_tokens = node->limits.limit[limit].capacity};
    verdict.retry_after_ns = reason == VERDICT_TOO_LARGE ? UINT64_MAX : node->options.interval_ns;
    return verdict;
}

struct verdict node_admit(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns)
{
    struct verdict verdict;
    const struct charge charge = {.id = id, .limit = limit, .cost = cost};
    (void)node_check(node, &charge, 1, true, now_ns, &verdict);
    return verdict;
}

struct verdict node_peek(struct node *node, struct key_id id, uint16_t limit, uint64_t cost, uint64_t now_ns)
{
    struct verdict verdict;
    const struct charge charge = {.id = id, .limit = limit, .cost = cost};
    (void)node_check(node, &charge, 1, false, now_ns, &verdict);
    return verdict;
}

struct bucket node_bucket(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    struct entry *entry = table_find(node->table, id);
    now_ns = request_time(node, now_ns);
    if (entry && entry->limit == limit) {
        bucket_refill(&entry->bucket, &node->limits.limit[limit], &node->budget[limit], now_ns);
        return entry->bucket;
    }
    struct bucket bucket;
    table_start(node->table, id, limit, UINT64_MAX, now_ns, &bucket);
    bucket_refill(&bucket, &node->limits.limit[limit], &node->budget[limit], now_ns);
    return bucket;
}

void node_prefetch_tags(const struct node *node, struct key_id id)
{
    table_prefetch_tags(node->table, id);
}
