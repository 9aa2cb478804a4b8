/*
 * reserve_kept carries reservations from one process of a daemon to the next, where no other daemon counts what they
 * hold, or all of them do. What a reservation holds lacks in its keys when it is open again, so it gives back no more
 * than it has there. Where a part of that is not possible, that part counts as used: nobody gives it back.
 */
#include "cluster/spend/reserve_kept.h"

#include "base/number.h"
#include "cluster/node.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/renewal.h"
#include "cluster/spend/reserve.h"
#include "cluster/spend/return.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/peaks.h"
#include "cluster/state/refundable.h"
#include "cluster/state/share.h"
#include "cluster/state/step.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

/* True: nobody else counts what this node spends, now or before. */
static bool is_alone(const struct node *node)
{
    bool alone = node->options.peer_count == 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        alone &= !member_may_share(&node->member[i]);
    return alone;
}

/* Somebody goes on with what this node has told. */
static bool somebody_stays(const struct node *node)
{
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (member_needed(member) && member->state == PEER_ACTIVE && other_is_heard(member))
            return true;
    }
    return false;
}

bool all_is_acknowledged(const struct node *node)
{
    return outbox_count(node) == 0 && node->origin[node->my_slot].log_count == 0 && !voucher_is_awaited(node);
}

bool node_keeps_reservations(const struct node *node)
{
    if (!node->reserving.pool)
        return false;
    const bool has_not_spent = node->origin[node->my_slot].applied == 0,
               waits = reservations_former_count(node->reserving.pool) > 0 && has_not_spent;
    return is_alone(node) ||
           (node->life.state == PEER_LEFT && all_is_acknowledged(node) && (waits || somebody_stays(node)));
}

/* ---- at the end ---- */

/* Under the limit that the key has now, which may be another one than when it was reserved. */
static struct counter used_of(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    struct entry *entry = table_find(node->table, charge->id);
    const uint16_t index = entry ? entry->limit : charge->limit;
    const struct limit *limit = &node->limits.limit[index];
    struct counter used = {.terms = limit_terms_of(limit), .id = charge->id};
    if (!entry || kind_lists(limit->kind))
        return used;
    bucket_refill(&entry->bucket, limit, &node->by_limit.budget[index], now_ns);
    used.number = bucket_number(&entry->bucket, limit);
    used.expires_ns = kind_expires(limit->kind) ? entry->bucket.expires_ns : 0;
    return used;
}

/* False: the home of a lease may not know that it goes on. Then it ends with this process. */
static bool goes_on(struct node *node, struct reservation_kept *kept, uint64_t now_ns)
{
    return renewal_confirm(node, kept->charge, kept->count, reservations_renewal(node->reserving.pool, kept->id),
                           now_ns);
}

bool node_keep_reservation(struct node *node, uint32_t *place, uint64_t now_ns, struct node_reservation *next)
{
    if (!node->reserving.pool)
        return false;
    do {
        if (!reservations_keep_next(node->reserving.pool, place, &next->kept))
            return false;
    } while (!goes_on(node, &next->kept, now_ns));
    next->incarnation = node->life.incarnation;
    for (size_t i = 0; i < next->kept.count; i++)
        next->key[i] = used_of(node, &next->kept.charge[i], now_ns);
    return true;
}

/* ---- at a start of a node that is alone ---- */

/* False: there are too many limits. */
static bool name_limits(struct node *node, struct reservation_kept *kept, const struct counter *keys)
{
    struct error error;
    bool named = true;
    for (size_t i = 0; i < kept->count && named; i++) {
        const int limit = node_intern_limit(node, &keys[i].terms, &error);
        named = limit >= 0;
        kept->charge[i].limit = named ? (uint16_t)limit : 0;
        kept->charge[i].tenant = TABLE_NOBODY; /* services have other numbers in each process */
    }
    return named;
}

/* From now on nobody gives these tokens back: none of them are held. */
static void let_be(struct charge *charge)
{
    charge->cost = charge->granted = 0;
}

