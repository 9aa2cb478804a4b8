/*
 * voucher is what requests do with vouchers: note what they lack, so that a step asks for it (voucher_ask.c), and use
 * what was granted. The lock is taken only where the share has refused. What refused requests are told is in
 * voucher_told.c.
 */
#include "cluster/spend/voucher.h"

#include "base/number.h"
#include "cluster/spend/contest.h"
#include "cluster/spend/level.h"
#include "cluster/spend/thread.h"
#include "cluster/spend/voucher_habit.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_loss.h"
#include "cluster/spend/voucher_pause.h"
#include "cluster/spend/voucher_places.h"
#include "cluster/spend/voucher_times.h"
#include "cluster/spend/voucher_whole.h"
#include "limit/kind.h"

enum {
    SLOW_PART = 16,   /* of what is left: no more decays until an unused voucher is given back */
    REST_ANSWERS = 4, /* so long after much was asked for, the rest is */
    BURST_RATE = 5,   /* halves: a share of so many times what decays until an answer comes */
};

/*
 * True if peers can judge a charge with this floor as this node does: there is none. A lease that a voucher pays must
 * be renewed later: by the share of its holder, which counts while peers see the first spend end, or by the word of its
 * home (renewal.h).
 */
static bool can_pay(const struct node *node, uint16_t index, uint64_t floor_tokens)
{
    const struct limit *limit = &node->limits.limit[index];
    const bool is_renewed = !limit_is_shared_log(limit) || node->by_limit.budget[index].share > 0;
    return (limit->flags & LIMIT_SPLIT) == 0 && voucher_is_understood(node, limit) && is_renewed &&
           floor_tokens == 0 && !node->sharing.alone;
}

bool voucher_can_pay(const struct node *node, const struct charge *charge)
{
    return can_pay(node, charge->limit, charge->floor_tokens) && charge->cost > 0 &&
           charge->cost <= node->limits.limit[charge->limit].capacity;
}

static int64_t own_units(const struct bucket *bucket, const struct budget *budget)
{
    int64_t units = bucket_allowance(bucket, budget) - bucket->unsettled;
    return units > 0 ? units : 0;
}

/*
 * The rest of a key is asked for only where nearly all tokens that nobody uses can be given back. A part of a token
 * cannot be given back.
 */
static bool is_enough(const struct limit *limit, int64_t left)
{
    return voucher_much_is_left(limit, left) || voucher_refilled_units(limit, VOUCHER_IDLE_NS) <= left / SLOW_PART;
}

/*
 * True for what a burst has left of a key that peers were asked for lately. To ask for it loses parts of tokens once,
 * not again and again.
 */
static bool is_rest(const struct node *node, const struct limit *limit, const struct voucher *voucher, int64_t left,
                    uint64_t now_ns)
{
    return voucher && voucher->much_ns > 0 && left >= limit->capacity_units >> LEAST_LEFT_BITS &&
           number_minus(now_ns, voucher->much_ns) < REST_ANSWERS * voucher_answer_ns(node);
}

/* While somebody is silent. */
static bool is_worth_asking_alone(const struct node *node, const struct limit *limit, const struct voucher *voucher,
                                  uint64_t now_ns)
{
    return kind_refills(limit->kind) &&
           (!voucher || number_minus(now_ns, voucher->asked_ns) >= voucher_pause_ns(node, voucher, now_ns));
}

bool voucher_is_beyond_share(const struct node *node, const struct charge *charge)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    const struct bucket full = {.settled = limit->capacity_units};
    return bucket_allowance(&full, &node->by_limit.budget[charge->limit]) <
           (int64_t)charge->cost * limit->units_per_token;
}

/*
 * What is granted may decay until it can be used. So asking is worth it where that is
 * little beside what is asked for, and where this node's share is spent faster than it can come back while all
 * refill is used, or where it never suffices. Others must be able to grant as much: a part of what is missing is
 * of no use. But who hears of other grants before the ask grants less. So where the share never suffices and a part of
 * the cost has come, the rest is asked for as long as so much is left. While somebody is silent, only buckets are asked
 * for, and seldom: see voucher_pause_ns.
 */
