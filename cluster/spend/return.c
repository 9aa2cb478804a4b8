/*
 * return gives tokens back. A token is given back once, by the node that spent it: tokens of a
 * reservation by the reservation, other tokens to any client that asks. No other node can know
 * whether they were given back already (I11 of docs/accounting.md). Accounts of settled own spends
 * are in state/refundable.c.
 */
#include "cluster/spend/return.h"

#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/spend/decide.h"
#include "cluster/spend/grant.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/record.h"
#include "cluster/spend/reserve.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/state/node_state.h"
#include "cluster/state/peaks.h"
#include "cluster/state/refundable.h"
#include "limit/bucket_units.h"
#include "limit/events.h"
#include "limit/kind.h"

static uint64_t whole_tokens(const struct limit *limit, int64_t units)
{
    return units <= 0 ? 0 : (uint64_t)((units - 1) / limit->units_per_token + 1);
}

/*
 * What this node spent of the key for its clients, and did not give back. Where peers grant each other rights,
 * unsettled tokens may have been spent on behalf of others, or be those of a reservation that ended while vouchers
 * left no room for them (least_taken). So what was given back of tokens that have not settled is taken off once more.
 */
static uint64_t own_tokens(struct node *node, const struct entry *entry)
{
    uint64_t granted = 0, unsettled = whole_tokens(&node->limits.limit[entry->limit], entry->bucket.unsettled);
    if (!grants_concern(node, entry->id, &granted) && !node->options.grants)
        return unsettled + refundable_tokens(&node->refundable, entry->id);
    int64_t balance = refundable_balance(&node->refundable, entry->id);
    unsettled -= number_least(granted, unsettled);
    if (balance < 0)
        return unsettled - number_least((uint64_t)-balance, unsettled);
    return unsettled + (uint64_t)balance;
}

/*
 * All that is taken of the key. A part of a token that refill has left counts as one. Of a cell it does not: it is what
 * nobody could use of a voucher, and others took the rest of it.
 */
static uint64_t taken_tokens(const struct limit *limit, const struct bucket *bucket)
{
    const int64_t units = limit->capacity_units - bucket->settled + bucket->unsettled;
    return whole_tokens(limit, kind_expires(limit->kind) ? units - units % limit->units_per_token : units);
}

/*
 * The tokens of the key that this node spent and did not give back, without those that reservations
 * hold. A node that is alone counts all taken tokens as its own: any other spender is gone. A LOG
 * notes by itself which spends are own.
 */
static uint64_t refundable_here(struct node *node, const struct entry *entry)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct bucket *bucket = &entry->bucket;
    if (kind_lists(limit->kind))
        return UINT64_MAX;
    uint64_t held = reserved_tokens(node, entry->id);
    uint64_t tokens = node->sharing.alone ? taken_tokens(limit, bucket) : own_tokens(node, entry);
    return tokens > held ? tokens - held : 0;
}

/*
 * Of a bucket, tokens in vouchers count as spent though nobody has used them yet. They make no room for
 * a return: the truth has none there.
 */
static uint64_t least_taken(const struct node *node, const struct entry *entry, const struct charge *charge,
                            uint64_t tokens)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    bool shared = node->options.grants && kind_refills(limit->kind) && record_is_told_under(node, limit);
    /* as of the last step, as all that is remembered of grants */
    const uint64_t used_age_ns = node->now_ns - number_least(node->now_ns, charge->spent_ns);
    uint64_t granted = shared ? granted_tokens(node, entry->id, charge->granted, used_age_ns) : 0;
    if (granted == 0)
        return tokens;
    int64_t units = limit->capacity_units - entry->bucket.settled + entry->bucket.unsettled;
    uint64_t taken = units > 0 ? (uint64_t)(units / limit->units_per_token) : 0;
    return number_least(tokens, taken > granted ? taken - granted : 0);
}

bool counts_in_tokens(const struct node *node, const struct entry *entry, const struct charge *charge)
{
    const struct limit *now = &node->limits.limit[entry->limit], *then = &node->limits.limit[charge->limit];
    return now == then ||
           (charge->inherit == INHERIT_TIERS && now->of_tiers && then->of_tiers && now->kind == then->kind);
}

/*
 * A reservation gives back the tokens that it holds; a client that asks, only tokens that are not
 * held.
 */
enum giver { GIVER_ASKED, GIVER_RESERVATION };

