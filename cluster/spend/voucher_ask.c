/*
 * voucher_ask is what steps do with vouchers: they ask peers for what requests lacked, and decide for how much. What
 * peers grant is taken in voucher_take.c.
 */
#include "base/number.h"
#include "cluster/codec/message.h"
#include "cluster/spend/grant.h"
#include "cluster/spend/level.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_habit.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_loss.h"
#include "cluster/spend/voucher_pause.h"
#include "cluster/spend/voucher_places.h"
#include "cluster/spend/voucher_times.h"
#include "cluster/spend/voucher_whole.h"
#include "cluster/state/member.h"
#include "cluster/state/share.h"
#include "limit/bucket_units.h"
#include "limit/kind.h"

#include <string.h>

enum {
    LATELY_ANSWERS = 2,
    JOINS_PART = 4,     /* of an ask's tokens: so many of an older one are worth their shorter life */
    USEFUL_DECAYS = 12, /* a wish is so many times what decays until it is answered */
    LONELY_DECAYS = 2,  /* the same while somebody is silent */
    LOOKS_PER_ASK = 4,  /* vouchers that a message looks at, for each ask that it has room for */
};

#define HEALS_NS UINT64_C(1000000000)

void voucher_look_around(struct node *node)
{
    uint64_t all = 0, heard = 0;
    node->rights.shared = node->rights.listed = node->options.grants;
    node->rights.heard = SHARE_ONE;
    for (uint32_t i = 0; i < node->member_end && node->rights.shared; i++) {
        node->rights.shared = !member_needed(&node->member[i]) || node->member[i].grants;
        node->rights.listed &= !member_needed(&node->member[i]) || node->member[i].lists_grants;
    }
    node->rights.listed &= node->rights.shared;
    if (!node->awake.somebody_silent)
        return;
    for (uint32_t i = 0; i < node->member_end; i++) {
        const struct member *member = &node->member[i];
        const uint64_t share = member->self ? 0 : share_of_member(node, i);
        all += share;
        heard += member->silent || member->state != PEER_ACTIVE ? 0 : share;
    }
    node->rights.heard = all > 0 ? (uint64_t)((uint128)heard * SHARE_ONE / all) : 0;
}

/*
 * A home that does not answer is late, or the ask was lost. It would grant twice what it is asked for twice, so that
 * others lack it: each further ask waits for twice as long.
 */
static unsigned unanswered_at_home(const struct node *node, const struct voucher *voucher,
                                   const struct limit *limit)
{
    unsigned count = 0;
    if (!voucher_always_asks(node, limit))
        return 0;
    while (count < VOUCHER_ASKS) {
        const struct voucher_ask *ask = &voucher->ask[VOUCHER_ASKS - 1 - count];
        if (ask->number == 0 || ask->granted_by != 0)
            break;
        count++;
    }
    return count;
}

static bool may_ask(const struct node *node, const struct voucher *voucher)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const unsigned late = unanswered_at_home(node, voucher, limit);
    const uint64_t pause_ns = voucher_pause_ns(node, voucher, node->now_ns) << (late > 0 ? late - 1 : 0);
    return voucher->wanted > 0 && node->now_ns >= voucher->yields_until_ns &&
           number_minus(node->now_ns, voucher->asked_ns) >= pause_ns;
}

/*
 * The oldest ask makes room. What it has left joins the next one, and both decay as one from then on: all vouchers
 * together need not fall faster than the limit refills. They end when the older one would have.
 */
static void make_room(struct node *node, struct voucher *voucher, const struct limit *limit)
{
    struct voucher_ask *oldest = &voucher->ask[0], *next = &voucher->ask[1];
    int64_t left = voucher_ask_units(node, voucher, oldest, node->now_ns);
    voucher_ask_ends(node, voucher, limit);
    voucher_habit_note(node, voucher->limit, oldest);
    const bool joins = left > 0 && (left >= next->units / JOINS_PART || kind_lists(limit->kind));
    voucher_loss_note(node, voucher, oldest, joins ? left : 0);
    if (joins) {
        next->units = voucher_sum(next->units, left);
        next->received = voucher_sum(next->received, left);
        next->born_ns = oldest->born_ns;
    }
    memmove(oldest, next, (VOUCHER_ASKS - 1) * sizeof *oldest);
}

