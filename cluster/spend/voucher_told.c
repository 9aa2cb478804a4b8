/*
 * voucher_told says when a request that only the share refuses may have the tokens of others: the figures of its
 * refusal. Nothing is asked for here, and nothing is used.
 */
#include "base/number.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_loss.h"
#include "cluster/spend/voucher_places.h"
#include "cluster/spend/voucher_times.h"
#include "cluster/spend/voucher_whole.h"
#include "cluster/state/share.h"
#include "limit/kind.h"

enum {
    KEPT_PART = 16,     /* of a capacity: so much is left where most was granted just now */
    COMING_ANSWERS = 2, /* so long after an ask, what peers grant for it may come */
    ROUNDS_LOST = 16,   /* times what decays until one answer: several asks decay until the last one is answered */
    WHOLE_AGAIN = 3,    /* times what it takes until tokens are given back: then a whole bucket is there again */
};

/* True: one peer has the whole limit and is heard, so that no reserve and no rounded share is in the way. */
static bool is_at_home(const struct node *node, const struct limit *limit)
{
    return limit_home_is_one(limit->home) && share_heard_of(node, limit) == SHARE_ONE;
}

/*
 * With each ask, all peers grant about half of what is left, until some two tokens for each of them are left: a log
 * grants whole tokens, and parts of tokens of a bucket decay. Of a window, half a token for each is left. A home that
 * has all keeps nothing.
 */
static int64_t kept_units(const struct node *node, const struct limit *limit)
{
    const int64_t per_peer = kind_lists(limit->kind) || kind_refills(limit->kind) ? 2 * limit->units_per_token
                                                                                  : limit->units_per_token / 2;
    return is_at_home(node, limit) ? 0 : per_peer * (int64_t)node->sharing.peer_count;
}

int64_t voucher_of_log_units(const struct node *node, const struct limit *limit, int64_t left, bool with_own)
{
    const struct bucket bucket = {.settled = left};
    int64_t units = 0;
    if (!kind_lists(limit->kind) || limit->home != 0 || weight_list_of(node, limit) != NULL)
        return 0;
    for (uint32_t i = 0; i < node->sharing.group_count; i++) {
        const struct share_group *group = &node->sharing.groups[i];
        const bool without = i == node->sharing.own_group && !with_own && !node->member[node->me].share_freed;
        struct budget budget;
        budget_init(&budget, limit, group->share, false);
        units += (group->members - without) * bucket_allowance(&bucket, &budget);
    }
    return units;
}

bool voucher_needs_rounds(const struct node *node, const struct limit *limit, int64_t cost, int64_t left)
{
    if (node->awake.somebody_silent || is_at_home(node, limit) || left < cost + kept_units(node, limit))
        return false;
    const int64_t of_log = voucher_of_log_units(node, limit, left, true);
    return of_log > 0 ? cost > of_log : cost + limit->units_per_token >= left / 2;
}

/* So much must be left that several asks may bring a cost. */
static int64_t in_rounds_units(const struct node *node, const struct limit *limit, int64_t cost)
{
    const int64_t lost = voucher_lost_units(node, limit, 0), most = limit->capacity_units;
    return cost + kept_units(node, limit) + (lost < most / ROUNDS_LOST ? ROUNDS_LOST * lost : most);
}

bool voucher_rounds_suffice(const struct node *node, const struct limit *limit, int64_t cost, int64_t left)
{
    return voucher_needs_rounds(node, limit, cost, left) && left >= in_rounds_units(node, limit, cost);
}

/*
 * All shares together have the overshoot beside what is left; it makes up for the reserve here. But nobody is told to
 * wait for more than the limit has, and no more than its capacity can be granted, of which some decays.
 */
static int64_t enough_at_once_units(const struct node *node, const struct limit *limit, int64_t cost)
{
    const int64_t granted = cost + voucher_lost_units(node, limit, 0);
    if (granted > limit->capacity_units || is_at_home(node, limit))
        return granted;
    const int64_t wanted = granted + node->sharing.peer_count - limit->overshoot_units; /* shares are rounded */
    const int64_t reserved = limit->capacity_units / 16 * 5 + limit->capacity_units % 16 * 5 / 16 + 1;
    const int64_t enough = (wanted + reserved) / 5 * 4 + 4;
    if (wanted <= cost / 2 || enough <= cost)
        return cost;
    return enough < 2 * wanted ? enough : 2 * wanted;
}

/* By one ask, or by several if these suffice where less is left. */
static int64_t enough_units(const struct node *node, const struct limit *limit, int64_t cost)
{
    const int64_t at_once = enough_at_once_units(node, limit, cost), in_rounds = in_rounds_units(node, limit, cost);
    return in_rounds < at_once && voucher_needs_rounds(node, limit, cost, in_rounds) ? in_rounds : at_once;
}