/*
 * A part of a token that is unsettled may be a grant of this node, which is charged exactly when it settles. Then a
 * return does not pay it off: what a return pays off is counted in whole tokens, and so much is not charged.
 */
static int64_t part_of_grants(const struct node *node, const struct entry *entry)
{
    uint64_t granted = 0;
    return grants_concern(node, entry->id, &granted)
               ? entry->bucket.unsettled % node->limits.limit[entry->limit].units_per_token
               : 0;
}

static uint64_t return_units(struct node *node, struct entry *entry, uint64_t tokens, uint64_t now_ns,
                             uint64_t *credit)
{
    const int64_t part = part_of_grants(node, entry);
    entry->bucket.unsettled -= part;
    uint64_t given = bucket_return(&entry->bucket, &node->limits.limit[entry->limit],
                                   &node->by_limit.budget[entry->limit], tokens, now_ns, credit);
    entry->bucket.unsettled += part;
    return given;
}

static uint64_t return_to_bucket(struct node *node, struct entry *entry, const struct charge *charge,
                                 uint64_t tokens, enum giver giver, uint64_t now_ns, uint64_t *credit)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const struct budget *budget = &node->by_limit.budget[entry->limit];
    tokens = least_taken(node, entry, charge, tokens);
    if (giver == GIVER_ASKED)
        return return_units(node, entry, number_least(tokens, refundable_here(node, entry)), now_ns, credit);
    if (kind_lists(limit->kind))
        return bucket_release(&entry->bucket, limit, budget, tokens, charge->spent_ns, now_ns);
    return return_units(node, entry, tokens, now_ns, credit);
}

/*
 * Takes the tokens off those that this node may give back. A return that no peer is told settles
 * nowhere: see refundable.h.
 */
static void note_returned(struct node *node, struct key_id id, const struct limit *limit, uint64_t tokens,
                          uint64_t now_ns)
{
    if (kind_lists(limit->kind))
        return;
    if (record_is_told_under(node, limit))
        refundable_return(&node->refundable, id, tokens, now_ns);
    else
        refundable_return_untold(&node->refundable, id, tokens, now_ns);
}

/*
 * The units by which a return raises the bucket. At the only home of a limit, tokens of a spend at `since_ns` (0: not
 * known) count only as far as refill has made them good since. The other tokens give back the room that they took,
 * and raise nothing: the room is not taken from a client that gives back elsewhere.
 */
static int64_t raised_units(const struct limit *limit, uint64_t tokens, uint64_t since_ns, uint64_t now_ns)
{
    const int64_t units = units_of_tokens(limit, tokens);
    if (!limit_home_is_one(limit->home) || since_ns == 0 || since_ns > now_ns)
        return units;
    const int64_t refilled = peaks_refilled(limit, now_ns - since_ns);
    return refilled < units ? refilled : units;
}

/* What is credited to a bucket later depends on what this return raises it by. `spent_ns`: 0, or of all of it. */
static void note_raised(struct node *node, const struct entry *entry, uint64_t given, uint64_t credit,
                        uint64_t spent_ns, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (!kind_refills(limit->kind))
        return;
    if (given > credit) {
        const uint64_t newest_ns = refundable_take_newest(&node->refundable, entry->id, given - credit);
        const uint64_t since_ns = spent_ns > 0 ? spent_ns : newest_ns;
        note_returned_since(own_thread(node), newest_ns);
        peaks_raise(&node->peaks, entry->id, limit, raised_units(limit, given - credit, since_ns, now_ns),
                    RAISE_OTHER, now_ns);
    }
    if (credit > 0)
        peaks_raise(&node->peaks, entry->id, limit, raised_units(limit, credit, spent_ns, now_ns),
                    RAISE_OWN_UNSETTLED, now_ns);
}

/*
 * When others may think that the tokens of a reservation were spent. While a renewal is awaited, the spend before it:
 * who has not heard of the new one in time may have given the place away, and must not take that off its list.
 */
static uint64_t known_since_ns(const struct node *node, const struct charge *charge)
{
    const uint64_t period_ns = node->limits.limit[charge->limit].period_ns;
    return charge->expires_ns > period_ns ? number_least(charge->spent_ns, charge->expires_ns - period_ns)
                                          : charge->spent_ns;
}

/* True: others granted all that clients here take of the bucket, so all that they give back is of that. */
static bool was_granted(const struct node *node, const struct entry *entry)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    return kind_refills(limit->kind) && record_is_told_under(node, limit) && voucher_pays_own(node, entry->limit);
}