/*
 * The units that were refused within the time of one answer. If demand goes on, as many are refused again before the
 * answer is here.
 */
static int64_t refused_units(const struct node *node, const struct voucher *voucher)
{
    const uint64_t within_ns = voucher_wanted_ns(node);
    const uint64_t took_ns = number_minus(node->now_ns, voucher->wanted_since_ns);
    uint64_t refused = voucher->wanted - number_least(voucher->waiting, voucher->wanted);
    if (took_ns > within_ns)
        refused = (uint64_t)((uint128)refused * within_ns / took_ns);
    return units_of_full_at_most(&node->limits.limit[voucher->limit], refused);
}

/*
 * The units that are refused until an answer is here and used, if requests come as they came after the first burst of
 * refusals, from whichever clients.
 */
static int64_t coming_units(const struct node *node, const struct voucher *voucher)
{
    const uint64_t gather_ns = voucher_gather_ns(node);
    const uint64_t took_ns = number_minus(node->now_ns, voucher->wanted_since_ns);
    if (took_ns < 2 * gather_ns)
        return 0;
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const uint64_t until_ns =
        voucher_wanted_ns(node) + voucher_pause_ns(node, voucher, node->now_ns) - voucher_answer_ns(node);
    const uint128 tokens = (uint128)voucher->went_on * until_ns / (took_ns - gather_ns);
    return units_of_full_at_most(limit, tokens < LIMIT_CAPACITY_MAX ? (uint64_t)tokens : LIMIT_CAPACITY_MAX);
}

struct wish {
    int64_t units;    /* to be asked for; 0: nothing */
    int64_t at_once;  /* of these, what one request needs; 0: the node has no share to take it from */
    bool whole;       /* see voucher_whole.h */
    int64_t expected; /* what clients who were refused would use of them, if all came back */
};

/*
 * What to ask for:
 * - what requests wait for;
 * - of the tokens that were refused or spent lately, the part for which clients come back. Of the tokens that were
 *   spent, no more than a moment's refill makes good count. If requests go on, what comes by them counts instead, where
 *   it is more;
 * - at least enough for the largest request that was refused;
 * - what decays until the answer can be used comes on top, and what the voucher has is taken off. Where that may be
 *   lent, it is whole tokens and a rest (voucher_whole.h).
 * A little is not worth asking for where much of it decays, unless the share never suffices.
 */
static struct wish wish_of(const struct node *node, const struct voucher *voucher, const struct bucket *bucket,
                           int64_t others)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const struct bucket full = {.settled = limit->capacity_units};
    int64_t left = bucket->settled - bucket->unsettled,
            least = units_of_full_at_most(limit, voucher->wanted_at_once);
    int64_t soon = voucher_refilled_units(limit, HEALS_NS);
    soon = bucket->unsettled < soon ? bucket->unsettled : soon;
    const int64_t coming = coming_units(node, voucher);
    struct wish wish = {
        .expected = voucher_much_is_left(limit, left) ? units_of_full_at_most(limit, voucher->unwatched) : 0};
    int64_t useful = voucher_habit_expected(node, voucher->limit, refused_units(node, voucher) + soon);
    useful = units_of_full_at_most(limit, voucher->waiting) + (useful > coming ? useful : coming);
    int64_t decays = voucher_decays(limit, voucher_use_ns(node), voucher_lack_units(node, voucher, node->now_ns));
    const int64_t held = voucher_units(node, voucher, node->now_ns);
    bool beyond = bucket_allowance(&full, &node->by_limit.budget[voucher->limit]) < least ||
                  voucher_needs_rounds(node, limit, least, left + held);
    const bool little = (useful < others ? useful : others) <=
                        (node->awake.somebody_silent ? LONELY_DECAYS : USEFUL_DECAYS) * decays;
    if (little && !beyond && voucher->waiting == 0 && !node->options.grants_eager)
        return wish;
    useful = useful > least ? useful : least;
    decays -= held;
    wish.whole =
        voucher_always_asks_whole(node, limit) || (least + decays > left && voucher_may_ask_whole(node, limit));
    if (wish.whole) {
        wish.units = voucher_whole_wish(node, voucher, useful, left);
        return wish;
    }
    useful += decays;
    wish.units = useful < left ? useful : left;
    wish.at_once = least + decays < wish.units ? least + decays : wish.units;
    return wish;
}

