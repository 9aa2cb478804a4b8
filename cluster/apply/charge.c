/*
 * charge holds what one spend of a batch changes at its key: the tokens that it takes, the returned
 * tokens that it may credit, and what a spend with grants is less than its whole tokens. Spends of
 * other peers are charged here; own ones, which are charged already, settle with the same parts
 * (settle.c).
 */
#include "cluster/apply/charge.h"

#include "base/number.h"
#include "cluster/apply/settle_credit.h"
#include "cluster/codec/batch.h"
#include "cluster/log/aside.h"
#include "cluster/spend/spenders.h"
#include "cluster/state/node_state.h"
#include "cluster/state/peaks.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

void charge_prefetch(const struct node *node, const struct batch *batch, uint32_t index)
{
    if (index + TAGS_AHEAD < batch->spend_count)
        table_prefetch_tags(node->table, batch->spend[index + TAGS_AHEAD].id);
    if (index + SLOTS_AHEAD < batch->spend_count) {
        struct key_id id = batch->spend[index + SLOTS_AHEAD].id;
        table_prefetch(node->table, id);
        peaks_prefetch(&node->peaks, id);
        others_spent_prefetch(&node->others_spent, id);
    }
}

/*
 * A key without an entry was full until then. A LOG begins with the tokens of an evicted log, as of
 * now.
 */
struct entry *charge_entry_of(struct node *node, const struct spend *spend, uint64_t at_ns)
{
    enum limit_kind kind = node->limits.limit[spend->limit].kind;
    if (kind_expires(kind) && spend->expires_ns <= node->now_ns)
        return table_find(node->table, spend->id);
    return table_obtain_nobodys(node->table, spend->id, spend->limit, spend->expires_ns,
                                kind_lists(kind) ? node->now_ns : at_ns);
}

struct credit charge_credit_of(struct node *node, const struct entry *entry, uint64_t tokens,
                               const struct batch *batch, enum raise raise)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (!kind_refills(limit->kind) || tokens == 0)
        return (struct credit){.tokens = tokens};
    struct bucket now = entry->bucket;
    bucket_refill(&now, limit, &node->by_limit.budget[entry->limit], node->now_ns);
    uint64_t age_ns = node->now_ns - batch_opened_ns(batch);
    int64_t units = units_of_tokens(limit, tokens);
    int64_t lost = units - peaks_credit(&node->peaks, entry->id, &now, limit, units, age_ns, raise, node->now_ns);
    return (struct credit){.tokens = tokens - (uint64_t)(lost / limit->units_per_token),
                           .excess_units = lost % limit->units_per_token};
}

/* Where a debt of that bucket stops: one that is deeper already stays. */
static int64_t lowest_units(const struct bucket *bucket, int64_t debt_units)
{
    return bucket->settled < -debt_units ? bucket->settled : -debt_units;
}

void charge_take_excess_off(struct bucket *bucket, const struct limit *limit, const struct credit *credit)
{
    const int64_t lowest = lowest_units(bucket, limit->debt_units);
    int64_t settled = bucket->settled - credit->excess_units;
    bucket->settled = settled > lowest ? settled : lowest;
}

/* Debt stops where the charge of the spend alone would have stopped. */
void charge_give_spare_back(struct entry *entry, const struct limit *limit, const struct budget *budget,
                            const struct spend *spend, struct bucket before, uint64_t at_ns)
{
    struct bucket *bucket = &entry->bucket;
    if (spend->spare == 0 || spend->returned > 0 || spend->credit > 0 || kind_lists(limit->kind))
        return;
    bucket_refill(&before, limit, budget, at_ns);
    int64_t spare = (int64_t)((uint128)(uint64_t)limit->units_per_token * spend->spare >> SPARE_BITS);
    int64_t exact = before.settled - units_of_tokens(limit, spend->tokens) + spare;
    if (exact > bucket->settled)
        bucket->settled = exact;
}

void charge_note_peak(struct node *node, const struct entry *entry)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (!kind_refills(limit->kind))
        return;
    struct bucket now = entry->bucket;
    bucket_refill(&now, limit, &node->by_limit.budget[entry->limit], node->now_ns);
    peaks_note(&node->peaks, entry->id, &now, limit, node->now_ns);
}

/*
 * The earliest time of the spends that a log's batch returned: see record_heeded_until_ns.
 */
static uint64_t returned_since_ns(const struct node *node, const struct spend *spend)
{
    const struct limit *limit = &node->limits.limit[spend->limit];
    return kind_lists(limit->kind) && spend->expires_ns > limit->period_ns ? spend->expires_ns - limit->period_ns
                                                                           : 0;
}

