/*
 * reserve_kept carries reservations from one process of a daemon to the next, where no other daemon counts what they
 * hold. What a reservation holds is taken from its keys again, so it gives back no more than it has there. Where a part
 * of that is not possible, that part counts as used: nobody gives it back.
 */
#include "base/number.h"
#include "cluster/node.h"
#include "cluster/spend/counters.h"
#include "cluster/spend/thread.h"
#include "cluster/state/node_state.h"
#include "limit/kind.h"

bool node_keeps_reservations(const struct node *node)
{
    bool alone = node->reserving.pool != NULL && node->options.peer_count == 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        alone &= !node->member[i].used || node->member[i].self || node->member[i].share_freed;
    return alone;
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

bool node_keep_reservation(struct node *node, uint32_t *place, uint64_t now_ns, struct node_reservation *next)
{
    if (!node->reserving.pool || !reservations_keep_next(node->reserving.pool, place, &next->kept))
        return false;
    for (size_t i = 0; i < next->kept.count; i++)
        next->key[i] = used_of(node, &next->kept.charge[i], now_ns);
    return true;
}

/* ---- at the start ---- */

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
    if (charge->cost == 0 || charge->cost > limit->capacity ||
        number_sum(charge->spent_ns, limit->period_ns) <= now_ns) {
        let_be(charge);
        return;
    }
    if (bucket_hold_again(&entry->bucket, limit, charge->cost, charge->spent_ns, ends_ns))
        return;
    bucket_apply(&entry->bucket, limit, budget, charge->cost, 0, charge->spent_ns, 0);
    let_be(charge);
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
    if (entry->limit != charge->limit) { /* the store has the key under another limit */
        let_be(charge);
        return;
    }
    bucket_refill(&entry->bucket, limit, &node->by_limit.budget[charge->limit], now_ns);
    if (lists)
        list_again(node, entry, charge, ends_ns, now_ns);
    else
        bucket_lower_to(&entry->bucket, limit, key->number, now_ns);
    counters_mark_dirty(node, entry);
}

/* The reservation has no room: what it holds of a LOG may be given back like any spend, if somebody asks. */
static void let_go(struct node *node, const struct charge *charge)
{
    struct entry *entry = table_find(node->table, charge->id);
    if (entry && charge->cost > 0)
        (void)bucket_unhold(&entry->bucket, &node->limits.limit[entry->limit], charge->cost, charge->spent_ns);
}

bool node_recall_reservation(struct node *node, const struct node_reservation *former, uint64_t now_ns)
{
    struct reservation_kept kept = former->kept;
    if (!node->reserving.pool || !name_limits(node, &kept, former->key))
        return false;
    kept.owner.tenant = TABLE_NOBODY;
    for (size_t i = 0; i < kept.count; i++)
        take_again(node, &kept.charge[i], &former->key[i], kept.expires_ns, now_ns);
    if (reservations_reopen(node->reserving.pool, &kept))
        return true;
    for (size_t i = 0; i < kept.count; i++)
        let_go(node, &kept.charge[i]);
    return false;
}