/* Begins to count what an ask brings, or whether clients would have come back for it. */
static void begin_ask(struct node *node, struct voucher *voucher, int64_t expected, int64_t others)
{
    make_room(node, voucher, &node->limits.limit[voucher->limit]);
    voucher_lack_begin(node, voucher);
    struct voucher_ask *ask = &voucher->ask[VOUCHER_ASKS - 1];
    *ask = (struct voucher_ask){
        .number = ++node->rights.asks_count,
        .asked_ns = node->now_ns,
        .asked_sleepless_ns = voucher_sleepless_ns(node),
        .born_ns = node->now_ns,
    };
    voucher_habit_expect(node, voucher->limit, ask, expected, others);
    voucher->touched_ns = node->now_ns;
}

/*
 * Nothing is asked for yet. What was refused shows whether its clients come back, and what is refused soon after
 * whether requests go on.
 */
static void watch(struct node *node, struct voucher *voucher, int64_t expected, int64_t others)
{
    const struct voucher_ask *last = &voucher->ask[VOUCHER_ASKS - 1];
    if (expected > 0 && number_minus(node->now_ns, last->asked_ns) >= voucher_answer_ns(node)) {
        begin_ask(node, voucher, expected, others);
        voucher->unwatched = 0;
    }
    if (number_minus(node->now_ns, voucher->wanted_since_ns) >= voucher_wanted_ns(node))
        voucher_want_nothing(voucher);
}

/* A peer divides an ask by the shares of all peers. So where some peers are not heard, this node asks for more. */
static int64_t asked_of_all(const struct node *node, const struct limit *limit, int64_t units)
{
    const uint128 of_all = (uint128)(uint64_t)units * SHARE_ONE / voucher_heard(node, limit);
    return of_all < (uint128)limit->capacity_units ? (int64_t)of_all : limit->capacity_units;
}

static void write_ask(const struct node *node, const struct voucher *voucher, int64_t units, struct ask_record *ask)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const struct key_window *window = &voucher->window;
    uint64_t token = (uint64_t)limit->units_per_token, rest = (uint64_t)units % token;
    *ask = (struct ask_record){
        .id = voucher->id,
        .terms = limit_terms_of(limit),
        .number = node->rights.asks_count,
        .tokens = (uint64_t)units / token,
        .parts = (uint32_t)(((uint128)rest << SPARE_BITS) / token),
        .among = SHARE_ONE - node->by_limit.budget[voucher->limit].share,
        .live_ns = kind_expires(limit->kind) ? number_minus(voucher->expires_ns, node->now_ns) : 0,
        .previous = window->previous,
        .window_ns = window->window_ns,
        .left_ns = number_least(number_minus(window->end_ns, node->now_ns), window->window_ns),
        .whole = voucher->ask[VOUCHER_ASKS - 1].whole,
    };
}

/* True if the key is as it was when its voucher was wanted, and this node may ask. */
static bool can_ask(const struct node *node, const struct voucher *voucher, const struct entry *entry)
{
    bool alive = !kind_expires(node->limits.limit[voucher->limit].kind) || voucher->expires_ns > node->now_ns;
    alive &= voucher->window.window_ns == 0 || voucher->window.end_ns > node->now_ns;
    return entry && entry->limit == voucher->limit && alive && node->rights.shared && !node->sharing.alone &&
           may_decide(node) && voucher_heard(node, &node->limits.limit[voucher->limit]) > 0 &&
           node->by_limit.budget[voucher->limit].share < SHARE_ONE;
}

/*
 * Others are asked for all that they may have. What that lacks for one request, this node spends on its own behalf:
 * when others' grants are told, its own allowance falls with what is left.
 */
