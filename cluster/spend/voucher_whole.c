/*
 * voucher_whole: an ask and its grant are told in parts of a token, and each rounds by one part at most. So a rest has
 * some parts more than what decays.
 */
#include "cluster/spend/voucher_whole.h"

#include "base/number.h"
#include "cluster/codec/batch.h"
#include "cluster/spend/grant_places.h"
#include "cluster/spend/voucher.h"
#include "cluster/spend/voucher_lack.h"
#include "cluster/spend/voucher_left.h"
#include "cluster/spend/voucher_times.h"
#include "cluster/state/node_state.h"
#include "cluster/state/share.h"

enum {
    CHEAP_PART = 16, /* of a token: a rest of no more than that is worth a longer life of the tokens */
    ROUNDINGS = 4,
};

static int64_t roundings_units(const struct limit *limit)
{
    return ROUNDINGS * grant_rounding_units(limit);
}

uint64_t voucher_given_back_ns(const struct node *node)
{
    return 2 * voucher_answer_ns(node) + node->options.interval_ns + VOUCHER_IDLE_NS;
}

bool voucher_may_ask_whole(const struct node *node, const struct limit *limit)
{
    return limit->lent_units > 0 && node->rights.listed && own_share_of(node, limit) == 0 &&
           share_heard_of(node, limit) == SHARE_ONE &&
           voucher_refilled_units(limit, voucher_use_ns(node)) + roundings_units(limit) <= limit->lent_units;
}

int64_t voucher_lost_units(const struct node *node, const struct limit *limit, int64_t lacking_units)
{
    return voucher_may_ask_whole(node, limit) ? 0 : voucher_decays(limit, voucher_answer_ns(node), lacking_units);
}

/* A rest that lasts until tokens are given back. */
static bool is_cheap(const struct node *node, const struct limit *limit)
{
    const int64_t units = voucher_refilled_units(limit, voucher_given_back_ns(node));
    return units <= limit->units_per_token / CHEAP_PART && units + roundings_units(limit) <= limit->lent_units;
}

bool voucher_always_asks_whole(const struct node *node, const struct limit *limit)
{
    return voucher_may_ask_whole(node, limit) && is_cheap(node, limit);
}

/* What a bucket that lacks `lacking_units` of its capacity loses until the tokens are used; and some parts more. */
static int64_t rest_units(const struct node *node, const struct limit *limit, int64_t lacking_units)
{
    const uint64_t ns = is_cheap(node, limit) ? voucher_given_back_ns(node) : voucher_use_ns(node);
    return voucher_decays(limit, ns, lacking_units) + roundings_units(limit);
}

static int64_t whole_below(const struct limit *limit, int64_t units)
{
    return units > 0 ? units - units % limit->units_per_token : 0;
}

/* At most the capacity. */
static int64_t whole_above(const struct limit *limit, int64_t units)
{
    const int64_t most = limit->capacity_units;
    return units < most ? whole_below(limit, units + limit->units_per_token - 1) : most;
}

int64_t voucher_whole_wish(const struct node *node, const struct voucher *voucher, int64_t useful_units,
                           int64_t left_units)
{
    const struct limit *limit = &node->limits.limit[voucher->limit];
    const int64_t held = whole_below(limit, voucher_units(node, voucher, node->now_ns));
    const int64_t wanted = whole_above(limit, useful_units) - held, left = whole_below(limit, left_units);
    const int64_t units = wanted < left ? wanted : left;
    return units > 0 ? units + rest_units(node, limit, voucher_lack_units(node, voucher, node->now_ns)) : 0;
}

int64_t grant_whole_units(const struct limit *limit, int64_t wanted_units, int64_t left_units)
{
    const int64_t most = (int64_t)number_least(limit->capacity, GRANT_TOKENS_MAX - 1) * limit->units_per_token;
    const int64_t rest = wanted_units % limit->units_per_token;
    int64_t whole = whole_below(limit, wanted_units < left_units ? wanted_units : left_units);
    /* one more, if it is there: then clients may come later */
    if (wanted_units >= GRANT_WHOLE_TOKENS * limit->units_per_token && whole <= left_units - limit->units_per_token)
        whole += limit->units_per_token;
    whole = whole < most ? whole : most;
    return whole > 0 ? whole + (rest < limit->lent_units ? rest : limit->lent_units) : 0;
}
