/*
 * voucher_ask is what steps do with vouchers: they ask peers for what requests lacked, and take grants out of
 * applied batches.
 */
#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/codec/message.h"
#include "cluster/spend/grant.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_places.h"
#include "cluster/state/member.h"
#include "limit/kind.h"

enum {
    SLACK_PART = 4, /* of an interval: a client comes back so much too late */
    LATELY_ANSWERS = 2,
};

#define HEALS_NS UINT64_C(1000000000)

void voucher_look_around(struct node *node)
{
    node->rights.shared = node->options.grants;
    for (uint32_t i = 0; i < node->member_end && node->rights.shared; i++)
        node->rights.shared = !member_needed(&node->member[i]) || node->member[i].grants;
}

/*
 * Nobody waits any more for what was refused so long ago: what peers spent for it now would only be missing elsewhere.
 */
static void drop_stale(const struct node *node, struct voucher *voucher)
{
    const uint64_t stale_ns = voucher_answer_ns(node) + node->options.interval_ns;
    if (voucher->wanted > 0 && voucher_since_ns(voucher->touched_ns, node->now_ns) > stale_ns)
        voucher->wanted = 0;
}

static bool may_ask(const struct node *node, const struct voucher *voucher)
{
    return voucher->wanted > 0 && node->now_ns >= voucher->yields_until_ns &&
           voucher_since_ns(voucher->ask[VOUCHER_ASKS - 1].asked_ns, node->now_ns) >= voucher_answer_ns(node);
}

/* An ask whose tokens are all used makes room, or else the one with fewer. */
static void make_room(const struct node *node, struct voucher *voucher, const struct limit *limit)
{
    if (voucher_ask_units(node, &voucher->ask[0], limit, node->now_ns) <
        voucher_ask_units(node, &voucher->ask[1], limit, node->now_ns))
        voucher->ask[0] = voucher->ask[1];
}

/*
 * What was refused, and as much again as was spent lately, since more requests will come; but no more than a
 * moment's refill makes good if they do not. What decays until it can be used comes on top.
 */
static int64_t wanted_units(const struct node *node, const struct voucher *voucher, const struct bucket *bucket)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    int64_t left = bucket->settled - bucket->unsettled;
    uint64_t tokens = number_least(voucher->wanted, limit->capacity);
    int64_t units = (int64_t)tokens * limit->units_per_token;
    int64_t soon = voucher_refilled_units(limit, HEALS_NS);
    units += bucket->unsettled < soon ? bucket->unsettled : soon;
    units += voucher_refilled_units(limit, voucher_answer_ns(node) + node->options.interval_ns / SLACK_PART);
    return units < left ? units : left;
}

static void write_ask(struct node *node, struct voucher *voucher, int64_t units, struct ask_record *ask)
{
    __extension__ typedef unsigned __int128 wide;
    const struct limit *limit = &node->limits.limit[voucher->limit];
    uint64_t token = (uint64_t)limit->units_per_token, rest = (uint64_t)units % token;
    *ask = (struct ask_record){
        .id = voucher->id,
        .terms = limit_terms_of(limit),
        .number = ++node->rights.asks_count,
        .tokens = (uint64_t)units / token,
        .parts = (uint32_t)(((wide)rest << SPARE_BITS) / token),
        .among = SHARE_ONE - node->by_limit.budget[voucher->limit].share,
        .live_ns = kind_expires(limit->kind) ? voucher_since_ns(node->now_ns, voucher->expires_ns) : 0,
    };
    make_room(node, voucher, limit);
    voucher->ask[VOUCHER_ASKS - 1] = (struct voucher_ask){
        .number = ask->number,
        .asked_ns = node->now_ns,
        .asked_sleepless_ns = voucher_sleepless_ns(node),
    };
    voucher->touched_ns = node->now_ns;
}

static void receive(struct node *node, const struct voucher *voucher, struct voucher_ask *ask, int64_t units)
{
    int64_t token = node->limits.limit[voucher->limit].units_per_token;
    ask->units += units;
    node->stats.rights_received_tokens += (uint64_t)((units + token - 1) / token);
}

