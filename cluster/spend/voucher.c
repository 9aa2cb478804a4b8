/*
 * voucher keeps the vouchers of this node in fixed places, found by the hash of their keys. Requests use
 * them and note what they lack, under one lock, which is taken only where the share has refused. Steps
 * ask, and take grants out of applied batches.
 */
#include "cluster/spend/voucher.h"

#include "base/number.h"
#include "base/spin.h"
#include "cluster/codec/batch.h"
#include "cluster/codec/message.h"
#include "cluster/spend/grant.h"
#include "cluster/spend/thread.h"
#include "cluster/state/member.h"
#include "limit/kind.h"

#include <string.h>

enum {
    PROBES = 8,      /* places in which a key's voucher may stand */
    DRIFT_PART = 64, /* clocks run apart by no more than this part */
    WAIT_PART = 8,   /* of an interval: the answer waits for so long, about */
    SLACK_PART = 4,  /* of an interval: a client comes back so much too late */
    FLOOR_PART = 8,  /* of a capacity: less is not worth asking for, unless hardly anything decays */
    BURST_RATE = 5,  /* halves: a share of so many times what refills until an answer comes */
    DECAY_PART = 8,
};

/* more than what may be granted of a key, the overshoot included; sums of three fit 64 bits */
#define UNITS_MAX (INT64_C(1) << 61)
#define HEALS_NS UINT64_C(1000000000)

static void lock(struct node *node)
{
    if (node->thread_count > 1)
        spin_lock(&node->rights.locked);
}

static void unlock(struct node *node)
{
    if (node->thread_count > 1)
        spin_unlock(&node->rights.locked);
}

/* ---- times and units ---- */

/* What refills in that time, at the rate of the fastest clock; 0 where nothing refills. */
static int64_t refilled_units(const struct limit *limit, uint64_t ns)
{
    uint64_t ticks = number_sum(ns, ns / DRIFT_PART) / limit->tick_ns + 1, units;
    if (!kind_refills(limit->kind))
        return 0;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &units) || units > UNITS_MAX)
        return UNITS_MAX;
    return (int64_t)units;
}

/* The time until an ask is answered: the longest round trip, and the waits of messages. */
static uint64_t answer_ns(const struct node *node)
{
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]) && !node->member[i].silent)
            longest_ns = node->member[i].round_trip_ns > longest_ns ? node->member[i].round_trip_ns : longest_ns;
    return (longest_ns > 0 ? longest_ns : node->options.interval_ns) + node->options.interval_ns / WAIT_PART;
}

static uint64_t since(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

static int64_t ask_units(const struct voucher_ask *ask, const struct limit *limit, uint64_t now_ns)
{
    uint64_t age_ns = since(ask->asked_ns, now_ns);
    if (ask->number == 0 || (kind_refills(limit->kind) && age_ns >= VOUCHER_LIFE_NS) || ask->units <= 0)
        return 0;
    int64_t left = ask->units - refilled_units(limit, age_ns);
    return left > 0 ? left : 0;
}

static int64_t units_left(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    int64_t units = 0;
    for (unsigned i = 0; i < VOUCHER_ASKS; i++)
        units += ask_units(&voucher->ask[i], &node->limits.limit[voucher->limit], now_ns);
    return units;
}

/* ---- places ---- */

/* A voucher of a cell ends with it. */
static bool has_ended(const struct voucher *voucher, uint64_t now_ns)
{
    return since(voucher->touched_ns, now_ns) >= VOUCHER_LIFE_NS && voucher->expires_ns <= now_ns;
}

static struct voucher *place_of(struct node *node, struct key_id id, uint32_t probe)
{
    return &node->rights.voucher[(id.high + probe) % VOUCHERS_MAX];
}

static struct voucher *find(struct node *node, struct key_id id, uint16_t limit)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct voucher *voucher = place_of(node, id, i);
        if (voucher->touched_ns > 0 && key_id_equal(voucher->id, id))
            return voucher->limit == limit ? voucher : NULL;
    }
    return NULL;
}

