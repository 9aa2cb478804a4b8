/*
 * voucher_places keeps vouchers in fixed places, found by the hash of their keys, and computes what is left of them:
 * a voucher loses what its limit refills, from the moment of the ask.
 */
#include "cluster/spend/voucher_places.h"

#include "base/number.h"
#include "base/spin.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_habit.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/state/member.h"
#include "cluster/state/share.h"
#include "limit/kind.h"

#include <string.h>

enum {
    LOOKS = 8,           /* at so many places a new key looks for one that makes way */
    SWEPT = 1024,        /* places in one sweep */
    SCARCE_PART = 4,     /* with fewer free ones of so many, places are scarce */
    DRIFT_PART = 64,     /* clocks run apart by no more than this part */
    WAIT_PART = 8,       /* of an interval: the answer waits for so long, about */
    GATHER_PART = 8,     /* of an interval */
    LONELY_ANSWERS = 20, /* while somebody is silent, a key is asked for once in so many answers' time, at most */
    HOME_ANSWERS = 8,    /* so much of the refill is lost at most by asking at home: a part of so many */
    RESERVE_PART = 16,   /* of a full bucket, which nobody may spend */
    MUCH_PART = 4,       /* of a bucket's capacity: parts of a token that come to nothing would be much of less */
    MUCH_OF_CELL_PART = 16,
    AWAITED_ANSWERS = 8,
    SPENT_ANSWERS = 2, /* so long after its last use, others have answered all that a spent voucher asked */
};

/* more than what may be granted of a key, the overshoot included; sums of three fit 64 bits */
#define UNITS_MAX (INT64_C(1) << 61)

__extension__ typedef unsigned __int128 wide;

void vouchers_lock(struct node *node)
{
    if (node->thread_count > 1)
        spin_lock(&node->rights.locked);
}

void vouchers_unlock(struct node *node)
{
    if (node->thread_count > 1)
        spin_unlock(&node->rights.locked);
}

/* ---- times and units ---- */

int64_t voucher_refilled_units(const struct limit *limit, uint64_t ns)
{
    uint64_t ticks = number_sum(ns, ns / DRIFT_PART) / limit->tick_ns + 1, units;
    if (!kind_refills(limit->kind))
        return 0;
    if (__builtin_mul_overflow(ticks, (uint64_t)limit->units_per_tick, &units) || units > UNITS_MAX)
        return UNITS_MAX;
    return (int64_t)units;
}

int64_t voucher_decays(const struct limit *limit, uint64_t ns, int64_t lacking_units)
{
    const int64_t refills = voucher_refilled_units(limit, ns);
    return refills > lacking_units ? refills - lacking_units : 0;
}

bool voucher_much_is_left(const struct limit *limit, int64_t left)
{
    return kind_refills(limit->kind) ? left > limit->capacity_units / MUCH_PART
                                     : left >= limit->capacity_units / MUCH_OF_CELL_PART;
}

uint64_t voucher_answer_ns(const struct node *node)
{
    uint64_t longest_ns = 0;
    for (uint32_t i = 0; i < node->member_end; i++)
        if (member_needed(&node->member[i]) && !node->member[i].silent)
            longest_ns = node->member[i].round_trip_ns > longest_ns ? node->member[i].round_trip_ns : longest_ns;
    return (longest_ns > 0 ? longest_ns : node->options.interval_ns) + node->options.interval_ns / WAIT_PART;
}

/*
 * Each ask costs what refills until it is answered. A region that always needs others asks at each refusal: all of them
 * together would leave nothing of a limit that refills by tokens in a round trip.
 */
static uint64_t home_pause_ns(const struct node *node, const struct limit *limit, uint64_t answer_ns)
{
    const uint64_t others = node->sharing.peer_count > 1 ? node->sharing.peer_count - 1 : 1;
    const uint64_t decays = (uint64_t)(voucher_refilled_units(limit, answer_ns) / limit->units_per_token);
    return answer_ns * (1 + number_least(decays, HOME_ANSWERS) * others);
}