/* When tokens were used that are given back now: those of a reservation are known, of others the newest count. */
static uint64_t used_ns(struct node *node, const struct charge *charge, uint64_t tokens, enum giver giver)
{
    const uint64_t newest_ns = refundable_take_newest(&node->refundable, charge->id, tokens);
    return giver == GIVER_RESERVATION ? charge->spent_ns : newest_ns;
}

/* So long ago that nobody goes by how full a bucket looked since, which says nothing of what is in vouchers. */
static uint64_t told_since_ns(uint64_t since_ns, uint64_t now_ns)
{
    return number_least(since_ns, now_ns - number_least(now_ns, PEAKS_SPAN_NS + 1));
}

/*
 * Tokens of a bucket that others granted, and clients here used, become tokens of everybody, but for those that refill
 * may have made good since then: see "Buckets: what was used is given back" in docs/accounting.md. Others are told when
 * that was, and reckon by their own clocks. What has no room here for another reason they are not told.
 */
static uint64_t become_everybodys(struct node *node, struct entry *entry, uint64_t tokens, uint64_t since_ns,
                                  uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const int64_t units = units_of_tokens(limit, tokens), room = limit->capacity_units - entry->bucket.settled;
    int64_t sure = peaks_return(&node->peaks, entry->id, limit, units, now_ns - since_ns, now_ns);
    sure = sure < room ? sure : room;
    if (sure <= 0)
        return 0;
    const int64_t less = units - peaks_refilled(limit, now_ns - since_ns) - sure;
    const uint64_t told = tokens - (uint64_t)(less / limit->units_per_token);
    entry->bucket.settled += sure;
    note_open(own_thread(node), now_ns);
    note_returned_since(own_thread(node), since_ns);
    record_return(node, entry, told, 0, UINT64_MAX);
    if (voucher_may_be_held(node, entry->id))
        voucher_lack_forget(node, entry->id, now_ns);
    record_hurry(node, entry); /* others may wait for it */
    own_thread(node)->returned_tokens += whole_tokens(limit, sure);
    return whole_tokens(limit, sure);
}

/* Of a bucket of which this node has no share. */
static uint64_t return_granted(struct node *node, struct entry *entry, const struct charge *charge, uint64_t tokens,
                               enum giver giver, uint64_t now_ns)
{
    const uint64_t own = refundable_tokens(&node->refundable, entry->id),
                   held = giver == GIVER_ASKED ? reserved_tokens(node, entry->id) : 0;
    if (giver == GIVER_ASKED)
        tokens = number_least(tokens, own - number_least(held, own));
    if (tokens == 0)
        return 0;
    const uint64_t since_ns = told_since_ns(used_ns(node, charge, tokens, giver), now_ns);
    refundable_return(&node->refundable, entry->id, tokens, now_ns);
    return become_everybodys(node, entry, tokens, since_ns, now_ns);
}

/*
 * Of a bucket of which this node has a share: tokens of a reservation that others granted. Their accounts are of nobody
 * here. They fill no room that vouchers have made, and while a peer is silent they do not come back: it may not know of
 * the grant.
 */
static uint64_t return_granted_part(struct node *node, const struct charge *charge, uint64_t tokens,
                                    uint64_t now_ns)
{
    struct entry *entry = table_find(node->table, charge->id);
    if (tokens == 0 || !entry || !counts_in_tokens(node, entry, charge) || node->sharing.alone ||
        node->awake.somebody_silent || !may_decide(node) || !can_record(node, entry))
        return 0;
    bucket_refill(&entry->bucket, &node->limits.limit[entry->limit], &node->by_limit.budget[entry->limit], now_ns);
    tokens = least_taken(node, entry, charge, tokens);
    return become_everybodys(node, entry, tokens, told_since_ns(charge->spent_ns, now_ns), now_ns);
}

