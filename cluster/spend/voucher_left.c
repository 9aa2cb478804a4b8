/*
 * voucher_left computes what is left of a voucher: of what others granted, what nobody has used yet and what refill
 * cannot have lost. It takes vouchers along where the requests of their keys have several tiers.
 */
#include "cluster/spend/voucher_left.h"

#include "base/number.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_habit.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/spend/voucher_times.h"
#include "limit/kind.h"

__extension__ typedef __int128 wide;

enum {
    MUCH_PART = 4, /* of a bucket's capacity: parts of a token that come to nothing would be much of less */
    MUCH_OF_CELL_PART = 16,
};

bool voucher_much_is_left(const struct limit *limit, int64_t left)
{
    return kind_refills(limit->kind) ? left > limit->capacity_units / MUCH_PART
                                     : left >= limit->capacity_units / MUCH_OF_CELL_PART;
}

int64_t voucher_sum(int64_t units, int64_t more)
{
    return units < VOUCHER_UNITS_MAX - more ? units + more : VOUCHER_UNITS_MAX;
}

int64_t voucher_takeable(const struct limit *limit, int64_t awaited, int64_t units)
{
    const int64_t most = (awaited > 0 ? awaited : 0) + limit->units_per_token;
    return units < most ? units : most;
}

int64_t voucher_awaited_after(const struct limit *limit, int64_t awaited, int64_t taken)
{
    const int64_t less = taken - limit->units_per_token;
    return less > 0 ? awaited - less : awaited;
}

static uint64_t age_of(const struct node *node, const struct voucher_ask *ask, uint64_t now_ns)
{
    return voucher_age_ns(node, ask->asked_ns, ask->asked_sleepless_ns, now_ns);
}

int64_t voucher_ask_units(const struct node *node, const struct voucher *voucher, const struct voucher_ask *ask,
                          uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    uint64_t age_ns = age_of(node, ask, now_ns), older_ns = number_minus(ask->asked_ns, ask->born_ns);
    if (ask->number == 0 || ask->units <= 0 || (!kind_expires(limit->kind) && age_ns + older_ns >= VOUCHER_LIFE_NS))
        return 0;
    const int64_t lost = voucher_sum(ask->lost, voucher_lack_lost(node, voucher, now_ns));
    const int64_t left = ask->units - (lost > ask->rest ? lost : ask->rest);
    return left > 0 ? left : 0;
}

int64_t voucher_ask_unused(const struct node *node, const struct voucher *voucher, const struct voucher_ask *ask,
                           uint64_t now_ns)
{
    if (!kind_lists(node->limits.limit[voucher->limit].kind))
        return voucher_ask_units(node, voucher, ask, now_ns);
    return ask->number != 0 && ask->units > 0 ? ask->units : 0;
}

int64_t voucher_units(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    int64_t units = 0;
    for (unsigned i = 0; i < VOUCHER_ASKS; i++)
        units += voucher_ask_units(node, voucher, &voucher->ask[i], now_ns);
    return units;
}

uint64_t voucher_asked_first_ns(const struct voucher_ask *ask)
{
    return number_least(ask->born_ns, ask->asked_ns);
}

static uint64_t age_of_earlier(const struct node *node, const struct voucher *voucher)
{
    const struct earlier_asks *earlier = &voucher->earlier;
    return voucher_age_ns(node, earlier->asked_ns, earlier->asked_sleepless_ns, node->now_ns);
}

void voucher_ask_ends(const struct node *node, struct voucher *voucher, const struct limit *limit)
{
    const struct voucher_ask *ask = &voucher->ask[0];
    if (voucher->earlier.number == 0 ||
        (!kind_expires(limit->kind) && age_of_earlier(node, voucher) >= VOUCHER_LIFE_NS))
        voucher->earlier = (struct earlier_asks){ask->number, ask->asked_ns, ask->asked_sleepless_ns, 0};
    voucher->earlier.awaited = voucher_sum(voucher->earlier.awaited, ask->awaited);
}

