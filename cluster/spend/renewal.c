/*
 * renewal renews leases whose home is elsewhere. While a renewal is awaited, charge->spent_ns is the time of the new
 * spend, and charge->expires_ns the end of the old one.
 */
#include "cluster/spend/renewal.h"

#include "base/number.h"
#include "cluster/spend/hold.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/record.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher_times.h"
#include "cluster/state/member.h"
#include "cluster/state/node_state.h"
#include "cluster/state/share.h"
#include "limit/charge.h"
#include "limit/kind.h"
#include "limit/reservation.h"

enum {
    DUE_PART = 2,    /* of a period has passed when a lease may begin anew */
    DRIFT_PART = 32, /* of a period: so much earlier the home may see a spend end, by a faster clock */
};

static const struct limit *limit_of(const struct node *node, const struct charge *charge)
{
    return &node->limits.limit[charge->limit];
}

bool renewal_is_elsewhere(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = limit_of(node, charge);
    return kind_lists(limit->kind) && limit_home_is_one(limit->home) &&
           node->by_limit.budget[charge->limit].share == 0;
}

static bool is_lease_elsewhere(const struct node *node, const struct charge *charge)
{
    return charge->lease && charge->cost > 0 && renewal_is_elsewhere(node, charge);
}

static uint64_t period_ns(const struct node *node, const struct charge *charge)
{
    return limit_of(node, charge)->period_ns;
}

/* When the spend was made that ends with the charge. */
static uint64_t known_since_ns(const struct node *node, const struct charge *charge)
{
    return charge->expires_ns - number_least(period_ns(node, charge), charge->expires_ns);
}

static bool has_new_spend(const struct node *node, const struct charge *charge)
{
    return is_lease_elsewhere(node, charge) && charge->spent_ns > known_since_ns(node, charge);
}

static bool is_at_home(const struct member *member, const struct limit *limit)
{
    return member->used && !member->share_freed &&
           (member->home == limit->home || limit_home_of(bytes_of(member->region)) == limit->home);
}

/* The home is heard: its daemons can say soon that they know the spend. */
static bool home_is_heard(const struct node *node, const struct limit *limit)
{
    bool heard = share_heard_of(node, limit) > 0;
    for (uint32_t i = 0; i < node->member_end && heard; i++)
        heard = !is_at_home(&node->member[i], limit) || other_is_heard(&node->member[i]);
    return heard;
}

/* Each daemon that has a part of the limit has applied that batch of this node. */
static bool home_knows(const struct node *node, const struct limit *limit, uint64_t batch)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        if (!is_at_home(member, limit))
            continue;
        if (member->known[node->my_slot] < batch)
            return false;
        count++;
    }
    return count > 0;
}

/* The old spend still counts at home, by any clock. */
static bool is_in_time(const struct node *node, const struct charge *charge, const struct renewal *renewal,
                       uint64_t now_ns)
{
    const uint64_t age_ns = voucher_age_ns(node, known_since_ns(node, charge), renewal->known_sleepless_ns, now_ns);
    return age_ns < period_ns(node, charge) - period_ns(node, charge) / DRIFT_PART;
}

static bool is_confirmed(const struct node *node, const struct charge *held, size_t count,
                         const struct renewal *renewal, uint64_t now_ns)
{
    bool confirmed = renewal->batch > 0 && renewal->origin_uid == node->origin[node->my_slot].uid;
    now_ns = now_ns > node->now_ns ? now_ns : node->now_ns;
    for (size_t i = 0; i < count && confirmed; i++)
        confirmed = !has_new_spend(node, &held[i]) || (is_in_time(node, &held[i], renewal, now_ns) &&
                                                       home_knows(node, limit_of(node, &held[i]), renewal->batch));
    return confirmed;
}

bool renewal_confirm(const struct node *node, struct charge *held, size_t count, struct renewal *renewal,
                     uint64_t now_ns)
{
    if (!renewal->is_awaited)
        return true;
    if (!is_confirmed(node, held, count, renewal, now_ns))
        return false;
    for (size_t i = 0; i < count; i++)
        if (has_new_spend(node, &held[i]))
            held[i].expires_ns = number_sum(held[i].spent_ns, period_ns(node, &held[i]));
    *renewal = (struct renewal){.known_sleepless_ns = renewal->new_sleepless_ns};
    return true;
}