/* NULL: there is no room. */
static struct voucher *obtain(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    struct voucher *free = NULL;
    for (uint32_t i = 0; i < PROBES; i++) {
        struct voucher *voucher = place_of(node, id, i);
        if (voucher->touched_ns > 0 && key_id_equal(voucher->id, id)) {
            free = voucher->limit == limit ? NULL : voucher;
            if (!free)
                return voucher;
            break;
        }
        if (!free && (voucher->touched_ns == 0 || has_ended(voucher, now_ns)))
            free = voucher;
    }
    if (!free)
        return NULL;
    *free = (struct voucher){.id = id, .limit = limit, .touched_ns = now_ns};
    atomic_fetch_or_explicit(&node->rights.held, voucher_bit(id), memory_order_relaxed);
    return free;
}

/* ---- requests ---- */

/* True for charges that others can judge like this node: without a floor, and of one bucket or cell. */
static bool can_be_paid(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    return (limit->flags & LIMIT_SPLIT) == 0 && !kind_lists(limit->kind) && !charge->sliding && charge->cost > 0 &&
           charge->floor_tokens == 0 && !node->sharing.alone && charge->cost <= limit->capacity;
}

/* What all others may spend together, as seen here. */
static int64_t others_units(const struct limit *limit, const struct bucket *bucket, uint64_t share)
{
    struct budget others;
    budget_init(&others, limit, SHARE_ONE - share, false);
    int64_t units = bucket_allowance(bucket, &others), left = bucket->settled - bucket->unsettled;
    return units < left ? units : left;
}

static int64_t own_units(const struct bucket *bucket, const struct budget *budget)
{
    int64_t units = bucket_allowance(bucket, budget) - bucket->unsettled;
    return units > 0 ? units : 0;
}

/*
 * What is granted decays until it can be used, by what refills meanwhile. So asking is worth it where that is
 * little beside what is asked for, and where this node's share is spent faster than it can come back while all
 * refill is used, or where it never suffices. Others must be able to grant as much: a part of what is missing is
 * of no use. While somebody is silent nothing settles, and others need what they have.
 */
static bool is_worth_asking(const struct node *node, const struct charge *charge, const struct bucket *bucket)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    const struct budget *budget = &node->by_limit.budget[charge->limit];
    int64_t cost = (int64_t)charge->cost * limit->units_per_token;
    int64_t left = bucket->settled - bucket->unsettled, decays = refilled_units(limit, answer_ns(node));
    const struct bucket full = {.settled = limit->capacity_units};
    bool is_burst = bucket_allowance(bucket, budget) / BURST_RATE >= decays / 2;
    return left >= cost && !node->awake.somebody_silent && (is_burst || bucket_allowance(&full, budget) < cost) &&
           (left > limit->capacity_units / FLOOR_PART || cost / DECAY_PART >= decays) &&
           others_units(limit, bucket, budget->share) + own_units(bucket, budget) >= cost + decays;
}

static void note_wanted(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    struct voucher *voucher = obtain(node, charge->id, charge->limit, now_ns);
    if (!voucher)
        return;
    voucher->touched_ns = now_ns;
    voucher->expires_ns = charge->expires_ns;
    voucher->wanted = number_sum(voucher->wanted, charge->cost);
    atomic_store_explicit(&node->rights.wants, true, memory_order_relaxed);
    own_thread(node)->hurry_wanted = true;
}

uint64_t voucher_pays(struct node *node, const struct charge *charge, const struct bucket *bucket, bool take,
                      uint64_t now_ns)
{
    if (!can_be_paid(node, charge) ||
        !voucher_may_help(node, charge->id, bucket, &node->limits.limit[charge->limit], charge->cost))
        return 0;
    const struct limit *limit = &node->limits.limit[charge->limit];
    uint64_t own = bucket_available(bucket, limit, &node->by_limit.budget[charge->limit], 0);
    uint64_t missing = charge->cost - number_least(own, charge->cost);
    lock(node);
    const struct voucher *voucher = find(node, charge->id, charge->limit);
    bool pays =
        voucher && missing > 0 && units_left(node, voucher, now_ns) >= (int64_t)missing * limit->units_per_token;
    if (!pays && take && is_worth_asking(node, charge, bucket))
        note_wanted(node, charge, now_ns);
    unlock(node);
    return pays ? missing : 0;
}