bool voucher_take_late(const struct node *node, struct voucher *voucher, uint64_t number, int64_t units)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    struct earlier_asks *earlier = &voucher->earlier;
    struct voucher_ask *oldest = &voucher->ask[0];
    const uint64_t age_ns = age_of_earlier(node, voucher);
    const int64_t taken = voucher_takeable(limit, earlier->awaited, units);
    const int64_t decays = voucher_refilled_units(limit, age_ns);
    const int64_t rest = limit->lent_units > 0 ? taken % limit->units_per_token : 0;
    const int64_t left = taken - (decays > rest ? decays : rest);
    if (earlier->awaited <= 0 || earlier->number == 0 || number < earlier->number || number >= oldest->number ||
        left <= 0 || (!kind_expires(limit->kind) && age_ns >= VOUCHER_LIFE_NS))
        return false;
    earlier->awaited -= taken;
    oldest->units = voucher_sum(oldest->units, left);
    oldest->received = voucher_sum(oldest->received, left);
    oldest->born_ns = number_least(oldest->born_ns, earlier->asked_ns);
    return true;
}

int64_t voucher_others_units(const struct limit *limit, const struct bucket *bucket, uint64_t share)
{
    struct budget others;
    budget_init(&others, limit, share, false);
    int64_t units = bucket_allowance(bucket, &others), left = bucket->settled - bucket->unsettled;
    return units < left ? units : left;
}

/* ---- under another tier ---- */

uint64_t voucher_widest(const struct limit *limit)
{
    return limit->capacity + (uint64_t)(limit->wider_units / limit->units_per_token);
}

/* As far as limits tell: of one rule as it is now. Then a voucher decays alike under both (voucher_refilled_units). */
static bool are_of_one_rule(const struct limit *a, const struct limit *b)
{
    return a->of_tiers && b->of_tiers && a->kind == b->kind && a->home == b->home &&
           voucher_widest(a) == voucher_widest(b) &&
           (kind_refills(a->kind) ? a->fastest_ns == b->fastest_ns && a->slowest_ns == b->slowest_ns
                                  : a->period_ns == b->period_ns);
}

/* Units of one limit as units of another one, rounded down. */
static int64_t scaled(int64_t units, const struct limit *from, const struct limit *to)
{
    if (from->units_per_token == to->units_per_token)
        return units;
    const wide all = (wide)units * to->units_per_token / from->units_per_token;
    return all < VOUCHER_UNITS_MAX ? (int64_t)all : VOUCHER_UNITS_MAX;
}

static int64_t scaled_up(int64_t units, const struct limit *from, const struct limit *to)
{
    return units > 0 && from->units_per_token != to->units_per_token ? voucher_sum(scaled(units, from, to), 1)
                                                                     : units;
}

bool voucher_goes_over(struct node *node, struct voucher *voucher, uint16_t limit, uint64_t now_ns)
{
    const struct limit *from = &node->limits.limit[voucher->limit], *to = &node->limits.limit[limit];
    if (from == to)
        return true;
    if (!are_of_one_rule(from, to))
        return false;
    voucher_habit_note_all(node, voucher);
    voucher_lack_take_off(node, voucher, now_ns);
    for (unsigned a = 0; a < VOUCHER_ASKS; a++) {
        struct voucher_ask *ask = &voucher->ask[a];
        ask->units = scaled(ask->units, from, to);
        ask->received = scaled(ask->received, from, to);
        ask->used = scaled(ask->used, from, to);
        ask->awaited = scaled(ask->awaited, from, to);
        ask->rest = scaled_up(ask->rest, from, to);
        ask->lost = scaled_up(ask->lost, from, to);
    }
    voucher->outcome = (struct ask_outcome){0}; /* of requests of another tier */
    voucher->asked_cost = scaled(voucher->asked_cost, from, to);
    voucher->earlier.awaited = scaled(voucher->earlier.awaited, from, to);
    const int64_t lacks = scaled(voucher->lack.units, from, to);
    voucher_lack_init(node, voucher, now_ns);
    voucher->lack.units = lacks;
    voucher->limit = limit;
    return true;
}

int64_t voucher_usable_units(const struct node *node, const struct voucher *voucher, const struct bucket *level,
                             uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const int64_t held = voucher_units(node, voucher, now_ns),
                  left = level->settled - level->unsettled + limit->overshoot_units;
    return !limit->of_tiers || left >= 0 ? held : left + held > 0 ? left + held : 0;
}