/* Tokens of a LOG: unless they have ended by themselves, they are listed again, as of the time when they were spent. */
static void list_again(struct node *node, struct entry *entry, struct charge *charge, uint64_t ends_ns,
                       uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->by_limit.budget[entry->limit];
    const uint64_t most = limit->capacity + (uint64_t)limit->wider_units; /* under any tier */
    if (charge->cost == 0 || charge->cost > most || number_sum(charge->spent_ns, limit->period_ns) <= now_ns) {
        let_be(charge);
        return;
    }
    if (bucket_hold_again(&entry->bucket, limit, charge->cost, charge->spent_ns, ends_ns))
        return;
    bucket_apply(&entry->bucket, limit, budget, charge->cost, 0, charge->spent_ns, 0);
    let_be(charge);
}

/* The kept number is of the charge's limit. */
static void lower_again(const struct node *node, struct entry *entry, const struct charge *charge,
                        const struct counter *key, uint64_t now_ns)
{
    const struct limit *then = &node->limits.limit[charge->limit], *now = &node->limits.limit[entry->limit];
    struct bucket kept;
    bucket_fill(&kept, then, now_ns, key->expires_ns);
    bucket_lower_to(&kept, then, key->number, now_ns);
    if (now != then)
        bucket_convert(&kept, then, now, INHERIT_TIERS, now_ns, key->expires_ns);
    bucket_lower_level(&entry->bucket, now, kept.settled, now_ns);
}

/* The key has as much left as when the former process ended, and time has given it since: what is held lacks there. */
static void take_again(struct node *node, struct charge *charge, const struct counter *key, uint64_t ends_ns,
                       uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    const bool lists = kind_lists(limit->kind);
    const bool is_over = kind_expires(limit->kind) && key->expires_ns <= now_ns;
    if (!lists && (key->number == 0 || is_over))
        return; /* it is full, as it would be if the process had gone on */
    struct entry *entry = table_obtain_nobodys(node->table, charge->id, charge->limit, key->expires_ns, now_ns);
    if (!counts_in_tokens(node, entry, charge)) { /* the store has the key under another limit */
        let_be(charge);
        return;
    }
    bucket_refill(&entry->bucket, &node->limits.limit[entry->limit], &node->by_limit.budget[entry->limit], now_ns);
    if (lists)
        list_again(node, entry, charge, ends_ns, now_ns);
    else
        lower_again(node, entry, charge, key, now_ns);
    counters_mark_dirty(node, entry);
}

/* ---- at a start beside peers ---- */

/* How much of what the charge holds may be what its key lacks, and no other reservation holds. NULL: a full key. */
static uint64_t lacking_tokens(struct node *node, const struct entry *entry, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[entry ? entry->limit : charge->limit];
    const int64_t lacking = entry ? limit->capacity_units - entry->bucket.settled : 0;
    if (kind_refills(limit->kind)) {
        const uint64_t age_ns = node->now_ns - number_least(node->now_ns, charge->spent_ns);
        return (uint64_t)((lacking + peaks_refilled(limit, age_ns)) / limit->units_per_token);
    }
    if (kind_expires(limit->kind) && charge->expires_ns <= node->now_ns)
        return charge->cost; /* which give nothing back */
    if (kind_lists(limit->kind))
        return entry ? events_others(limit->events, &entry->bucket.events) : 0;
    const uint64_t tokens = (uint64_t)(lacking / limit->units_per_token),
                   others = reserved_tokens(node, charge->id) - (charge->cost - charge->granted);
    return tokens - number_least(others, tokens);
}

/*
 * What the key does not lack, all other daemons have lost while this one was away: nobody gives it back. The rest
 * stands as a settled spend of this life from now on.
 */
static void own_again(struct node *node, struct entry *entry, struct charge *charge, uint64_t ends_ns)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    if (entry)
        bucket_refill(&entry->bucket, &node->limits.limit[entry->limit], &node->by_limit.budget[entry->limit],
                      node->now_ns);
    const uint64_t tokens = number_least(charge->cost, lacking_tokens(node, entry, charge));
    if (!kind_lists(limit->kind)) {
        charge->cost = tokens;
        charge->granted = number_least(charge->granted, tokens);
        const uint64_t own = tokens - charge->granted;
        refundable_settle(&node->refundable, charge->id, own, own, charge->spent_ns, node->now_ns);
    } else if (!entry || tokens < charge->cost) {
        let_be(charge);
    } else {
        list_again(node, entry, charge, ends_ns, node->now_ns);
    }
}

