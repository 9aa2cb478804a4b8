/*
 * spenders says whose the tokens are that batches of others charge: their maker's, but for what it granted, which is
 * the holder's. An account of what refills has a full key at most: refill has paid off the rest. This node's own place
 * is the account of anybody: what its former starts spent others tell, and nobody knows it from other spends.
 */
#include "cluster/spend/spenders.h"

#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/spend/voucher.h"
#include "cluster/state/node_state.h"
#include "cluster/state/origin.h"
#include "cluster/state/others_spent.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

static const struct limit *limit_of(const struct node *node, const struct entry *entry)
{
    return &node->limits.limit[entry->limit];
}

/*
 * A key of a rule with tiers is charged under one limit and credited under another one. So it has one account for all
 * of them, which counts in parts of a token.
 */
enum { ACCOUNT_OF_TIERS = UINT16_MAX, PART_BITS = 16 };
_Static_assert((int)ACCOUNT_OF_TIERS > (int)LIMITS_MAX, "no limit has that index");

static struct spender spender_of(const struct node *node, const struct entry *entry, uint32_t member)
{
    const bool of_tiers = limit_of(node, entry)->of_tiers;
    return (struct spender){.id = entry->id,
                            .limit = of_tiers ? ACCOUNT_OF_TIERS : entry->limit,
                            .member = (uint8_t)member};
}

/* Units of the limit as the account counts them; those that are taken off are rounded up. And back. */
static int64_t as_account(const struct limit *limit, int64_t units, bool up)
{
    const uint128 to_a_token = (uint64_t)limit->units_per_token, parts = (uint128)(uint64_t)units << PART_BITS;
    return limit->of_tiers ? (int64_t)((parts + (up ? to_a_token - 1 : 0)) / to_a_token) : units;
}

static int64_t of_account(const struct limit *limit, int64_t kept)
{
    return limit->of_tiers ? (int64_t)((uint128)(uint64_t)kept * (uint64_t)limit->units_per_token >> PART_BITS)
                           : kept;
}

static int64_t most_of(const struct limit *limit)
{
    return limit->capacity_units + (kind_refills(limit->kind) ? limit->wider_units : limit->debt_units);
}

/* `units` of the limit that the entry has: charged, or given back (below 0). */
static void change(struct node *node, const struct entry *entry, uint32_t member, int64_t units)
{
    const struct spender spender = spender_of(node, entry, member);
    const struct limit *limit = limit_of(node, entry);
    const int64_t more = units < 0 ? -as_account(limit, -units, true) : as_account(limit, units, false);
    others_spent_change(&node->others_spent, &spender, more, as_account(limit, most_of(limit), false));
}

/* Units of one account as those of the other one, rounded down. */
static int64_t moved(const struct limit *from, const struct limit *to, int64_t kept)
{
    const uint128 units = (uint128)(uint64_t)of_account(from, kept) * (uint64_t)to->units_per_token;
    const uint128 here = units / (uint64_t)from->units_per_token, most = (uint128)(uint64_t)most_of(to);
    return as_account(to, (int64_t)(here < most ? here : most), false);
}

void spenders_go_over(struct node *node, struct entry *entry, uint16_t index)
{
    const struct limit *from = limit_of(node, entry), *to = &node->limits.limit[index];
    struct entry other = *entry;
    other.limit = index & (unsigned)LIMITS_MAX;
    for (uint32_t i = 0; i < node->member_end && !(from->of_tiers && to->of_tiers); i++) {
        const struct spender before = spender_of(node, entry, i), after = spender_of(node, &other, i);
        const int64_t kept = others_spent_units(&node->others_spent, &before);
        if (kept == 0)
            continue;
        others_spent_change(&node->others_spent, &before, -kept, kept);
        others_spent_change(&node->others_spent, &after, moved(from, to, kept), as_account(to, most_of(to), false));
    }
}

uint64_t spenders_own_tokens(const struct spend *spend)
{
    return spend->tokens - number_least(spend->granted, spend->tokens);
}

static int64_t units_of(const struct node *node, const struct entry *entry, uint32_t member)
{
    const struct spender spender = spender_of(node, entry, member);
    return of_account(limit_of(node, entry), others_spent_units(&node->others_spent, &spender));
}

uint64_t spenders_may_return(struct node *node, const struct entry *entry, uint32_t member,
                             const struct spend *spend)
{
    const struct limit *limit = limit_of(node, entry);
    const uint64_t own = number_least(spenders_own_tokens(spend), spend->returned);
    const int64_t earlier = units_of_tokens(limit, spend->returned - own);
    if (earlier == 0)
        return spend->returned;
    const int64_t of_member = units_of(node, entry, member);
    if (earlier <= of_member)
        return spend->returned;
    const int64_t all = member == node->me ? of_member : of_member + units_of(node, entry, node->me);
    if (earlier <= all)
        return spend->returned;
    const uint64_t may = own + (uint64_t)(all / limit->units_per_token);
    node->stats.unspent_returns += spend->returned - may;
    return may;
}

void spenders_note_charge(struct node *node, const struct entry *entry, uint32_t member, int64_t units)
{
    if (units > 0)
        change(node, entry, member, units);
}

void spenders_note_lowered(struct node *node, const struct entry *entry, int64_t units)
{
    spenders_note_charge(node, entry, node->me, units);
}

/* What the member gave back of earlier spends: its own, and then anybody's. */
static void take_off(struct node *node, const struct entry *entry, uint32_t member, int64_t units)
{
    const int64_t known = units_of(node, entry, member), own = units < known ? units : known;
    change(node, entry, member, -own);
    if (units > own)
        change(node, entry, node->me, own - units);
}

int spenders_holder(const struct node *node, const struct batch_grant *grant, struct key_id id)
{
    const int slot = key_id_equal(grant->id, id) ? origin_find_uid(node, grant->holder_uid) : -1;
    return slot < 0 || (uint32_t)slot == node->my_slot ? -1 : (int)node->origin[slot].member;
}

/* What the batch granted of the key, to whomever, as far as `charged` goes. */
static void note_grants(struct node *node, const struct entry *entry, const struct batch *batch, int64_t charged)
{
    for (uint32_t i = 0; i < batch->grant_count && charged > 0; i++) {
        const struct batch_grant *grant = &batch->grant[i];
        const int holder = spenders_holder(node, grant, entry->id);
        if (holder < 0)
            continue;
        const int64_t granted = grant_units(limit_of(node, entry), grant->tokens, grant->spare),
                      units = granted < charged ? granted : charged;
        spenders_note_charge(node, entry, (uint32_t)holder, units);
        charged -= units;
    }
}

void spenders_note(struct node *node, const struct entry *entry, uint32_t member, const struct batch *batch,
                   const struct spend *spend, int64_t charged, uint64_t returned)
{
    const struct limit *limit = limit_of(node, entry);
    const int64_t all_own = units_of_tokens(limit, spenders_own_tokens(spend));
    charged = charged > 0 ? charged : 0;
    const int64_t own = all_own < charged ? all_own : charged;
    const int64_t back = units_of_tokens(limit, returned);
    if (back > own)
        take_off(node, entry, member, back - own);
    else
        spenders_note_charge(node, entry, member, own - back);
    if (spend->granted > 0)
        note_grants(node, entry, batch, charged - own);
}