bool voucher_use(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t now_ns,
                 struct voucher_payment *payment)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    int64_t units = (int64_t)tokens * limit->units_per_token;
    *payment = (struct voucher_payment){0};
    lock(node);
    struct voucher *voucher = find(node, charge->id, charge->limit);
    bool used = voucher && units_left(node, voucher, now_ns) >= units;
    for (unsigned i = 0; i < VOUCHER_ASKS && used; i++) { /* the older ask first: its rest ends first */
        int64_t part = ask_units(&voucher->ask[i], limit, now_ns);
        payment->units[i] = part < units ? part : units;
        voucher->ask[i].units -= payment->units[i];
        units -= payment->units[i];
    }
    unlock(node);
    return used;
}

void voucher_put_back(struct node *node, const struct charge *charge, const struct voucher_payment *payment)
{
    lock(node);
    struct voucher *voucher = find(node, charge->id, charge->limit);
    for (unsigned i = 0; i < VOUCHER_ASKS && voucher; i++)
        voucher->ask[i].units += payment->units[i];
    unlock(node);
}

void voucher_note_used(struct node *node, uint64_t tokens)
{
    struct thread_state *thread = own_thread(node);
    thread->rights_used_tokens += tokens;
    thread->admitted_tokens += tokens;
}

/*
 * As if nobody spent meanwhile: until all peers together may spend so much, and one round trip more. A cell has
 * all of it again in its next window. `enough`: what must be left, from the reserve that a level has.
 */
uint64_t voucher_wait_ns(const struct node *node, const struct charge *charge, const struct bucket *bucket)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    if (!node->options.grants || !can_be_paid(node, charge) || node->awake.somebody_silent)
        return UINT64_MAX;
    int64_t wanted = (int64_t)charge->cost * limit->units_per_token + refilled_units(limit, answer_ns(node)) +
                     node->sharing.peer_count; /* shares are rounded */
    int64_t enough = (wanted + limit->capacity_units / 16 * 5) / 5 * 4 + 4;
    enough = enough < 2 * wanted ? enough : 2 * wanted;
    int64_t missing = enough - (bucket->settled - bucket->unsettled);
    if (enough > limit->capacity_units || (missing > 0 && !kind_refills(limit->kind)))
        return UINT64_MAX;
    return number_sum(missing > 0 ? limit_refill_ns(limit, missing) : 0, answer_ns(node));
}

/* ---- steps ---- */

static bool may_ask(const struct node *node, const struct voucher *voucher)
{
    return voucher->wanted > 0 && node->now_ns >= voucher->yields_until_ns &&
           since(voucher->ask[VOUCHER_ASKS - 1].asked_ns, node->now_ns) >= answer_ns(node);
}