static void note_known_since(struct node *node, struct reservation_id id, uint64_t age_ns)
{
    const uint64_t sleepless_ns = voucher_sleepless_ns(node);
    reserving_lock(node);
    reservations_renewal(node->reserving.pool, id)->known_sleepless_ns =
        sleepless_ns - number_least(sleepless_ns, age_ns);
    reserving_unlock(node);
}

void renewal_opened(struct node *node, struct reservation_id id, const struct charge *held, size_t count)
{
    bool elsewhere = false;
    for (size_t i = 0; i < count; i++)
        elsewhere |= is_lease_elsewhere(node, &held[i]);
    if (elsewhere)
        note_known_since(node, id, 0);
}

void renewal_taken_over(struct node *node, struct reservation_id id, const struct charge *held, size_t count)
{
    uint64_t since_ns = node->now_ns;
    for (size_t i = 0; i < count; i++)
        if (is_lease_elsewhere(node, &held[i]))
            since_ns = number_least(since_ns, held[i].spent_ns);
    note_known_since(node, id, node->now_ns - since_ns);
}

/* All leases elsewhere were begun at one moment, and others still heed the return of the old spends. */
static bool may_begin(const struct node *node, const struct charge *held, size_t count, uint64_t now_ns)
{
    bool is_due = false;
    uint64_t since_ns = 0;
    for (size_t i = 0; i < count; i++) {
        const struct charge *charge = &held[i];
        if (!is_lease_elsewhere(node, charge))
            continue;
        const uint64_t known_ns = known_since_ns(node, charge);
        if (charge->spent_ns != known_ns || (since_ns > 0 && known_ns != since_ns) ||
            record_heeded_until_ns(node, limit_of(node, charge), known_ns) <= now_ns ||
            !home_is_heard(node, limit_of(node, charge)))
            return false;
        since_ns = known_ns;
        is_due |= now_ns - known_ns >= period_ns(node, charge) / DUE_PART;
    }
    return is_due && may_decide(node) && !node->sharing.alone && !node->log.full &&
           outbox_has_room(node, CHARGES_MAX);
}

static bool note_untold(struct node *node, struct reservation_id id)
{
    struct reserving *reserving = &node->reserving;
    reserving_lock(node);
    const bool has_room = reserving->untold_count < RENEWALS_UNTOLD_MAX;
    if (has_room)
        reserving->untold[reserving->untold_count++] = id;
    reserving_unlock(node);
    return has_room;
}

static void begin(struct node *node, struct charge *held, size_t count, struct renewal *renewal, uint64_t now_ns)
{
    renewal->new_sleepless_ns = voucher_sleepless_ns(node);
    for (size_t i = 0; i < count; i++) {
        if (!is_lease_elsewhere(node, &held[i]))
            continue;
        if (!hold_beside(node, &held[i], held[i].expires_ns, now_ns))
            return; /* the lease ends with the spends that are left as they were */
        renewal->is_awaited = true;
    }
}

void renewal_go_on(struct node *node, struct reservation_id id, struct charge *held, size_t count,
                   struct renewal *renewal, uint64_t now_ns)
{
    if (renewal_confirm(node, held, count, renewal, now_ns) && may_begin(node, held, count, now_ns) &&
        note_untold(node, id))
        begin(node, held, count, renewal, now_ns);
}

void renewals_are_told(struct node *node)
{
    struct reserving *reserving = &node->reserving;
    for (uint32_t i = 0; i < reserving->untold_count; i++) {
        struct renewal *renewal = reservations_renewal(reserving->pool, reserving->untold[i]);
        if (!renewal || !renewal->is_awaited || renewal->batch > 0)
            continue;
        renewal->batch = node->origin[node->my_slot].applied;
        renewal->origin_uid = node->origin[node->my_slot].uid;
    }
    reserving->untold_count = 0;
}
