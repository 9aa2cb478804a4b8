/*
 * voucher_take takes grants to this node out of applied batches. Their tokens are the voucher's from then on, of the
 * ask that each grant answers.
 */
#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/spend/grant.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_places.h"
#include "cluster/state/origin.h"
#include "limit/bucket_units.h"

static void count_received(struct node *node, struct voucher *voucher, int64_t units)
{
    int64_t token = node->limits.limit[voucher->limit].units_per_token;
    voucher->busy_ns = node->now_ns;
    node->stats.rights_received_tokens += (uint64_t)((units + token - 1) / token);
}

void voucher_receive(struct node *node, struct voucher *voucher, struct voucher_ask *ask, int64_t units)
{
    ask->units = voucher_sum(ask->units, units);
    ask->received = voucher_sum(ask->received, units);
    if (ask->whole)
        ask->rest += units % node->limits.limit[voucher->limit].units_per_token;
    count_received(node, voucher, units);
}

/* What the batch says to have granted of the key, to anybody. */
static uint64_t tokens_granted(const struct batch *batch, struct key_id id)
{
    uint64_t tokens = 0;
    for (uint32_t i = 0; i < batch->grant_count; i++)
        tokens = number_sum(tokens, key_id_equal(batch->grant[i].id, id) ? batch->grant[i].tokens : 0);
    return tokens;
}

/*
 * What the batch says to have spent of the voucher's key. Its maker may tell it under another limit of the rule, which
 * the key had before the ask came.
 */
static uint64_t tokens_spent(const struct node *node, const struct voucher *voucher, const struct batch *batch)
{
    const struct spend *spend;
    uint64_t tokens = 0;
    for (uint32_t from = 0; (spend = batch_find_next(batch, &from, voucher->id)) != NULL;)
        if (node->limits.limit[spend->limit].kind == node->limits.limit[voucher->limit].kind)
            tokens = number_sum(tokens, spend->tokens);
    return tokens;
}

static void take_grant(struct node *node, const struct batch *batch, const struct batch_grant *grant,
                       uint32_t member)
{
    struct voucher *voucher = voucher_of_key(node, grant->id);
    const struct limit *limit = voucher ? &node->limits.limit[voucher->limit] : NULL;
    if (!voucher || tokens_spent(node, voucher, batch) < tokens_granted(batch, grant->id) ||
        grant->tokens > voucher_widest(limit) + (limit->lent_units > 0)) /* a part of one more may be lent */
        return;
    const int64_t units = grant_units(limit, grant->tokens, grant->spare);
    if (voucher_take_late(node, voucher, grant->ask, units))
        count_received(node, voucher, units);
    for (unsigned a = 0; a < VOUCHER_ASKS; a++) {
        struct voucher_ask *ask = &voucher->ask[a];
        if (ask->number != grant->ask || (ask->granted_by >> member & 1) != 0)
            continue;
        const int64_t taken = voucher_takeable(limit, ask->awaited, units);
        ask->granted_by |= (uint64_t)1 << member;
        ask->awaited = voucher_awaited_after(limit, ask->awaited, taken);
        voucher_receive(node, voucher, ask, taken);
    }
}

void voucher_take(struct node *node, const struct batch *batch, uint32_t member)
{
    const uint32_t own_uid = node->origin[node->my_slot].uid;
    for (uint32_t i = 0; i < batch->grant_count; i++)
        if (batch->grant[i].holder_uid == own_uid && batch->grant[i].tokens <= LIMIT_CAPACITY_MAX)
            take_grant(node, batch, &batch->grant[i], member);
}