/*
 * A split limit begins anew with each start, and peers never count what is spent of it. Nothing may be given back as
 * newer than it is, so what was spent before this clock began, at a start of the machine, gives nothing back.
 */
static bool is_nobodys(const struct limit *limit, const struct charge *charge)
{
    const bool is_too_old = !kind_expires(limit->kind) && charge->spent_ns <= NODE_FIRST_NS;
    return is_too_old || (limit->flags & LIMIT_SPLIT) != 0;
}

/*
 * What is held comes from an old copy of a disk: a later start had it, and may have given it back. Peers know all that
 * start spent and gave back, and all of it was awaited before this one became active.
 */
static bool was_held_since(const struct node *node)
{
    const uint64_t holder = node->reserving.former_incarnation;
    for (uint32_t slot = 0; slot < node->origin_end; slot++) {
        const struct origin *origin = &node->origin[slot];
        if (origin->uid && slot != node->my_slot && origin->member == node->me && origin->incarnation > holder)
            return true;
    }
    return node->member[node->me].retired_incarnation > holder;
}

static void take_over_charge(struct node *node, struct charge *charge, uint64_t ends_ns)
{
    struct entry *entry = table_find(node->table, charge->id);
    if (was_held_since(node) || (entry && !counts_in_tokens(node, entry, charge)) ||
        is_nobodys(&node->limits.limit[charge->limit], charge))
        let_be(charge);
    else if (charge->cost > 0)
        own_again(node, entry, charge, ends_ns);
}

/* A lease that nobody counts any more has ended. */
static bool is_lost(const struct charge *charge)
{
    return charge->lease && charge->cost == 0;
}

static void take_over(struct node *node, struct reservation_kept *former)
{
    bool lost = false;
    for (size_t i = 0; i < former->count; i++) {
        const bool holds = former->charge[i].cost > 0;
        take_over_charge(node, &former->charge[i], former->expires_ns);
        lost |= holds && is_lost(&former->charge[i]);
    }
    reservations_taken_over(node->reserving.pool, former->id, former->charge);
    renewal_taken_over(node, former->id, former->charge, former->count);
    if (lost)
        reservations_renew(node->reserving.pool, former->id, former->charge, node->now_ns);
}

bool reserve_takes_over(const struct node *node)
{
    return node->reserving.pool && reservations_former_count(node->reserving.pool) > 0 &&
           node->life.state == PEER_ACTIVE;
}

void reserve_take_over(struct node *node)
{
    struct reservation_kept former;
    for (bool first = true; reserve_takes_over(node) && (step_has_time(node, 1) || first); first = false) {
        if (!reservations_next_former(node->reserving.pool, &node->reserving.former_place, &former))
            return;
        take_over(node, &former);
        step_works(node, 1 + former.count);
    }
}

/* ---- at any start ---- */

bool node_recall_reservation(struct node *node, const struct node_reservation *former, uint64_t now_ns)
{
    struct reservation_kept kept = former->kept;
    if (!node->reserving.pool || !name_limits(node, &kept, former->key))
        return false;
    kept.owner.tenant = TABLE_NOBODY;
    kept.is_former = !is_alone(node);
    node->reserving.former_incarnation = former->incarnation;
    if (kept.is_former)
        return reservations_reopen(node->reserving.pool, &kept);
    for (size_t i = 0; i < kept.count; i++)
        take_again(node, &kept.charge[i], &former->key[i], kept.expires_ns, now_ns);
    if (reservations_reopen(node->reserving.pool, &kept))
        return true;
    for (size_t i = 0; i < kept.count; i++) /* there is no room for it: any client may ask for what it held */
        reserve_let_go(node, &kept.charge[i], kept.charge[i].cost);
    return false;
}
