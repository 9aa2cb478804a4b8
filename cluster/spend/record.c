/*
 * record notes spends and returns of keys: for peers, to be told soon, at the pace, or never, and
 * for the store. It asks for an early message when many keys are untold, and for a message at once
 * when an allowance runs out. It makes no batches: log/tell.c does.
 */
#include "cluster/spend/record.h"

#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/deferred.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "limit/kind.h"

enum {
    RETURN_INTERVALS = 4, /* in which messages travel */
    RETURN_PARTS = 4,
};

static const struct limit *limit_of(const struct node *node, const struct entry *entry)
{
    return &node->limits.limit[entry->limit];
}

bool can_record(const struct node *node, const struct entry *entry)
{
    const struct recording recording = recording_under(node, entry->limit);
    return can_record_inline(node, own_thread(node), &recording, entry);
}

static uint64_t add_up(uint64_t sum, uint64_t more)
{
    return more < SPEND_TOKENS_MAX - sum ? sum + more : SPEND_TOKENS_MAX;
}

void record_spend(struct node *node, struct entry *entry, uint64_t tokens)
{
    const struct recording recording = recording_under(node, entry->limit);
    record_inline(node, &recording, entry, tokens);
}

void record_to_tell(struct node *node, struct entry *entry, uint64_t tokens, bool soon)
{
    bool waited = deferred_has(node, entry);
    struct spend *spend = outbox_open_spend(node, entry);
    spend->tokens = add_up(spend->tokens, tokens);
    if (waited && !soon)
        outbox_urge(node, entry);
    if (outbox_wants_push(node))
        own_thread(node)->push_wanted = true;
}

void record_granted(struct node *node, struct entry *entry, uint64_t tokens, uint32_t spare)
{
    entry->last_spender = (node->me + 1) & 0x7f;
    counters_mark_dirty(node, entry);
    record_to_tell(node, entry, tokens, false);
    struct spend *spend = outbox_open_spend(node, entry);
    spend->granted += (uint32_t)tokens;
    spend->spare += spare;
    outbox_urge(node, entry);
}

uint64_t record_heeded_until_ns(const struct node *node, const struct limit *limit, uint64_t spent_ns)
{
    if (!kind_lists(limit->kind) || spent_ns == UINT64_MAX)
        return UINT64_MAX;
    uint64_t margin_ns = RETURN_INTERVALS * node->options.interval_ns + node->log.settle_ns;
    margin_ns = number_least(margin_ns, limit->period_ns / RETURN_PARTS);
    return spent_ns + limit->period_ns - margin_ns;
}

void record_return(struct node *node, struct entry *entry, uint64_t tokens, uint64_t credit, uint64_t until_ns)
{
    counters_mark_dirty(node, entry);
    if (tokens == 0 || !record_is_told_under(node, limit_of(node, entry)))
        return;
    struct spend *spend = outbox_open_spend(node, entry);
    if (kind_lists(limit_of(node, entry)->kind) && (spend->returned == 0 || until_ns < spend->expires_ns))
        spend->expires_ns = until_ns;
    spend->returned = add_up(spend->returned, tokens);
    spend->credit = add_up(spend->credit, credit);
    spend->returns_settled |= tokens > credit && kind_refills(limit_of(node, entry)->kind);
    outbox_urge(node, entry); /* other peers may wait for the return */
    if (outbox_wants_push(node))
        own_thread(node)->push_wanted = true;
}

void record_hurry(struct node *node, struct entry *entry)
{
    outbox_urge(node, entry);
    own_thread(node)->hurry_wanted = true;
}

void record_hurry_if_in_outbox(struct node *node, struct entry *entry)
{
    if (is_in_outbox(node, entry))
        record_hurry(node, entry);
}

void record_charged(struct node *node, struct entry *entry, const struct budget *budget, uint64_t cost,
                    uint64_t now_ns)
{
    struct thread_state *thread = own_thread(node);
    note_open(thread, now_ns);
    record_spend(node, entry, cost);
    if (!budget->alone && cost > 0)
        record_hurry_if_low(node, entry, bucket_allowance(&entry->bucket, budget));
    thread->admitted_tokens += cost;
}