/* An ask whose tokens are all used makes room, or else the one with fewer. */
static void make_room(struct voucher *voucher, const struct limit *limit, uint64_t now_ns)
{
    if (ask_units(&voucher->ask[0], limit, now_ns) < ask_units(&voucher->ask[1], limit, now_ns))
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
    int64_t soon = refilled_units(limit, HEALS_NS);
    units += bucket->unsettled < soon ? bucket->unsettled : soon;
    units += refilled_units(limit, answer_ns(node) + node->options.interval_ns / SLACK_PART);
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
        .live_ns = kind_expires(limit->kind) ? since(node->now_ns, voucher->expires_ns) : 0,
    };
    make_room(voucher, limit, node->now_ns);
    voucher->ask[VOUCHER_ASKS - 1] = (struct voucher_ask){.number = ask->number, .asked_ns = node->now_ns};
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
    return entry && entry->limit == voucher->limit && alive && !node->sharing.alone && may_decide(node) &&
           node->by_limit.budget[voucher->limit].share < SHARE_ONE;
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
        others = others_units(limit, &entry->bucket, budget->share);
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
    for (uint32_t i = 0; i < PROBES; i++) {
        struct voucher *voucher = place_of(node, grant->id, i);
        if (voucher->touched_ns == 0 || !key_id_equal(voucher->id, grant->id))
            continue;
        const struct spend *spend = batch_find(batch, voucher->limit, grant->id);
        if (!spend || spend->tokens < grant->tokens)
            return;
        for (unsigned a = 0; a < VOUCHER_ASKS; a++) {
            struct voucher_ask *ask = &voucher->ask[a];
            if (ask->number != grant->ask || (ask->granted_by >> member & 1) != 0)
                continue;
            ask->granted_by |= (uint64_t)1 << member;
            receive(node, voucher, ask,
                    grant_units(&node->limits.limit[voucher->limit], grant->tokens, grant->spare));
        }
        return;
    }
}

void voucher_take(struct node *node, const struct batch *batch, uint32_t member)
{
    const uint32_t own_uid = node->origin[node->my_slot].uid;
    for (uint32_t i = 0; i < batch->grant_count; i++)
        if (batch->grant[i].holder_uid == own_uid && batch->grant[i].tokens <= LIMIT_CAPACITY_MAX)
            take_grant(node, batch, &batch->grant[i], member);
}

bool voucher_asked_lately(const struct node *node, struct key_id id)
{
    const uint64_t lately_ns = 2 * answer_ns(node);
    for (uint32_t i = 0; i < PROBES; i++) {
        const struct voucher *voucher = &node->rights.voucher[(id.high + i) % VOUCHERS_MAX];
        const struct voucher_ask *last = &voucher->ask[VOUCHER_ASKS - 1];
        if (voucher->touched_ns > 0 && key_id_equal(voucher->id, id))
            return voucher->wanted > 0 || (last->number > 0 && since(last->asked_ns, node->now_ns) < lately_ns);
    }
    return false;
}

void voucher_yield(struct node *node, struct key_id id)
{
    for (uint32_t i = 0; i < PROBES; i++) {
        struct voucher *voucher = place_of(node, id, i);
        if (voucher->touched_ns > 0 && key_id_equal(voucher->id, id))
            voucher->yields_until_ns = node->now_ns + HEALS_NS + 2 * answer_ns(node);
    }
}

void voucher_sweep(struct node *node)
{
    uint64_t held = 0;
    if (atomic_load_explicit(&node->rights.held, memory_order_relaxed) == 0)
        return;
    for (uint32_t i = 0; i < VOUCHERS_MAX; i++) {
        struct voucher *voucher = &node->rights.voucher[i];
        if (voucher->touched_ns > 0 && has_ended(voucher, node->now_ns)) {
            for (unsigned a = 0; a < VOUCHER_ASKS; a++)
                if (voucher->ask[a].units > 0)
                    node->stats.rights_decayed_tokens +=
                        (uint64_t)(voucher->ask[a].units / node->limits.limit[voucher->limit].units_per_token);
            *voucher = (struct voucher){0};
        }
        held |= voucher->touched_ns > 0 ? voucher_bit(voucher->id) : 0;
    }
    atomic_store_explicit(&node->rights.held, held, memory_order_relaxed);
}

void voucher_forget(struct node *node)
{
    memset(node->rights.voucher, 0, sizeof node->rights.voucher);
    atomic_store_explicit(&node->rights.held, 0, memory_order_relaxed);
    atomic_store_explicit(&node->rights.wants, false, memory_order_relaxed);
}

uint64_t voucher_tokens(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    lock(node);
    const struct voucher *voucher = find(node, id, limit);
    int64_t units = voucher ? units_left(node, voucher, now_ns) : 0;
    unlock(node);
    return (uint64_t)(units / node->limits.limit[limit].units_per_token);
}