static uint64_t return_own(struct node *node, const struct charge *charge, uint64_t tokens, enum giver giver,
                           uint64_t now_ns)
{
    struct entry *entry = table_find(node->table, charge->id);
    if (tokens == 0)
        return 0;
    if (!entry) { /* full, and forgotten: what a reservation held is nobody's to give back, once it settles */
        if (giver == GIVER_RESERVATION)
            note_returned(node, charge->id, &node->limits.limit[charge->limit], tokens, now_ns);
        return 0;
    }
    if (!can_record(node, entry)) {
        own_thread(node)->push_wanted = true;
        return 0;
    }
    const struct limit *limit = &node->limits.limit[entry->limit];
    if (charge_has_ended(limit, charge, now_ns)) { /* nor what it held of a window that a peer's clock has open */
        if (giver == GIVER_RESERVATION)
            note_returned(node, entry->id, limit, tokens, now_ns);
        return 0;
    }
    uint64_t credit = 0;
    bucket_refill(&entry->bucket, limit, &node->by_limit.budget[entry->limit], now_ns);
    if (was_granted(node, entry)) {
        if (entry->bucket.unsettled == 0)
            return return_granted(node, entry, charge, tokens, giver, now_ns);
        /* spends from before the limit had this home: nothing else until they have settled */
        tokens = number_least(tokens, whole_tokens(limit, entry->bucket.unsettled));
    }
    uint64_t spent_ns = !kind_lists(limit->kind)     ? 0
                        : giver == GIVER_RESERVATION ? known_since_ns(node, charge)
                                                     : events_oldest_own_ns(limit->events, &entry->bucket.events);
    uint64_t until_ns = record_heeded_until_ns(node, limit, spent_ns);
    uint64_t given = return_to_bucket(node, entry, charge, tokens, giver, now_ns, &credit);
    note_raised(node, entry, given, credit, giver == GIVER_RESERVATION ? charge->spent_ns : 0, now_ns);
    /* Refill may have made good some tokens of a reservation: they are not given back once more. */
    note_returned(node, entry->id, limit, giver == GIVER_RESERVATION ? tokens : given, now_ns);
    note_open(own_thread(node), now_ns);
    record_return(node, entry, until_ns > now_ns ? given : 0, credit, until_ns);
    if (voucher_may_be_held(node, entry->id))
        voucher_lack_forget(node, entry->id, now_ns);
    if (limit_home_is_one(limit->home) && kind_returns_granted(limit->kind) && given > 0)
        /* others may wait for the only one */
        record_hurry(node, entry);
    own_thread(node)->returned_tokens += given;
    return given;
}

/*
 * What others granted of a reservation goes by other rules than its own tokens, and comes first: own ones that come
 * back would count as older.
 */
static uint64_t return_to(struct node *node, const struct charge *charge, uint64_t tokens, enum giver giver,
                          uint64_t now_ns)
{
    const uint64_t granted = giver == GIVER_RESERVATION ? number_least(tokens, charge->granted) : 0;
    const uint64_t given = return_granted_part(node, charge, granted, now_ns);
    return given + return_own(node, charge, tokens - granted, giver, now_ns);
}

/* Returns how many tokens each charge got back. */
static uint64_t return_each(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                            enum giver giver, uint64_t now_ns)
{
    struct least_tokens least = least_tokens_of_none();
    now_ns = decide_time_ns(node, now_ns);
    for (size_t i = 0; i < count; i++) {
        const uint64_t most = number_least(tokens, charges[i].cost);
        const uint64_t given = return_to(node, &charges[i], most, giver, now_ns);
        if (most > 0)
            least_tokens_note(&least, &charges[i], given);
    }
    return least_tokens(&least) < UINT64_MAX ? least_tokens(&least) : 0;
}

void return_held(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns)
{
    (void)return_each(node, charges, count, UINT64_MAX, GIVER_RESERVATION, now_ns);
}

uint64_t node_return(struct node *node, const struct charge *charges, size_t count, uint64_t tokens,
                     uint64_t now_ns)
{
    struct table_held keys;
    decide_lock_keys(node, charges, count, &keys);
    uint64_t given = return_each(node, charges, count, tokens, GIVER_ASKED, now_ns);
    table_unlock(node->table, &keys);
    return given;
}

uint32_t node_reset_key(struct node *node, const struct charge *charges, size_t count, uint64_t now_ns)
{
    uint32_t reset_count = 0;
    struct table_held keys;
    decide_lock_keys(node, charges, count, &keys);
    now_ns = decide_time_ns(node, now_ns);
    for (size_t i = 0; i < count; i++) {
        uint64_t given = return_to(node, &charges[i], SPEND_TOKENS_MAX, GIVER_ASKED, now_ns);
        const struct charge previous = {.id = charges[i].previous};
        if (charges[i].sliding)
            given += return_to(node, &previous, SPEND_TOKENS_MAX, GIVER_ASKED, now_ns);
        reset_count += given > 0;
    }
    table_unlock(node->table, &keys);
    return reset_count;
}