bool voucher_always_asks(const struct node *node, const struct limit *limit)
{
    return limit_home_is_one(limit->home) || (limit_home_is_list(limit->home) && own_share_of(node, limit) == 0);
}

/*
 * So much of the limit lacks at its capacity that nothing decays until an answer is here. Requests are refused, so what
 * this node's share has back meanwhile is spent as well.
 */
static bool nothing_decays(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const wide refills = (wide)(uint64_t)voucher_refilled_units(limit, voucher_answer_ns(node));
    const wide of_others = refills * (SHARE_ONE - node->by_limit.budget[voucher->limit].share) / SHARE_ONE;
    return of_others <= (wide)(uint64_t)voucher_lack_units(node, voucher, now_ns);
}

/* Until those who are heard have a token of it back, at the rate of their shares. */
static uint64_t token_back_ns(const struct node *node, const struct limit *limit, uint64_t share)
{
    const wide asked = voucher_asked_share(node, limit, share);
    const wide units = asked > 0 ? (wide)(uint64_t)limit->units_per_token * SHARE_ONE / asked : 0;
    return units > 0 && units < (wide)limit->capacity_units ? limit_refill_ns(limit, (int64_t)units) : UINT64_MAX;
}

/* While somebody is silent, nothing settles. */
static uint64_t lonely_pause_ns(const struct node *node, const struct voucher *voucher, uint64_t answer_ns,
                                uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const int64_t most = limit->capacity_units - limit->capacity_units / RESERVE_PART + limit->overshoot_units;
    uint64_t pause_ns = limit_refill_ns(limit, most < limit->capacity_units ? most : limit->capacity_units);
    if (nothing_decays(node, voucher, now_ns))
        pause_ns = number_least(pause_ns, token_back_ns(node, limit, node->by_limit.budget[voucher->limit].share));
    return number_least(LONELY_ANSWERS * answer_ns, pause_ns > answer_ns ? pause_ns : answer_ns);
}

uint64_t voucher_pause_ns(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const uint64_t answer_ns = voucher_answer_ns(node);
    if (voucher_always_asks(node, limit) && (limit_home_is_one(limit->home) || !node->awake.somebody_silent))
        return home_pause_ns(node, limit, answer_ns);
    if (!node->awake.somebody_silent || !kind_refills(limit->kind))
        return answer_ns;
    return lonely_pause_ns(node, voucher, answer_ns, now_ns);
}

uint64_t voucher_heard(const struct node *node, const struct limit *limit)
{
    if (limit->home == 0)
        return node->rights.heard;
    const uint64_t others = SHARE_ONE - own_share_of(node, limit);
    return others > 0 ? (uint64_t)((wide)share_heard_of(node, limit) * SHARE_ONE / others) : 0;
}

uint64_t voucher_asked_share(const struct node *node, const struct limit *limit, uint64_t share)
{
    if (limit->home != 0)
        return share_heard_of(node, limit);
    const uint64_t heard = (uint64_t)((wide)(SHARE_ONE - share) * node->rights.heard / SHARE_ONE);
    return heard < SHARE_ONE ? heard : SHARE_ONE - 1; /* of several, who keep a reserve */
}

uint64_t voucher_gather_ns(const struct node *node)
{
    return node->options.interval_ns / GATHER_PART;
}

uint64_t voucher_wanted_ns(const struct node *node)
{
    return voucher_answer_ns(node) + node->options.interval_ns;
}

uint64_t voucher_since_ns(uint64_t then_ns, uint64_t now_ns)
{
    return now_ns > then_ns ? now_ns - then_ns : 0;
}

uint64_t voucher_sleepless_ns(const struct node *node)
{
    return node->options.sleepless_ns ? node->options.sleepless_ns() : 0;
}

/* now_ns stands still while the machine sleeps, and may be older than a process that was stopped knows. */
uint64_t voucher_age_ns(const struct node *node, uint64_t since_ns, uint64_t since_sleepless_ns, uint64_t now_ns)
{
    uint64_t age_ns = voucher_since_ns(since_ns, now_ns);
    uint64_t sleepless_ns = voucher_since_ns(since_sleepless_ns, voucher_sleepless_ns(node));
    return sleepless_ns > age_ns ? sleepless_ns : age_ns;
}