static bool is_worth_asking(const struct node *node, const struct charge *charge, const struct bucket *bucket,
                            const struct voucher *voucher, bool waits, uint64_t now_ns)
{
    const int64_t held = voucher ? voucher_units(node, voucher, now_ns) : 0;
    const struct limit *limit = &node->limits.limit[charge->limit];
    const struct budget *budget = &node->by_limit.budget[charge->limit];
    int64_t cost = (int64_t)charge->cost * limit->units_per_token;
    /* without a voucher nobody has counted what this node spent, but some of it has not settled */
    const int64_t lacks = voucher ? voucher_lack_units(node, voucher, now_ns) : bucket->unsettled;
    int64_t left = bucket->settled - bucket->unsettled,
            decays = voucher_decays(limit, voucher_answer_ns(node), lacks);
    const bool never_suffices = voucher_is_beyond_share(node, charge);
    const bool is_beyond = never_suffices || voucher_needs_rounds(node, limit, cost, left + held);
    const int64_t needed = cost + voucher_lost_units(node, limit, lacks);
    bool is_burst = bucket_allowance(bucket, budget) / BURST_RATE >= decays / 2 &&
                    (waits || is_enough(limit, left) || is_rest(node, limit, voucher, left, now_ns));
    if (!(is_burst || is_beyond) || (node->awake.somebody_silent && !limit_home_is_one(limit->home) &&
                                     !is_worth_asking_alone(node, limit, voucher, now_ns)))
        return false;
    if (voucher && !waits && !never_suffices && voucher_loses(limit, voucher, held, cost, now_ns))
        return false;
    if (is_beyond && held > 0)
        return left + held >= needed;
    if (voucher_rounds_suffice(node, limit, cost, left))
        return true;
    const int64_t of_log = voucher_of_log_units(node, limit, left, false);
    const int64_t others =
        of_log > 0 ? of_log : voucher_others_units(limit, bucket, voucher_asked_share(node, limit, budget->share));
    return left >= cost && others + own_units(bucket, budget) + held >= needed;
}

/* The next ask is not only for clients of whom nothing is known. */
static void want_surely(struct node *node)
{
    atomic_store_explicit(&node->rights.wants_surely, true, memory_order_relaxed);
}

static void note_wanted(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    if (contest_others_short(node, charge->id, charge->limit, now_ns))
        return;
    struct voucher *voucher = voucher_obtain(node, charge->id, charge->limit, now_ns);
    if (!voucher || now_ns < voucher->yields_until_ns)
        return;
    voucher_drop_stale(node, voucher, now_ns);
    voucher->touched_ns = voucher->busy_ns = now_ns;
    voucher->expires_ns = charge->expires_ns;
    voucher->window = level_window(charge);
    voucher->wanted_since_ns = voucher->wanted == 0 ? now_ns : voucher->wanted_since_ns;
    voucher->wanted = number_sum(voucher->wanted, charge->cost);
    voucher->unwatched = number_sum(voucher->unwatched, charge->cost);
    if (number_minus(now_ns, voucher->wanted_since_ns) >= voucher_gather_ns(node))
        voucher->went_on = number_sum(voucher->went_on, charge->cost);
    voucher->wanted_at_once = charge->cost > voucher->wanted_at_once ? charge->cost : voucher->wanted_at_once;
    own_thread(node)->hurry_wanted = true;
    if (voucher_is_beyond_share(node, charge) || !voucher_habit_is_unknown(node, charge->limit))
        want_surely(node);
    /* the last step may have put off what was urgent for longer than an ask waits */
    if (voucher_wants(node, voucher))
        own_thread(node)->step_wanted = true;
}

uint64_t voucher_pays(struct node *node, const struct charge *charge, const struct bucket *bucket, bool take,
                      uint64_t now_ns)
{
    if (!voucher_can_pay(node, charge) ||
        !voucher_may_help(node, charge->id, bucket, &node->limits.limit[charge->limit], charge->cost))
        return 0;
    const struct limit *limit = &node->limits.limit[charge->limit];
    uint64_t own = bucket_available(bucket, limit, &node->by_limit.budget[charge->limit], 0);
    uint64_t missing = charge->cost - number_least(own, charge->cost);
    vouchers_lock(node);
    struct voucher *voucher = voucher_find(node, charge->id, charge->limit, now_ns);
    if (voucher && take)
        voucher_lack_see(node, voucher, bucket, now_ns);
    const int64_t held = voucher ? voucher_usable_units(node, voucher, bucket, now_ns) : 0;
    bool pays = missing > 0 && held >= (int64_t)missing * limit->units_per_token;
    if (voucher && take)
        voucher_habit_came(node, voucher, (int64_t)missing * limit->units_per_token, now_ns);
    if (!pays && take && is_worth_asking(node, charge, bucket, voucher, false, now_ns))
        note_wanted(node, charge, now_ns);
    vouchers_unlock(node);
    return pays ? missing : 0;
}

/* All that is wanted are the tokens for which requests wait. */
static void want_waiting(struct node *node, struct voucher *voucher, uint64_t tokens)
{
    want_surely(node);
    voucher->wanted = voucher->waiting = tokens;
    voucher->unwatched = 0;
}

void voucher_note_waiting(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t now_ns)
{
    const struct entry *entry = table_find(node->table, charge->id);
    if (!node->rights.shared || !entry || !voucher_can_pay(node, charge))
        return;
    const struct key_window window = level_window(charge);
    const struct bucket level = level_of(node, &entry->bucket, charge->limit, &window, now_ns);
    const int64_t token = node->limits.limit[charge->limit].units_per_token;
    vouchers_lock(node);
    struct voucher *voucher = voucher_find(node, charge->id, charge->limit, now_ns);
    const uint64_t asked_ns = voucher ? voucher->asked_ns : 0;
    const int64_t held_units = voucher ? voucher_units(node, voucher, now_ns) : 0;
    const uint64_t held = (uint64_t)(held_units / token);
    const bool is_asked = voucher && number_minus(now_ns, asked_ns) < voucher_answer_ns(node);
    if (!is_asked && held < tokens && is_worth_asking(node, charge, &level, voucher, true, now_ns)) {
        if (!voucher || voucher->wanted < tokens)
            note_wanted(node, charge, now_ns);
        else /* a step found that nobody had any for now, and may have forgotten it */
            (void)voucher_wants(node, voucher);
        voucher = voucher_find(node, charge->id, charge->limit, now_ns);
        if (voucher && voucher->wanted > 0)
            want_waiting(node, voucher, tokens);
    }
    vouchers_unlock(node);
}