static bool ask_of(struct node *node, struct voucher *voucher, struct ask_record *ask)
{
    struct entry *entry = table_find(node->table, voucher->id);
    if (entry)
        (void)voucher_goes_over(node, voucher, entry->limit, node->now_ns);
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const struct budget *budget = &node->by_limit.budget[voucher->limit];
    struct bucket level = {0};
    struct wish wish = {0};
    int64_t others = 0;
    if (can_ask(node, voucher, entry)) {
        bucket_refill(&entry->bucket, limit, budget, node->now_ns);
        voucher_lack_see(node, voucher, &entry->bucket, node->now_ns);
        voucher_lack_see_lately(node, voucher, entry);
        voucher_habit_note_over(node, voucher);
        level = level_of(node, &entry->bucket, voucher->limit, &voucher->window, node->now_ns);
        others = voucher_others_units(limit, &level, voucher_asked_share(node, limit, budget->share));
        wish = wish_of(node, voucher, &level, others);
    }
    if (wish.units <= 0 || others <= 0) {
        watch(node, voucher, wish.expected, others);
        return false;
    }
    begin_ask(node, voucher, wish.expected, others);
    voucher->asked_cost = units_of_full_at_most(limit, voucher->wanted_at_once);
    voucher->ask[VOUCHER_ASKS - 1].whole = wish.whole;
    voucher_want_nothing(voucher);
    voucher->asked_ns = node->rights.asked_ns = node->now_ns;
    if (voucher_much_is_left(limit, level.settled - level.unsettled))
        voucher->much_ns = node->now_ns;
    const int64_t units =
        wish.whole ? wish.units : asked_of_all(node, limit, wish.units < others ? wish.units : others);
    const int64_t own = wish.at_once > others ? wish.at_once - others : 0;
    write_ask(node, voucher, units, ask);
    voucher->ask[VOUCHER_ASKS - 1].awaited = units;
    node->stats.rights_asked++;
    node->stats.rights_asked_tokens +=
        (uint64_t)(((units + own > wish.units ? units + own : wish.units) - 1) / limit->units_per_token) + 1;
    if (own > 0)
        voucher_receive(node, voucher, &voucher->ask[VOUCHER_ASKS - 1],
                        grant_own(node, entry, &level, own, ask->number));
    return true;
}

bool voucher_wants_of_unknown(const struct node *node)
{
    return atomic_load_explicit(&node->rights.wants, memory_order_relaxed) &&
           !atomic_load_explicit(&node->rights.wants_surely, memory_order_relaxed);
}

uint32_t voucher_ask_due(struct node *node, struct ask_record *asks, uint32_t room)
{
    const struct wanting *wanting = &node->rights.wanting;
    uint32_t count = 0, looks = (uint32_t)number_least(wanting->count, LOOKS_PER_ASK * room);
    if (!atomic_load_explicit(&node->rights.wants, memory_order_relaxed))
        return 0;
    for (; looks > 0 && count < room; looks--) {
        struct voucher *voucher = voucher_next_wanting(node);
        voucher_drop_stale(node, voucher, node->now_ns);
        if (may_ask(node, voucher))
            count += ask_of(node, voucher, &asks[count]); /* or not yet: the next refusal has it looked at again */
        else if (voucher->wanted > 0)
            (void)voucher_wants(node, voucher);
    }
    atomic_store_explicit(&node->rights.wants, wanting->count > 0, memory_order_relaxed);
    atomic_store_explicit(&node->rights.wants_surely, wanting->count > 0, memory_order_relaxed);
    return count;
}

/* ---- two who are short of the same key ---- */

bool voucher_asked_lately(struct node *node, struct key_id id)
{
    const struct voucher *voucher = voucher_of_key(node, id);
    const uint64_t lately_ns = LATELY_ANSWERS * voucher_answer_ns(node);
    if (!voucher)
        return false;
    const struct voucher_ask *last = &voucher->ask[VOUCHER_ASKS - 1];
    return voucher->wanted > 0 || (last->number > 0 && number_minus(node->now_ns, last->asked_ns) < lately_ns);
}

void voucher_yield(struct node *node, struct key_id id)
{
    struct voucher *voucher = voucher_of_key(node, id);
    if (!voucher)
        return;
    voucher_want_nothing(voucher);
    voucher->yields_until_ns = node->now_ns + HEALS_NS + LATELY_ANSWERS * voucher_answer_ns(node);
}
