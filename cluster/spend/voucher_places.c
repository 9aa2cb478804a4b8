/*
 * voucher_places keeps vouchers in fixed places, found by the hash of their keys, frees places of vouchers that are
 * spent or over, and queues vouchers that want tokens.
 */
#include "cluster/spend/voucher_places.h"

#include "base/number.h"
#include "base/spin.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_habit.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_loss.h"
#include "cluster/spend/voucher_pause.h"
#include "cluster/spend/voucher_times.h"

#include <string.h>

enum {
    LOOKS = 8,       /* at so many places a new key looks for one that makes way */
    SWEPT = 1024,    /* places in one sweep */
    SCARCE_PART = 4, /* with fewer free ones of so many, places are scarce */
    AWAITED_ANSWERS = 8,
    SPENT_ANSWERS = 2, /* so long after its last use, others have answered all that a spent voucher asked */
};

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

static bool remembers_loss(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    return voucher_loses(&node->limits.limit[voucher->limit], voucher, voucher_units(node, voucher, now_ns),
                         voucher->asked_cost, now_ns);
}

/*
 * A voucher of a cell ends with it, and one of a sliding window with the window, though the cell goes on: no request
 * counts in it any more. What nobody has used by then is given back first. What asks of a bucket have lost is
 * remembered until the next one is due.
 */
static bool has_ended(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const uint64_t over_ns = voucher->window.window_ns > 0 ? voucher->window.end_ns + VOUCHER_LIFE_NS : UINT64_MAX;
    return number_minus(now_ns, voucher->touched_ns) >= VOUCHER_LIFE_NS &&
           number_least(voucher->expires_ns, over_ns) <= now_ns && !remembers_loss(node, voucher, now_ns);
}

struct voucher *voucher_of_key(struct node *node, struct key_id id)
{
    struct rights *rights = &node->rights;
    uint32_t place = places_first(&rights->voucher_places, id.high);
    while (place != PLACE_NONE && !key_id_equal(rights->voucher[place].id, id))
        place = places_next(&rights->voucher_places, place);
    return place == PLACE_NONE ? NULL : &rights->voucher[place];
}

struct voucher *voucher_find(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    struct voucher *voucher = voucher_of_key(node, id);
    return voucher && voucher_goes_over(node, voucher, limit, now_ns) ? voucher : NULL;
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
                            number_minus(now_ns, last->asked_ns) < AWAITED_ANSWERS * answer_ns;
    if (is_awaited || now_ns < voucher->yields_until_ns ||
        (voucher->wanted > 0 && number_minus(now_ns, voucher->touched_ns) <= voucher_wanted_ns(node)))
        return false;
    return number_minus(now_ns, voucher->busy_ns) >= answers_ns &&
           number_minus(now_ns, voucher->touched_ns) >= answers_ns + voucher_pause_ns(node, voucher, now_ns) &&
           voucher_units(node, voucher, now_ns) < limit->units_per_token;
}

static bool is_idle(const struct voucher *voucher, uint64_t now_ns)
{
    return number_minus(now_ns, voucher->touched_ns) >= VOUCHER_LIFE_NS &&
           number_minus(now_ns, voucher->busy_ns) >= VOUCHER_LIFE_NS;
}

/* True, with the whole tokens that are lost: a voucher of a long window must not keep its place until that is over. */
static bool may_make_way(const struct node *node, const struct voucher *voucher, uint64_t now_ns, uint64_t *lost)
{
    *lost = 0;
    if (has_ended(node, voucher, now_ns) || is_spent(node, voucher, now_ns))
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
    if (voucher && voucher_goes_over(node, voucher, limit, now_ns))
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
    if (!has_ended(node, voucher, node->now_ns) && !(many && is_spent(node, voucher, node->now_ns)))
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

void voucher_want_nothing(struct voucher *voucher)
{
    voucher->wanted = voucher->waiting = voucher->wanted_at_once = voucher->went_on = voucher->unwatched = 0;
}

void voucher_drop_stale(const struct node *node, struct voucher *voucher, uint64_t now_ns)
{
    if (voucher->wanted > 0 && number_minus(now_ns, voucher->touched_ns) > voucher_wanted_ns(node))
        voucher_want_nothing(voucher);
}

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