static uint64_t age_of(const struct node *node, const struct voucher_ask *ask, uint64_t now_ns)
{
    return voucher_age_ns(node, ask->asked_ns, ask->asked_sleepless_ns, now_ns);
}

int64_t voucher_takeable(const struct limit *limit, int64_t awaited, int64_t units)
{
    const int64_t most = (awaited > 0 ? awaited : 0) + limit->units_per_token;
    return units < most ? units : most;
}

int64_t voucher_sum(int64_t units, int64_t more)
{
    return units < UNITS_MAX - more ? units + more : UNITS_MAX;
}

int64_t voucher_ask_units(const struct node *node, const struct voucher *voucher, const struct voucher_ask *ask,
                          uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    uint64_t age_ns = age_of(node, ask, now_ns), older_ns = voucher_since_ns(ask->born_ns, ask->asked_ns);
    if (ask->number == 0 || ask->units <= 0 || (!kind_expires(limit->kind) && age_ns + older_ns >= VOUCHER_LIFE_NS))
        return 0;
    const int64_t left = ask->units - voucher_sum(ask->lost, voucher_lack_lost(node, voucher, now_ns));
    return left > 0 ? left : 0;
}

uint64_t voucher_asked_first_ns(const struct voucher_ask *ask)
{
    return number_least(ask->born_ns, ask->asked_ns);
}

int64_t voucher_ask_unused(const struct node *node, const struct voucher *voucher, const struct voucher_ask *ask,
                           uint64_t now_ns)
{
    if (!kind_lists(node->limits.limit[voucher->limit].kind))
        return voucher_ask_units(node, voucher, ask, now_ns);
    return ask->number != 0 && ask->units > 0 ? ask->units : 0;
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
    const int64_t left = taken - voucher_refilled_units(limit, age_ns);
    if (earlier->awaited <= 0 || earlier->number == 0 || number < earlier->number || number >= oldest->number ||
        left <= 0 || (!kind_expires(limit->kind) && age_ns >= VOUCHER_LIFE_NS))
        return false;
    earlier->awaited -= taken;
    oldest->units = voucher_sum(oldest->units, left);
    oldest->born_ns = number_least(oldest->born_ns, earlier->asked_ns);
    return true;
}

int64_t voucher_units(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    int64_t units = 0;
    for (unsigned i = 0; i < VOUCHER_ASKS; i++)
        units += voucher_ask_units(node, voucher, &voucher->ask[i], now_ns);
    return units;
}

int64_t voucher_others_units(const struct limit *limit, const struct bucket *bucket, uint64_t share)
{
    struct budget others;
    budget_init(&others, limit, share, false);
    int64_t units = bucket_allowance(bucket, &others), left = bucket->settled - bucket->unsettled;
    return units < left ? units : left;
}

void voucher_want_nothing(struct voucher *voucher)
{
    voucher->wanted = voucher->waiting = voucher->wanted_at_once = voucher->went_on = voucher->unwatched = 0;
}

void voucher_drop_stale(const struct node *node, struct voucher *voucher, uint64_t now_ns)
{
    if (voucher->wanted > 0 && voucher_since_ns(voucher->touched_ns, now_ns) > voucher_wanted_ns(node))
        voucher_want_nothing(voucher);
}

/* ---- places ---- */

/*
 * A voucher of a cell ends with it, and one of a sliding window with the window, though the cell goes on: no request
 * counts in it any more. What nobody has used by then is given back first.
 */
static bool has_ended(const struct voucher *voucher, uint64_t now_ns)
{
    const uint64_t over_ns = voucher->window.window_ns > 0 ? voucher->window.end_ns + VOUCHER_LIFE_NS : UINT64_MAX;
    return voucher_since_ns(voucher->touched_ns, now_ns) >= VOUCHER_LIFE_NS &&
           number_least(voucher->expires_ns, over_ns) <= now_ns;
}

