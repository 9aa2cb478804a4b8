/*
 * voucher_return gives back what nobody has used of a voucher: its tokens become tokens of everybody again, as a return
 * of what their makers have spent.
 */
#include "base/number.h"
#include "cluster/spend/outbox.h"
#include "cluster/spend/record.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_habit.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_places.h"
#include "cluster/spend/voucher_times.h"
#include "cluster/state/peaks.h"
#include "cluster/state/refundable.h"
#include "limit/charge.h"
#include "limit/kind.h"

enum {
    LATELY_ANSWERS = 2,
    SCARCE_ANSWERS = 4, /* so long after its last use a voucher is idle while places are scarce */
};

/* Who leaves decides nothing any more, and still has time for this. */
static bool may_return(const struct node *node)
{
    return may_decide(node) || (node->life.stopping && node->life.state == PEER_ACTIVE && node->accord.decides);
}

/*
 * True if the tokens of the voucher may be returned: all that is charged for them is known to be known soon, or is
 * listed, and ends by itself.
 */
static struct entry *entry_to_return_to(struct node *node, struct voucher *voucher)
{
    struct entry *entry = table_find(node->table, voucher->id);
    const bool settles = !node->awake.somebody_silent || kind_lists(node->limits.limit[voucher->limit].kind);
    bool can = entry && voucher_goes_over(node, voucher, entry->limit, node->now_ns) && may_return(node) &&
               !node->sharing.alone && settles && can_record(node, entry) && outbox_has_room(node, 1);
    return can ? entry : NULL;
}

/*
 * When the oldest ask was made whose tokens are not all used; others spent for it later. `joined`: or that of tokens
 * that have joined it.
 */
static uint64_t asked_since_ns(const struct node *node, const struct voucher *voucher, bool joined)
{
    uint64_t since_ns = node->now_ns;
    for (unsigned a = 0; a < VOUCHER_ASKS; a++) {
        const struct voucher_ask *ask = &voucher->ask[a];
        if (ask->units > 0)
            since_ns = number_least(since_ns, joined ? voucher_asked_first_ns(ask) : ask->asked_ns);
    }
    return since_ns;
}

/* Takes so many units off the asks of the voucher, the older ones first. */
static void take_off(const struct node *node, struct voucher *voucher, int64_t units)
{
    for (unsigned a = 0; a < VOUCHER_ASKS; a++) {
        const int64_t left = voucher_ask_unused(node, voucher, &voucher->ask[a], node->now_ns);
        const int64_t part = left < units ? left : units;
        voucher->ask[a].units -= part;
        units -= part;
    }
}

/* Tokens that were granted after that ask come off all lists of a log, where they count from later on. */
static void return_listed(struct node *node, struct entry *entry, uint64_t tokens, uint64_t asked_ns)
{
    const struct limit *limit = &node->limits.limit[entry->limit];
    const uint64_t since_ns = asked_ns + VOUCHER_LIFE_NS;
    const uint64_t until_ns = record_heeded_until_ns(node, limit, since_ns);
    bucket_take_granted_off(&entry->bucket, limit, &node->by_limit.budget[entry->limit], tokens, since_ns,
                            node->now_ns);
    if (until_ns > node->now_ns)
        record_return(node, entry, tokens, 0, until_ns);
}

void voucher_tell_used(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t asked_ns)
{
    struct entry *entry = table_find(node->table, charge->id);
    if (entry && entry->limit == charge->limit && can_record(node, entry))
        return_listed(node, entry, tokens, asked_ns);
}

/*
 * All peers have charged them, or do so before they hear of their return. So they are like settled tokens of this node:
 * nobody else gives them back. The truth lacks them from now on.
 */
void voucher_own_used(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t now_ns)
{
    refundable_settle(&node->refundable, charge->id, tokens, tokens, now_ns, now_ns);
}