/*
 * The tokens of a log's spend that count from later on, since their holder may use them until then: granted ones. Of
 * merged batches nobody knows which were granted, nor of those of which a third peer told. Those of an own former
 * incarnation may have lost their grants on a longer way, and this peer is the one whose view must not be too high.
 */
static uint64_t granted_part(const struct node *node, const struct entry *entry, uint32_t member,
                             const struct batch *batch, const struct spend *spend)
{
    if (!limit_lists_grants(&node->limits.limit[entry->limit]))
        return 0;
    const bool unknown =
        batch->first < batch->last || batch->parts > 0 || batch->grants_dropped || member == node->me;
    return unknown || spend->granted > spend->tokens ? spend->tokens : spend->granted;
}

/*
 * What the batch gave back of a cell, or of a bucket with a home, and has no room in this bucket, as of when it is
 * credited: what it returns has not settled here. The bucket is refilled up to then.
 */
static uint64_t without_room(const struct limit *limit, const struct bucket *bucket, const struct spend *spend,
                             uint64_t credit)
{
    if (kind_lists(limit->kind) || (kind_refills(limit->kind) && !limit_home_is_one(limit->home)) ||
        credit <= spend->tokens)
        return 0;
    const int64_t room = limit->capacity_units - bucket->settled,
                  units = units_of_tokens(limit, credit - spend->tokens) - room;
    return units > 0 ? (uint64_t)(units / limit->units_per_token) : 0;
}

void charge_stop_debt(const struct node *node, struct entry *entry, const struct bucket *before)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (!limit->of_tiers || entry->several || kind_lists(limit->kind) || !table_absent_start_full(node->table))
        return;
    const int64_t lowest = lowest_units(before, limit->overshoot_units);
    if (entry->bucket.settled < lowest)
        entry->bucket.settled = lowest;
}

/* What wider tiers may use more than this limit, and what a home has lent, is no overshoot. */
static int64_t overshot_units(const struct limit *limit, const struct bucket *bucket)
{
    const int64_t owed = bucket->unsettled - bucket->settled;
    const int64_t least = owed < limit->overshoot_units ? owed : limit->overshoot_units;
    const int64_t beyond = owed - limit->wider_units - limit->lent_units;
    return beyond > least ? beyond : least;
}

/*
 * The key may have another limit here than at its spender: tokens are charged as tokens. Returns
 * and spends of a batch are not offset against each other: the bucket may have been full in
 * between, and may have lost the return before the later spend.
 */
void charge_spend(struct node *node, struct entry *entry, uint32_t member, const struct batch *batch,
                  const struct spend *spend)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->by_limit.budget[entry->limit];
    entry->several |= limit->of_tiers && spend->limit != entry->limit;
    const bool heeded = !kind_lists(limit->kind) || spend->expires_ns > node->now_ns;
    const uint64_t returned = heeded ? spenders_may_return(node, entry, member, spend) : 0;
    if (kind_expires(limit->kind) && spend->expires_ns > entry->bucket.expires_ns)
        /* some peer's clock is behind: its window is not over */
        entry->bucket.expires_ns = spend->expires_ns;
    const struct credit credit = charge_credit_of(node, entry, returned, batch, RAISE_OTHER);
    const uint64_t least_credit = credit.tokens - (credit.excess_units > 0);
    charge_note_peak(node, entry);
    const uint64_t granted = granted_part(node, entry, member, batch, spend);
    bucket_refill(&entry->bucket, limit, budget, batch->at_ns);
    const struct bucket before = entry->bucket;
    bucket_apply(&entry->bucket, limit, budget, spend->tokens - granted, credit.tokens, batch->at_ns,
                 returned_since_ns(node, spend));
    if (granted > 0)
        bucket_apply_granted(&entry->bucket, limit, budget, granted, batch->at_ns);
    charge_stop_debt(node, entry, &before);
    charge_take_excess_off(&entry->bucket, limit, &credit);
    charge_give_spare_back(entry, limit, budget, spend, before, batch->at_ns);
    settle_credit_granted(node, entry, without_room(limit, &before, spend, credit.tokens));
    int64_t charged =
        before.settled - entry->bucket.settled + units_of_tokens(limit, credit.tokens) - credit.excess_units;
    if (spend->tokens > least_credit)
        charged -= aside_spare(node, entry, &before, member, spend->tokens - least_credit, batch->at_ns);
    spenders_note(node, entry, member, batch, spend, charged, returned);
    const int64_t overshot = overshot_units(limit, &entry->bucket);
    if (overshot > node->by_limit.worst_debt_units[entry->limit])
        node->by_limit.worst_debt_units[entry->limit] = overshot;
}

void charge_note_doubted(struct node *node, const struct entry *entry, uint64_t tokens)
{
    node->by_limit.doubted_tokens[entry->limit] += tokens;
    node->stats.doubted_tokens += tokens;
}