struct voucher *voucher_of_key(struct node *node, struct key_id id)
{
    struct rights *rights = &node->rights;
    uint32_t place = places_first(&rights->voucher_places, id.high);
    while (place != PLACE_NONE && !key_id_equal(rights->voucher[place].id, id))
        place = places_next(&rights->voucher_places, place);
    return place == PLACE_NONE ? NULL : &rights->voucher[place];
}

struct voucher *voucher_find(struct node *node, struct key_id id, uint16_t limit)
{
    struct voucher *voucher = voucher_of_key(node, id);
    return voucher && voucher->limit == limit ? voucher : NULL;
}

/*
 * It has no token, waits for nothing, and holds back nothing: a new voucher of its key would do as well. What is not
 * answered after so long was lost, or nobody has it.
 */
static bool is_spent(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const struct voucher_ask *last = &voucher->ask[VOUCHER_ASKS - 1];
    const uint64_t answer_ns = voucher_answer_ns(node), answers_ns = SPENT_ANSWERS * answer_ns;
    const bool is_awaited = last->number > 0 && last->granted_by == 0 &&
                            voucher_since_ns(last->asked_ns, now_ns) < AWAITED_ANSWERS * answer_ns;
    if (is_awaited || now_ns < voucher->yields_until_ns ||
        (voucher->wanted > 0 && voucher_since_ns(voucher->touched_ns, now_ns) <= voucher_wanted_ns(node)))
        return false;
    return voucher_since_ns(voucher->busy_ns, now_ns) >= answers_ns &&
           voucher_since_ns(voucher->touched_ns, now_ns) >= answers_ns + voucher_pause_ns(node, voucher, now_ns) &&
           voucher_units(node, voucher, now_ns) < limit->units_per_token;
}

static bool is_idle(const struct voucher *voucher, uint64_t now_ns)
{
    return voucher_since_ns(voucher->touched_ns, now_ns) >= VOUCHER_LIFE_NS &&
           voucher_since_ns(voucher->busy_ns, now_ns) >= VOUCHER_LIFE_NS;
}

/* True, with the whole tokens that are lost: a voucher of a long window must not keep its place until that is over. */
static bool may_make_way(const struct node *node, const struct voucher *voucher, uint64_t now_ns, uint64_t *lost)
{
    *lost = 0;
    if (has_ended(voucher, now_ns) || is_spent(node, voucher, now_ns))
        return true;
    const int64_t token = node->limits.limit[voucher->limit].units_per_token;
    *lost = (uint64_t)(voucher_units(node, voucher, now_ns) / token) + 1;
    return is_idle(voucher, now_ns);
}

/* A part of all places is looked at, those first that were not looked at for longest. NULL: all of them are busy. */
static struct voucher *making_way(struct node *node, uint64_t now_ns)
{
    struct voucher *least = NULL;
    uint64_t least_lost = UINT64_MAX, lost;
    for (uint32_t i = 0; i < LOOKS && least_lost > 0; i++) {
        struct voucher *voucher = &node->rights.voucher[node->rights.way_at];
        node->rights.way_at = (node->rights.way_at + 1) % node->rights.voucher_places.room;
        if (!may_make_way(node, voucher, now_ns, &lost) || lost >= least_lost)
            continue;
        least = voucher;
        least_lost = lost;
    }
    return least;
}

static _Atomic uint16_t *mark_of(struct node *node, struct key_id id)
{
    return &node->rights.held[id.low % HELD_MARKS];
}

static void free_place(struct node *node, struct voucher *voucher)
{
    struct rights *rights = &node->rights;
    places_give_back(&rights->voucher_places, voucher->id.high, (uint32_t)(voucher - rights->voucher));
    atomic_fetch_sub_explicit(mark_of(node, voucher->id), 1, memory_order_relaxed);
    *voucher = (struct voucher){0};
}

/* NULL: there is no room. */
static struct voucher *take_place(struct node *node, struct key_id id, uint64_t now_ns)
{
    struct places *places = &node->rights.voucher_places;
    struct voucher *way = places->count < places->room ? NULL : making_way(node, now_ns);
    if (way) {
        voucher_habit_note_all(node, way);
        free_place(node, way);
    }
    const uint32_t place = places_take(places, id.high);
    if (place == PLACE_NONE)
        return NULL;
    atomic_fetch_add_explicit(mark_of(node, id), 1, memory_order_relaxed);
    return &node->rights.voucher[place];
}