/* The voucher that the charge has just found. */
static struct voucher *voucher_as_it_is(struct node *node, const struct charge *charge)
{
    struct voucher *voucher = voucher_of_key(node, charge->id);
    return voucher && voucher->limit == charge->limit ? voucher : NULL;
}

bool voucher_note_waits(struct node *node, const struct charge *charge, uint64_t more)
{
    vouchers_lock(node);
    struct voucher *voucher = voucher_as_it_is(node, charge);
    const bool is_noted = voucher && voucher->wanted > 0;
    if (is_noted) {
        voucher->wanted = number_sum(voucher->wanted, more);
        voucher->waiting = number_sum(voucher->waiting, charge->cost + more);
        voucher->unwatched -= number_least(voucher->unwatched, charge->cost);
        want_surely(node);
    }
    vouchers_unlock(node);
    return is_noted;
}

bool voucher_use(struct node *node, const struct charge *charge, uint64_t tokens, uint64_t now_ns,
                 struct voucher_payment *payment)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    int64_t units = (int64_t)tokens * limit->units_per_token;
    *payment = (struct voucher_payment){.asked_ns = now_ns};
    vouchers_lock(node);
    struct voucher *voucher = voucher_find(node, charge->id, charge->limit, now_ns);
    bool used = voucher && voucher_units(node, voucher, now_ns) >= units;
    if (used) {
        voucher->busy_ns = now_ns;
        voucher_lack_take_off(node, voucher, now_ns); /* what is used now was not missing until now */
    }
    for (unsigned i = 0; i < VOUCHER_ASKS && used; i++) { /* the older ask first: its rest ends first */
        const int64_t left = voucher_ask_units(node, voucher, &voucher->ask[i], now_ns);
        payment->units[i] = left < units ? left : units;
        voucher->ask[i].units -= payment->units[i];
        voucher->ask[i].used += payment->units[i];
        if (payment->units[i] > 0)
            payment->asked_ns = number_least(payment->asked_ns, voucher_asked_first_ns(&voucher->ask[i]));
        units -= payment->units[i];
        voucher_lack_used(voucher, payment->units[i]);
    }
    vouchers_unlock(node);
    return used;
}

void voucher_put_back(struct node *node, const struct charge *charge, const struct voucher_payment *payment)
{
    vouchers_lock(node);
    struct voucher *voucher = voucher_as_it_is(node, charge);
    for (unsigned i = 0; i < VOUCHER_ASKS && voucher; i++) {
        voucher->ask[i].units += payment->units[i];
        voucher->ask[i].used -= payment->units[i];
        voucher_lack_used(voucher, -payment->units[i]);
    }
    vouchers_unlock(node);
}

void voucher_note_used(struct node *node, uint64_t tokens, bool charged)
{
    struct thread_state *thread = own_thread(node);
    thread->rights_used_tokens += tokens;
    thread->admitted_tokens += charged ? 0 : tokens;
}

static uint64_t usable_tokens(struct node *node, const struct charge *charge, uint64_t now_ns)
{
    const struct entry *entry = table_find(node->table, charge->id);
    if (!entry || entry->limit != charge->limit)
        return voucher_tokens(node, charge->id, charge->limit, now_ns);
    const struct key_window window = level_window(charge);
    const struct bucket level = level_of(node, &entry->bucket, charge->limit, &window, now_ns);
    vouchers_lock(node);
    const struct voucher *voucher = voucher_find(node, charge->id, charge->limit, now_ns);
    const int64_t units = voucher ? voucher_usable_units(node, voucher, &level, now_ns) : 0;
    vouchers_unlock(node);
    return (uint64_t)(units / node->limits.limit[charge->limit].units_per_token);
}

uint64_t voucher_available(struct node *node, const struct charge *charge, uint64_t own, uint64_t now_ns)
{
    const uint64_t capacity = node->limits.limit[charge->limit].capacity;
    if (!voucher_may_be_held(node, charge->id) || !can_pay(node, charge->limit, charge->floor_tokens))
        return own;
    const uint64_t all = number_sum(own, usable_tokens(node, charge, now_ns));
    return own < capacity ? number_least(all, capacity) : own;
}

uint64_t voucher_tokens(struct node *node, struct key_id id, uint16_t limit, uint64_t now_ns)
{
    vouchers_lock(node);
    const struct voucher *voucher = voucher_find(node, id, limit, now_ns);
    int64_t units = voucher ? voucher_units(node, voucher, now_ns) : 0;
    vouchers_unlock(node);
    return (uint64_t)(units / node->limits.limit[limit].units_per_token);
}