static void give_back_listed(struct node *node, struct voucher *voucher)
{
    struct entry *entry = entry_to_return_to(node, voucher);
    int64_t units = 0;
    for (unsigned a = 0; a < VOUCHER_ASKS; a++)
        units += voucher_ask_unused(node, voucher, &voucher->ask[a], node->now_ns);
    if (!entry || units == 0)
        return;
    const uint64_t since_ns = asked_since_ns(node, voucher, true);
    take_off(node, voucher, units);
    note_open(own_thread(node), node->now_ns);
    return_listed(node, entry, (uint64_t)units, since_ns);
    node->stats.rights_returned_tokens += (uint64_t)units;
}

/*
 * Some of it could not be used in time. Only what is listed stays when it cannot be used any more. Of all else there is
 * nothing to compare: the clock that vouchers age by goes on between two looks.
 */
static bool has_late(const struct node *node, const struct voucher *voucher)
{
    bool late = false;
    if (!kind_lists(node->limits.limit[voucher->limit].kind))
        return false;
    for (unsigned a = 0; a < VOUCHER_ASKS; a++)
        late |= voucher_ask_unused(node, voucher, &voucher->ask[a], node->now_ns) >
                voucher_ask_units(node, voucher, &voucher->ask[a], node->now_ns);
    return late;
}

/*
 * Whole tokens of the voucher become tokens of everybody again: see "Give back" in docs/accounting.md. What this
 * node sees is full of, nobody needs.
 */
static void give_back(struct node *node, struct voucher *voucher)
{
    if (kind_lists(node->limits.limit[voucher->limit].kind)) {
        give_back_listed(node, voucher);
        return;
    }
    struct entry *entry = entry_to_return_to(node, voucher);
    if (!entry)
        return;
    const struct limit *limit = &node->limits.limit[voucher->limit];
    bucket_refill(&entry->bucket, limit, &node->by_limit.budget[voucher->limit], node->now_ns);
    int64_t units = voucher_units(node, voucher, node->now_ns);
    int64_t room = limit->capacity_units - entry->bucket.settled;
    units = units < room ? units : room;
    units -= units % limit->units_per_token;
    if (units <= 0)
        return;
    const uint64_t tokens = (uint64_t)(units / limit->units_per_token),
                   since_ns = asked_since_ns(node, voucher, false);
    take_off(node, voucher, units);
    voucher_habit_note_all(node, voucher);
    entry->bucket.settled += units;
    note_open(own_thread(node), node->now_ns);
    note_returned_since(own_thread(node), since_ns);
    record_return(node, entry, tokens, 0, UINT64_MAX);
    if (kind_refills(limit->kind))
        peaks_raise(&node->peaks, entry->id, limit, units, RAISE_OTHER, node->now_ns);
    node->stats.rights_returned_tokens += tokens;
}

void voucher_give_back_idle(struct node *node, struct voucher *voucher)
{
    uint64_t idle_ns = VOUCHER_IDLE_NS;
    if (voucher_places_are_scarce(node))
        idle_ns = number_least(idle_ns, SCARCE_ANSWERS * voucher_answer_ns(node));
    if (voucher->busy_ns > 0 &&
        (number_minus(node->now_ns, voucher->busy_ns) >= idle_ns || has_late(node, voucher)))
        give_back(node, voucher);
}

void voucher_give_back_all(struct node *node)
{
    for (uint32_t i = 0; i < node->rights.voucher_places.end; i++)
        if (node->rights.voucher[i].busy_ns > 0)
            give_back(node, &node->rights.voucher[i]);
}

bool voucher_is_awaited(const struct node *node)
{
    const uint64_t asked_ns = node->rights.asked_ns;
    return asked_ns > 0 && number_minus(node->now_ns, asked_ns) < LATELY_ANSWERS * voucher_answer_ns(node);
}

void voucher_give_back_for(struct node *node, struct key_id id)
{
    struct voucher *voucher = voucher_of_key(node, id);
    if (voucher && number_minus(node->now_ns, voucher->busy_ns) >= LATELY_ANSWERS * voucher_answer_ns(node))
        give_back(node, voucher);
}