struct voucher *voucher_obtain(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    struct voucher *voucher = voucher_of_key(node, id);
    if (voucher && voucher->limit == limit)
        return voucher;
    if (voucher)
        voucher_habit_note_all(node, voucher);
    else
        voucher = take_place(node, id, now_ns);
    if (!voucher)
        return NULL;
    *voucher = (struct voucher){.id = id, .limit = limit, .touched_ns = now_ns};
    voucher_lack_init(node, voucher, now_ns);
    return voucher;
}

bool voucher_places_are_scarce(const struct node *node)
{
    const struct places *places = &node->rights.voucher_places;
    return places->count > places->room - places->room / SCARCE_PART;
}

static void end_voucher(struct node *node, struct voucher *voucher)
{
    const int64_t token = node->limits.limit[voucher->limit].units_per_token;
    voucher_habit_note_all(node, voucher);
    for (unsigned a = 0; a < VOUCHER_ASKS; a++)
        node->stats.rights_decayed_tokens +=
            voucher->ask[a].units > 0 ? (uint64_t)(voucher->ask[a].units / token) : 0;
    free_place(node, voucher);
}

void voucher_drop_limit(struct node *node, uint16_t limit)
{
    struct rights *rights = &node->rights;
    for (uint32_t i = 0; i < rights->voucher_places.end; i++)
        if (rights->voucher[i].touched_ns > 0 && rights->voucher[i].limit == limit)
            end_voucher(node, &rights->voucher[i]);
}

/* While many places are taken, those of spent vouchers are freed too, so that a new key need not look for one. */
static void sweep(struct node *node, struct voucher *voucher, bool many)
{
    voucher_give_back_idle(node, voucher);
    if (!has_ended(voucher, node->now_ns) && !(many && is_spent(node, voucher, node->now_ns)))
        return;
    end_voucher(node, voucher);
}

void voucher_sweep(struct node *node)
{
    struct rights *rights = &node->rights;
    const struct places *places = &rights->voucher_places;
    const bool many = places->count > places->room / 2;
    for (uint32_t i = 0; i < SWEPT && i < places->end; i++) {
        rights->vouchers_at = places_turn(places, rights->vouchers_at);
        struct voucher *voucher = &rights->voucher[rights->vouchers_at];
        if (voucher->touched_ns > 0)
            sweep(node, voucher, many);
    }
}

void voucher_forget(struct node *node)
{
    struct rights *rights = &node->rights;
    memset(rights->voucher, 0, rights->voucher_places.end * sizeof *rights->voucher);
    places_clear(&rights->voucher_places);
    memset(&rights->wanting, 0, sizeof rights->wanting);
    atomic_store_explicit(&rights->wants_surely, false, memory_order_relaxed);
    for (uint32_t i = 0; i < HELD_MARKS; i++)
        atomic_store_explicit(&rights->held[i], 0, memory_order_relaxed);
    atomic_store_explicit(&rights->wants, false, memory_order_relaxed);
}

/* ---- vouchers that want tokens ---- */

bool voucher_wants(struct node *node, const struct voucher *voucher)
{
    struct wanting *wanting = &node->rights.wanting;
    const uint32_t place = (uint32_t)(voucher - node->rights.voucher);
    if (!wanting->has[place])
        wanting->place[(wanting->first + wanting->count++) % VOUCHERS_MAX] = (uint16_t)place;
    wanting->has[place] = true;
    return !atomic_exchange_explicit(&node->rights.wants, true, memory_order_relaxed);
}

bool voucher_wants_more(const struct node *node)
{
    return node->rights.wanting.count > 0;
}

struct voucher *voucher_next_wanting(struct node *node)
{
    struct wanting *wanting = &node->rights.wanting;
    const uint32_t place = wanting->place[wanting->first];
    wanting->first = (wanting->first + 1) % VOUCHERS_MAX;
    wanting->count--;
    wanting->has[place] = false;
    return &node->rights.voucher[place];
}