/* As voucher_enough_units, as if all peers were heard. */
static int64_t enough_units_of_all(const struct node *node, const struct charge *charge, int64_t left)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    if (!node->rights.shared || !voucher_can_pay(node, charge))
        return INT64_MAX;
    const int64_t cost = (int64_t)charge->cost * limit->units_per_token;
    const int64_t units = enough_units(node, limit, cost);
    if (units > left && cost <= voucher_of_log_units(node, limit, left, true))
        return left;
    if (units > limit->capacity_units && cost <= voucher_of_log_units(node, limit, limit->capacity_units, true))
        return limit->capacity_units;
    return units <= limit->capacity_units ? units : INT64_MAX;
}

int64_t voucher_enough_units(const struct node *node, const struct charge *charge, int64_t left)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    if ((node->awake.somebody_silent && !is_at_home(node, limit)) || voucher_heard(node, limit) == 0)
        return INT64_MAX;
    return enough_units_of_all(node, charge, left);
}

/* True: peers have granted tokens lately. Of these, some may be known to be spent a moment before they are here. */
static bool is_coming(const struct node *node, const struct voucher *voucher, uint64_t now_ns)
{
    const struct voucher_ask *last = &voucher->ask[VOUCHER_ASKS - 1];
    for (const struct voucher_ask *ask = last; ask >= last - 1; ask--)
        if (ask->number > 0 && ask->granted_by != 0 &&
            number_minus(now_ns, ask->asked_ns) < COMING_ANSWERS * voucher_answer_ns(node))
            return true;
    return false;
}

/* How much must be left and held beside a cost, so that the rest of it may be expected. */
static int64_t beside_units(const struct node *node, const struct limit *limit, const struct voucher *voucher,
                            uint64_t now_ns)
{
    const int64_t kept = kept_units(node, limit), part = limit->capacity_units / KEPT_PART;
    return part < kept && is_coming(node, voucher, now_ns) ? part : kept;
}

/* See struct voucher_outlook. Of what is `left`, with what the voucher holds, `beside` units are not for the charge. */
static uint64_t rest_ns(const struct node *node, const struct charge *charge, int64_t left, int64_t held,
                        int64_t beside)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    const int64_t cost = (int64_t)charge->cost * limit->units_per_token;
    const int64_t lacking = cost + beside - left;
    if (!voucher_is_beyond_share(node, charge) && !voucher_needs_rounds(node, limit, cost, left))
        return UINT64_MAX;
    if (held <= 0 || lacking > (voucher_may_ask_whole(node, limit) ? limit->lent_units : 0))
        return UINT64_MAX;
    if (lacking <= 0)
        return voucher_answer_ns(node);
    /* the home has all again once these tokens are back, their rest has refilled, and what the return has lost */
    return WHOLE_AGAIN * voucher_given_back_ns(node);
}

struct voucher_outlook voucher_outlook(struct node *node, const struct charge *charge, const struct bucket *level,
                                       uint64_t now_ns)
{
    const struct limit *limit = &node->limits.limit[charge->limit];
    struct voucher_outlook outlook = {.rest_ns = UINT64_MAX};
    if (!voucher_may_be_held(node, charge->id))
        return outlook;
    vouchers_lock(node);
    const struct voucher *voucher = voucher_find(node, charge->id, charge->limit, now_ns);
    const int64_t held = voucher ? voucher_units(node, voucher, now_ns) : 0;
    const int64_t lacks = voucher ? voucher_lack_units(node, voucher, now_ns) : 0;
    const int64_t beside = voucher ? beside_units(node, limit, voucher, now_ns) : 0;
    outlook.in_vain = voucher && !voucher_is_beyond_share(node, charge) &&
                      voucher_loses(limit, voucher, held, (int64_t)charge->cost * limit->units_per_token, now_ns);
    vouchers_unlock(node);
    if (!outlook.in_vain && voucher_can_pay(node, charge) && !node->awake.somebody_silent)
        outlook.rest_ns = rest_ns(node, charge, level->settled - level->unsettled + held, held,
                                  beside + voucher_lost_units(node, limit, lacks));
    return outlook;
}

bool voucher_is_hopeless(const struct node *node, const struct charge *charge)
{
    const int64_t full = node->limits.limit[charge->limit].capacity_units;
    return (node->awake.somebody_silent ? enough_units_of_all(node, charge, full)
                                        : voucher_enough_units(node, charge, full)) == INT64_MAX;
}