/* True if the key is as it was when its voucher was wanted, and this node may ask. */
static bool can_ask(const struct node *node, const struct voucher *voucher, const struct entry *entry)
{
    bool alive = !kind_expires(node->limits.limit[voucher->limit].kind) || voucher->expires_ns > node->now_ns;
    return entry && entry->limit == voucher->limit && alive && node->rights.shared && !node->sharing.alone &&
           may_decide(node) && node->by_limit.budget[voucher->limit].share < SHARE_ONE;
}

/*
 * Others are asked for all that they may have. What that lacks, this node spends on its own behalf: when others'
 * grants are told, its own allowance falls with what is left.
 */
static bool ask_of(struct node *node, struct voucher *voucher, struct ask_record *ask)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const struct budget *budget = &node->by_limit.budget[voucher->limit];
    struct entry *entry = table_find(node->table, voucher->id);
    int64_t units = 0, others = 0;
    if (can_ask(node, voucher, entry)) {
        bucket_refill(&entry->bucket, limit, budget, node->now_ns);
        units = wanted_units(node, voucher, &entry->bucket);
        others = voucher_others_units(limit, &entry->bucket, budget->share);
    }
    voucher->wanted = 0;
    if (units <= 0 || others <= 0)
        return false;
    write_ask(node, voucher, units < others ? units : others, ask);
    node->stats.rights_asked++;
    node->stats.rights_asked_tokens += (uint64_t)((units - 1) / limit->units_per_token) + 1;
    if (units > others)
        receive(node, voucher, &voucher->ask[VOUCHER_ASKS - 1],
                grant_own(node, entry, units - others, ask->number));
    return true;
}

uint32_t voucher_ask_due(struct node *node, struct ask_record *asks, uint32_t room)
{
    uint32_t count = 0;
    bool wants = false;
    if (!atomic_load_explicit(&node->rights.wants, memory_order_relaxed))
        return 0;
    for (uint32_t i = 0; i < VOUCHERS_MAX; i++) {
        struct voucher *voucher = &node->rights.voucher[i];
        drop_stale(node, voucher);
        if (count < room && may_ask(node, voucher))
            count += ask_of(node, voucher, &asks[count]);
        wants |= voucher->wanted > 0;
    }
    atomic_store_explicit(&node->rights.wants, wants, memory_order_relaxed);
    return count;
}

static void take_grant(struct node *node, const struct batch *batch, const struct batch_grant *grant,
                       uint32_t member)
{
    struct voucher *voucher = voucher_of_key(node, grant->id);
    const struct spend *spend = voucher ? batch_find(batch, voucher->limit, grant->id) : NULL;
    if (!spend || spend->tokens < grant->tokens)
        return;
    for (unsigned a = 0; a < VOUCHER_ASKS; a++) {
        struct voucher_ask *ask = &voucher->ask[a];
        if (ask->number != grant->ask || (ask->granted_by >> member & 1) != 0)
            continue;
        ask->granted_by |= (uint64_t)1 << member;
        receive(node, voucher, ask, grant_units(&node->limits.limit[voucher->limit], grant->tokens, grant->spare));
    }
}

void voucher_take(struct node *node, const struct batch *batch, uint32_t member)
{
    const uint32_t own_uid = node->origin[node->my_slot].uid;
    for (uint32_t i = 0; i < batch->grant_count; i++)
        if (batch->grant[i].holder_uid == own_uid && batch->grant[i].tokens <= LIMIT_CAPACITY_MAX)
            take_grant(node, batch, &batch->grant[i], member);
}

bool voucher_asked_lately(struct node *node, struct key_id id)
{
    const struct voucher *voucher = voucher_of_key(node, id);
    const uint64_t lately_ns = LATELY_ANSWERS * voucher_answer_ns(node);
    if (!voucher)
        return false;
    const struct voucher_ask *last = &voucher->ask[VOUCHER_ASKS - 1];
    return voucher->wanted > 0 || (last->number > 0 && voucher_since_ns(last->asked_ns, node->now_ns) < lately_ns);
}

void voucher_yield(struct node *node, struct key_id id)
{
    struct voucher *voucher = voucher_of_key(node, id);
    if (!voucher)
        return;
    voucher->wanted = 0;
    voucher->yields_until_ns = node->now_ns + HEALS_NS + LATELY_ANSWERS * voucher_answer_ns(node);
}
