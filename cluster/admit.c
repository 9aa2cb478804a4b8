#include "cluster/record.h"

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

static const struct limit *limit_of(const struct node *node, const struct entry *entry)
{
    return &node->limits.limit[entry->limit];
}

bool can_record(const struct node *node, const struct entry *entry)
{
    const struct recording recording = recording_under(node, entry->limit);
    return can_record_here(node, own_lane(node), &recording, entry);
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

void record_spend(struct node *node, struct entry *entry, uint64_t tokens)
{
    const struct recording recording = recording_under(node, entry->limit);
    record_here(node, &recording, entry, tokens);
}

void record_to_tell(struct node *node, struct entry *entry, uint64_t tokens, bool soon)
{
    bool waited = wait_has(node, entry);
    struct spend *spend = open_spend(node, entry);
    spend->tokens = add_up(spend->tokens, tokens);
    if (waited && !soon)
        untold_urge(node, entry);
    int64_t units;
    if (__builtin_mul_overflow(spend->tokens, limit_of(node, entry)->units_per_token, &units) ||
        units > entry->bucket.unsettled)
        units = entry->bucket.unsettled; /* what is untold is the newest of that: no more of it counts still */
    if (units >= node->early_units[entry->limit]) {
        untold_urge(node, entry);
        own_lane(node)->push_wanted = true;
    }
    if (untold_wants_push(node))
        own_lane(node)->push_wanted = true;
}

void record_return(struct node *node, struct entry *entry, uint64_t tokens, uint64_t credit, uint64_t until_ns)
{
    counters_touch(node, entry);
    if (tokens == 0 || !is_told_under(node, limit_of(node, entry)))
        return;
    struct spend *spend = open_spend(node, entry);
    if (limit_of(node, entry)->kind == LIMIT_LOG && (spend->returned == 0 || until_ns < spend->expires_ns))
        spend->expires_ns = until_ns;
    spend->returned = add_up(spend->returned, tokens);
    spend->credit = add_up(spend->credit, credit);
    untold_urge(node, entry); /* others may wait for it */
    if (untold_wants_push(node))
        own_lane(node)->push_wanted = true;
}

void hurry(struct node *node, struct entry *entry)
{
    untold_urge(node, entry);
    own_lane(node)->hurry_wanted = true;
}

void hurry_if_untold(struct node *node, struct entry *entry)
{
    if (is_untold(node, entry))
        hurry(node, entry);
}

void note_charged(struct node *node, struct entry *entry, const struct budget *budget, uint64_t cost,
                  uint64_t now_ns)
{
    struct lane *lane = own_lane(node);
    note_open(lane, now_ns);
    record_spend(node, entry, cost);
    if (!budget->alone && cost > 0)
        hurry_if_low(node, entry, bucket_allowance(&entry->bucket, budget));
    lane->admitted_tokens += cost;
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
